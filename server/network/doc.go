// Package network carries bytes between sockets and a Handler. It knows connections, batches of
// input and batches of output, and no command.
//
//	loop 0: one goroutine, one epoll set          loop 1 …
//	+--------------------------------------+
//	| wait → read → Worker.Serve → write   |  conns 1, 3, 5, …
//	+--------------------------------------+
//	                  | the worker calls handOff: its command has to wait
//	                  v
//	+----------------+     +----------------------------------------------+
//	| fresh goroutine|     | the old goroutine, its worker, its buffers   |
//	| and worker take|     | and this one connection: Serve goes on, may  |
//	| the loop with  |     | block, returns; write; the connection goes   |
//	| all other conns|     | back to its loop, the worker to the pool     |
//	+----------------+     +----------------------------------------------+
//
// Everything a socket has delivered is one batch for Serve and is answered by one write. Short
// replies are written once all connections that were ready together have been served, or before the
// loop is handed off.
//
// On Linux plain TCP and unix sockets are served by a few such loops. Options.Loops says how many; if it
// does not, one serves until it is short of processor time that others have to spare, and connections
// move to the next (see crew). They wait at epoll sets, or with Options.Rings at io_urings (see ringed). Everywhere else, with TLS, and
// on Linux when Options.Goroutines is set, each connection has a goroutine of its own, which may
// block as it likes: handOff does nothing there. Both paths drive the same Handler. A TLS connection is
// opened (N8) before its handshake, so that peers in a handshake count among the clients.
//
// Invariants, cited by code and tests:
//
//	N1  A connection has one owner at any time: its loop's present goroutine, or the goroutine that
//	    handed the loop off while serving it, or its own goroutine. Only the owner touches the
//	    unexported fields, Out, NeedBytes and State; methods marked "any goroutine" are atomic.
//	N2  A worker serves one connection at a time, on one goroutine at a time.
//	N3  The input of Serve stays in place and unchanged until Serve returns, handed off or not: it
//	    lies in the read buffer of the worker's own runner, or in the connection's. A runner that hands its
//	    loop off leaves the rest of its read buffer to the next one.
//	N4  While a connection is detached from its loop, the loop neither watches nor reads it.
//	N5  handOff runs on the goroutine that runs Serve. The first call of a Serve hands the loop
//	    over, later ones do nothing.
//	N6  A connection at rest holds no buffer, except on the goroutine path the one it reads into.
//	    Input is kept only for an incomplete request, output only while the peer's window is full or N13 holds it.
//	N7  A connection with output over the soft bound is neither served nor read until it drains;
//	    one over the hard bound is dropped.
//	N8  Handler.Open comes before the first Serve and Handler.Closed after the last, each once.
//	N9  After Server.Close returned, no goroutine of the package runs and no descriptor is open.
//	N10 What is pushed to a connection is in Out before its next Serve, and is sent though none comes:
//	    whoever fills an empty mailbox wakes the owner, and whoever attaches a connection looks again.
//	N11 A parked connection stays with its loop, which neither reads nor serves nor closes it until its
//	    parker has delivered. Others are served meanwhile; a handed-off loop keeps its parker.
//	N12 A connection whose incomplete request is longer than an ordinary one is read only while it has room for
//	    it (see intake). Who waits for room holds no more than what had come in before, and is woken for it.
//	N13 A connection whose replies are held by a loop that does not wait is set aside: until a commit that began afterwards has
//	    ended, its loop neither reads nor serves nor closes it, and sends it nothing, pushes included. Then all of its output may
//	    be sent, or it ends and none of it ever is. Others are served meanwhile; a handed-off loop keeps who is set aside.
package network
