package servertest

import (
	"fmt"
	"testing"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/tsavorite"
)

// Handler is a Target that calls the command handlers in this process, without a socket.
type Handler struct {
	Context *command.Context
	client  *command.Client
}

// NewHandler opens a store with these options and returns a target over it. Both are closed when
// the test ends.
func NewHandler(tb testing.TB, options tsavorite.Options) *Handler {
	tb.Helper()
	if options.MemoryBytes == 0 && options.PageBytes == 0 {
		options.MemoryBytes, options.PageBytes = 8<<20, 1<<20 // the race detector pays for each byte of memory
	}
	store, err := tsavorite.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	state, err := command.NewState(store, 0)
	if err != nil {
		tb.Fatal(err)
	}
	context, err := state.NewContext(nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		context.Close()
		state.Close()
		if err := store.Close(); err != nil {
			tb.Errorf("cannot close the store: %v", err)
		}
	})
	return &Handler{Context: context, client: &command.Client{}}
}

// Reconnect goes on as a new client.
func (h *Handler) Reconnect() error {
	h.Context.State.Disconnect(h.client)
	h.client = &command.Client{}
	return nil
}

// Do carries out one command.
func (h *Handler) Do(words ...string) (resp.Value, error) {
	replies, err := h.DoAll(words...)
	if err == nil && len(replies) != 1 {
		err = fmt.Errorf("cannot take %q as one reply to %q", h.Context.Out, words)
	}
	if err != nil {
		return resp.Value{}, err
	}
	return replies[0], nil
}

// DoAll carries out one command that may have several replies.
func (h *Handler) DoAll(words ...string) (replies []resp.Value, err error) {
	request := AppendCommand(nil, words...)
	h.Context.Out = nil // the reply may outlive the next call
	consumed, _ := h.Context.Serve(h.client, request)
	if consumed != len(request) {
		return nil, fmt.Errorf("cannot carry out %q: %d bytes of %d consumed", words, consumed, len(request))
	}
	for rest := h.Context.Out; len(rest) > 0; {
		reply, length, result := resp.ReadReply(rest)
		if result != resp.Complete {
			return nil, fmt.Errorf("cannot take %q as replies to %q", h.Context.Out, words)
		}
		replies = append(replies, reply)
		rest = rest[length:]
	}
	return replies, nil
}
