// Package servertest holds what tests of a running server share.
//
//	script file ---> Script ----+---> Handler   command.Context in this process, no socket
//	                            +---> Client    Pyrope over TCP
//	seed ------> Generator -----+---> Client    a real redis-server, when one is installed
//	                            |
//	                            v
//	                     replies compared: with the script's expectations, or with each other
//
// A script is a text file of commands and the replies they must have; the same file runs on every
// target, so that the expectations themselves are checked against a real server. The Generator
// makes random commands with edge values from a seed, and Compare runs them on two servers and
// compares the replies byte for byte.
//
// A target may be any Target. Nothing here knows how a server works inside.
package servertest
