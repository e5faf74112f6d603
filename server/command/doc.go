// Package command is the command table and the handlers behind it. It knows arguments, keys and
// replies; it knows no socket.
//
// One request goes one way:
//
//	input bytes of one connection (owned by the caller, valid during Serve)
//	     |
//	     |  Context.Serve: enters the engine session once for the whole batch
//	     v
//	run of plain GETs? --yes--> keys sliced out of the input, one Session.ReadBatch; the Reader
//	     |                      appends each reply to Context.Out in request order
//	     | no
//	run of plain SETs? --yes--> keys and values sliced out of the input, one Session.Prefetch,
//	     |                      then one Session.Upsert each
//	     | no
//	     v
//	resp: one command cut into Context.Args (slices of the input)
//	     |
//	     v
//	Lookup: length and upper-cased name words -> *Command    unknown: error reply
//	     |
//	     v
//	arity, authentication                                    wrong: error reply
//	     |
//	     v
//	Command.Handler(context): options first, then one verb on the session, with an Updater or
//	     |                    a Reader that lives in the Context
//	     v
//	reply appended to Context.Out; the caller writes it to the socket once a batch
//
// A Context belongs to one executing goroutine, a Client to one connection: ten thousand idle
// connections cost no session and no buffers. A handler is written in plain blocking style. When
// a verb must wait for the device, the engine calls the session's block hook, by which an event
// loop hands its other connections to another goroutine; the handler notices nothing.
//
// The arguments point into the caller's input buffer and die with the return of Serve. What must
// outlive it (a client's name) is copied.
//
// Each family of commands has its own files, with its registration table at the top of one.
package command
