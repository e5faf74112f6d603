package command

import (
	"slices"
	"sync"
	"time"
)

// Transport is the connection under a client, as far as commands look at it. All methods may be
// called from any goroutine.
type Transport interface {
	// LastInteraction is when bytes last came in.
	LastInteraction() time.Time
	// InputBytes is the length of the input that waits for the rest of its request.
	InputBytes() int
	// InputCapacity is the size of the buffer held for it.
	InputCapacity() int
	// WaitsForPeer tells whether what comes next is up to the peer, and not to the server, as far as can be seen.
	WaitsForPeer() bool
	// OutputBytes is the length of the output the peer has not taken yet.
	OutputBytes() int
	// Push has data sent behind the replies so far, and refuses when more than limit bytes would wait
	// for the peer; 0 is no limit.
	Push(data []byte, limit int) bool
	// AppendPushes takes what was pushed and is not sent yet; the owner's alone.
	AppendPushes(dst []byte) []byte
	// Kill closes the connection soon, without waiting for its replies.
	Kill()
	// Killed tells whether Kill was called.
	Killed() bool
}

// Clients are the connections of a server by their ids. The zero value is empty and ready.
type Clients struct {
	mu   sync.Mutex
	byID map[uint64]*Client
}

// Add makes a connection known. It comes before its first command.
func (r *Clients) Add(client *Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = make(map[uint64]*Client)
	}
	r.byID[client.ID] = client
}

// Remove forgets a connection.
func (r *Clients) Remove(client *Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, client.ID)
}

// Count is the number of connections.
func (r *Clients) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID)
}

// Each calls visit for each connection, in no order. visit must not come back to the Clients.
func (r *Clients) Each(visit func(*Client)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, client := range r.byID {
		visit(client)
	}
}

// all returns the connections, oldest first.
func (r *Clients) all() []*Client {
	r.mu.Lock()
	clients := make([]*Client, 0, len(r.byID))
	for _, client := range r.byID {
		clients = append(clients, client)
	}
	r.mu.Unlock()
	slices.SortFunc(clients, func(a, b *Client) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return clients
}

// find returns the connection with this id, or nil.
func (r *Clients) find(id int64) *Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id < 0 {
		return nil
	}
	return r.byID[uint64(id)]
}
