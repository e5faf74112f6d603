// Package server is Pyrope to embed: a server in this process, with or without sockets.
//
//	Options --New--> Server --Start--> listening
//	                   |
//	                   +--Client--> commands without a socket, through the same code
//
//	network.Conn --+                              +-- device.Device
//	               | handler, worker   command    |
//	Client --------+------------------ State -----+-- tsavorite.Store
//
// A Server owns its device, its store, its listeners and everything that runs on their behalf;
// Close gives all of it back. Several servers may live in one process.
package server
