package aof

// What tests look at.
var AppendHeader = appendHeader

const MaxHeaderBytes = maxHeaderBytes
