package server

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/network"
	"github.com/pyropedb/pyrope/server/resp"
)

// handler joins connections to commands. It is the network's Handler.
type handler struct {
	state *command.State
	log   *slog.Logger

	maxBulk atomic.Int64 // see use
	limits  atomic.Pointer[config.OutputLimits]

	inputDisconnections, outputDisconnections atomic.Uint64 // connections that ended because of their buffers

	lastID            atomic.Uint64 // of the clients, with and without sockets
	accepted, refused atomic.Uint64 // connections

	mu struct {
		sync.Mutex
		workers                 map[*worker]struct{}
		inputBytes, outputBytes uint64 // of workers that are closed
	}
}

// What refused connections are told, as Redis tells them.
const (
	errMaxClients = "ERR max number of clients reached"
	errDenied     = "DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. " +
		"In this mode connections are only accepted from the loopback interface. " +
		"If you want to connect from external computers to Redis you may adopt one of the following solutions: " +
		"1) Just disable protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface " +
		"by connecting to Redis from the same host the server is running, however MAKE SURE Redis is not publicly accessible " +
		"from internet if you do so. Use CONFIG REWRITE to make this change permanent. " +
		"2) Alternatively you can just disable the protected mode by editing the Redis configuration file, " +
		"and setting the protected mode option to 'no', and then restarting the server. " +
		"3) If you started the server manually just for testing, restart it with the '--protected-mode no' option. " +
		"4) Setup a an authentication password for the default user. " +
		"NOTE: You only need to do one of the above things in order for the server to start accepting connections from the outside."
)

// Open is part of network.Handler.
func (h *handler) Open(c *network.Conn) {
	h.accepted.Add(1)
	server := &h.state.Server
	refusal := ""
	switch {
	case server.Clients.Count() >= server.MaxClients():
		refusal = errMaxClients
	case server.Current().ProtectedMode.IsOn() && server.Password() == "" && !command.IsLocal(c.RemoteAddress()):
		refusal = errDenied
	default:
		h.introduce(c)
		return
	}
	h.refused.Add(1)
	c.Out = resp.AppendError(c.Out, refusal)
	c.CloseAfterReply()
}

// use takes what connections need of the options; it is called again when they change.
func (h *handler) use(o *config.Options) {
	h.maxBulk.Store(int64(o.MaxBulk))
	h.limits.Store(&o.OutputLimits)
}

// introduce makes a connection a client that commands know.
func (h *handler) introduce(c *network.Conn) *command.Client {
	client := &command.Client{
		ID:          h.lastID.Add(1),
		Address:     c.RemoteAddress(),
		Local:       c.LocalAddress(),
		ConnectedAt: c.Created(),
		Transport:   c,
	}
	client.SetAuthenticated(h.state.Server.Password() == "")
	c.State = client
	h.state.Server.Clients.Add(client)
	return client
}

// Closed is part of network.Handler.
func (h *handler) Closed(c *network.Conn) {
	if client, ok := c.State.(*command.Client); ok {
		h.noteLimits(client)
		h.state.Server.Clients.Remove(client)
		h.state.Disconnect(client)
	}
}

// NewWorker is part of network.Handler.
func (h *handler) NewWorker(handOff func()) network.Worker { return h.newWorker(handOff) }

// NewParker is part of network.Handler.
func (h *handler) NewParker() network.Parker {
	if !h.state.Server.Options.StorageTier.IsOn() {
		return nil
	}
	p, err := h.state.NewParker()
	if err != nil {
		return nil // then its reads fail one by one, and say why
	}
	if p.EventFD() < 0 {
		p.Close()
		return nil
	}
	parker := &parker{Parker: p, traffic: &worker{handler: h}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addWorkerLocked(parker.traffic)
	return parker
}

// newWorker returns a worker with an engine session of its own. When there can be none, the worker
// says so to every connection it is given.
func (h *handler) newWorker(handOff func()) *worker {
	w := &worker{handler: h}
	w.context, w.err = h.state.NewContext(func() {
		if w.client != nil {
			w.client.BeginWait()
		}
		if handOff != nil {
			handOff()
		}
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addWorkerLocked(w)
	return w
}

func (h *handler) addWorkerLocked(w *worker) {
	if h.mu.workers == nil {
		h.mu.workers = make(map[*worker]struct{})
	}
	h.mu.workers[w] = struct{}{}
}

// traffic adds up what has gone through the sockets.
func (h *handler) traffic() command.Traffic {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := command.Traffic{
		Accepted: h.accepted.Load(), Refused: h.refused.Load(),
		InputDisconnections: h.inputDisconnections.Load(), OutputDisconnections: h.outputDisconnections.Load(),
		InputBytes: h.mu.inputBytes, OutputBytes: h.mu.outputBytes,
	}
	for w := range h.mu.workers {
		sum.InputBytes += w.inputBytes.Load()
		sum.OutputBytes += w.outputBytes.Load()
	}
	return sum
}

// worker executes commands for one connection after another.
type worker struct {
	handler *handler
	context *command.Context // nil when there could be none
	err     error            // why
	client  *command.Client  // whom Serve serves

	journaled uint64 // position of the last write that was looked at

	// Written by the goroutine that serves, read by INFO.
	inputBytes, outputBytes atomic.Uint64
}

// batchOutputBytes is how much a batch appends before its replies are sent.
const batchOutputBytes = 1 << 20

// strangerOutputBytes is the unsent output above which a client is dropped that has yet to give the
// password: who is not let in cannot make the server hold memory.
const strangerOutputBytes = 64 << 10

// Serve is part of network.Worker.
func (w *worker) Serve(c *network.Conn, input []byte) (consumed int) {
	client, ok := c.State.(*command.Client)
	if !ok || w.context == nil {
		w.refuse(c)
		return len(input)
	}
	context := w.context
	w.client = client
	client.Parser.MaxBulkBytes = int(w.handler.maxBulk.Load())
	context.ParkWith(nil)
	if p, ok := c.Parker().(*parker); ok {
		context.ParkWith(p.Parker)
	}
	before := len(c.Out)
	context.Out = c.Out
	for {
		context.ReplyLimit = len(context.Out) + batchOutputBytes
		used, need := context.Serve(client, input[consumed:])
		consumed += used
		c.Out, c.NeedBytes = context.Out, need
		if context.Parked() {
			c.Park()
			break
		}
		if client.Closing || need > 0 || consumed == len(input) || c.OutputFull() || w.handler.state.Server.Overdue() {
			break
		}
	}
	context.Out = nil
	if file := w.handler.state.AppendOnly; file != nil {
		w.noteWrites(c, client)
	}
	if client.Closing {
		c.CloseAfterReply()
	}
	if !context.Parked() {
		client.EndWait()
	}
	w.client = nil
	c.OutputHardBytes = int(outputLimit(w.handler.limits.Load(), client).Hard)
	if client.NeedsAuth {
		c.OutputHardBytes = strangerOutputBytes
	}
	w.inputBytes.Store(w.inputBytes.Load() + uint64(consumed))
	w.outputBytes.Store(w.outputBytes.Load() + uint64(len(c.Out)-before))
	return consumed
}

// noteWrites remembers where the client's last write is in the append-only file, and holds its replies if they are to
// wait for that.
func (w *worker) noteWrites(c *network.Conn, client *command.Client) {
	position := w.context.Session.Journaled()
	if position == w.journaled {
		return
	}
	w.journaled, client.Journaled = position, position
	if w.handler.state.AppendOnly.HoldsReplies() {
		c.Hold = position
	}
}

// Release is part of network.Committer.
func (h *handler) Release(position uint64) bool {
	begin := time.Now()
	err := h.state.AppendOnly.WaitCommit(position)
	h.state.NoteLatency(command.CauseCommit, time.Since(begin))
	return err == nil
}

// refuse closes a connection that cannot be served, with the reason if there is one.
func (w *worker) refuse(c *network.Conn) {
	if w.err != nil {
		c.Out = resp.AppendError(c.Out, "ERR "+w.err.Error())
	}
	c.CloseAfterReply()
}

// Close is part of network.Worker.
func (w *worker) Close() {
	h := w.handler
	h.mu.Lock()
	delete(h.mu.workers, w)
	h.mu.inputBytes += w.inputBytes.Load()
	h.mu.outputBytes += w.outputBytes.Load()
	h.mu.Unlock()
	if w.context != nil {
		w.context.Close()
	}
}
