package network

// Intake: how much of requests that are still incomplete all connections together hold.

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"
)

// An intake bounds the room that the incomplete requests of one size class take, and gives it in the order in which they came. Who waits for room
// is not read from, so that the peer's data stays with the peer.
//
//   - A request asks for all that is known of it at once, so that one that is admitted seldom asks again.
//   - The oldest request is admitted however large it is, also when it turns out to be larger than it had said. So one can always be
//     completed, whatever the others hold, and what is granted is never above the limit by more than one request.
//   - No request overtakes an older one of its class, so that a large one is not put off for ever by small ones. Those that are small at first
//     have a class, and room, of their own, so that they need not wait for large ones.
//   - An oldest request that does not come holds up all others: see Laggards.
//
// A request of ordinaryInputBytes or less takes no part.
type intake struct {
	server *Server

	mu       sync.Mutex
	limit    int64          // guarded by mu
	granted  int64          // guarded by mu
	last     uint64         // guarded by mu; the number of the newest request
	requests list.List      // guarded by mu; *Conn, the oldest first: those admitted and those that wait
	queue    list.List      // guarded by mu; *Conn, the oldest first: those that wait for room, or for more of it
	watched  map[*Conn]mark // guarded by mu; what Laggards knows
}

// admission is a request's place in an intake.
type admission struct {
	intake  *intake
	served  bool         // the request was served, and what the connection holds is of another one; the owner's
	granted atomic.Int64 // stored under the intake's mu

	number uint64        // in the order of arrival; guarded by the intake's mu, as are all below
	place  *list.Element // in requests
	turn   *list.Element // in queue, or nil
	wanted int64
}

// mark is how much had come in of a connection at a time.
type mark struct {
	bytesIn uint64
	at      time.Time
}

const (
	// ordinaryInputBytes is what every connection may hold of an incomplete request.
	ordinaryInputBytes = smallInputBytes
	// modestInputBytes is the longest request of the smaller class, which has one in modestShare of the room.
	modestInputBytes = 256 << 10
	modestShare      = 4
	// laggardShare is the part of its room, one in laggardShare, that a request must fill in each period of patience while others wait.
	laggardShare = 30
)

// SetIntakeBytes changes Options.IntakeBytes, which must be above 0. Any goroutine.
func (s *Server) SetIntakeBytes(limit int) {
	s.modest.setLimit(int64(limit / modestShare))
	s.large.setLimit(int64(limit - limit/modestShare))
}

// InputWaiting is the number of connections that are not read from until there is room for their requests. Any goroutine.
func (s *Server) InputWaiting() int { return int(s.inputWaiting.Load()) }

// Laggards returns the connections that have room for a request for which others wait, and have made too little use of it: whose peers
// have sent less than their part for as long as patience, or take no replies. It must be called from time to time. Any goroutine.
func (s *Server) Laggards(now time.Time, patience time.Duration) (conns []*Conn) {
	for _, k := range []*intake{&s.modest, &s.large} {
		for _, c := range k.idle(now, patience) {
			if c.WaitsForPeer() { // else it is the server that is slow
				conns = append(conns, c)
			}
		}
	}
	return conns
}

func (k *intake) idle(now time.Time, patience time.Duration) (conns []*Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.queue.Len() == 0 {
		k.watched = nil
		return nil
	}
	watched := make(map[*Conn]mark)
	for e := k.requests.Front(); e != nil; e = e.Next() {
		c := e.Value.(*Conn)
		if c.inputWaits.Load() {
			continue
		}
		known, ok := k.watched[c]
		bytesIn := c.BytesIn()
		if due := uint64(c.admission.granted.Load()/laggardShare) + 1; !ok || bytesIn-known.bytesIn >= due {
			known = mark{bytesIn, now}
		}
		watched[c] = known
		if now.Sub(known.at) >= patience {
			conns = append(conns, c)
		}
	}
	k.watched = watched
	return conns
}

func (k *intake) setLimit(limit int64) {
	k.mu.Lock()
	k.limit = limit
	admitted := k.admitLocked()
	k.mu.Unlock()
	wake(admitted, nil)
}

// ask asks for room for the request of c, and tells whether it has it. If not, c is woken when it has.
func (k *intake) ask(c *Conn, wanted int64) bool {
	a := c.admission
	if wanted <= a.granted.Load() {
		return true
	}
	k.mu.Lock()
	if a.place == nil {
		k.last++
		a.number, a.place = k.last, k.requests.PushBack(c)
	}
	if a.wanted = wanted; a.turn == nil {
		a.turn = k.enqueueLocked(c)
		c.inputWaits.Store(true)
		k.server.inputWaiting.Add(1)
	}
	admitted := k.admitLocked()
	k.mu.Unlock()
	wake(admitted, c)
	return wanted <= a.granted.Load()
}

// enqueueLocked puts a connection into the queue behind those whose requests are older.
func (k *intake) enqueueLocked(c *Conn) *list.Element {
	for e := k.queue.Back(); e != nil; e = e.Prev() {
		if e.Value.(*Conn).admission.number < c.admission.number {
			return k.queue.InsertAfter(c, e)
		}
	}
	return k.queue.PushFront(c)
}

// admitLocked admits requests in their order as long as there is room, and returns their connections.
func (k *intake) admitLocked() (admitted []*Conn) {
	for e := k.queue.Front(); e != nil; e = k.queue.Front() {
		c := e.Value.(*Conn)
		a := c.admission
		more := a.wanted - a.granted.Load()
		if k.granted+more > k.limit && a.place != k.requests.Front() {
			break
		}
		k.granted += more
		a.granted.Store(a.wanted)
		k.dequeueLocked(c)
		admitted = append(admitted, c)
	}
	return admitted
}

func (k *intake) dequeueLocked(c *Conn) {
	k.queue.Remove(c.admission.turn)
	c.admission.turn = nil
	c.inputWaits.Store(false)
	k.server.inputWaiting.Add(-1)
}

// leave ends an admission, and with it the need for room.
func (k *intake) leave(c *Conn) {
	a := c.admission
	k.mu.Lock()
	if a.turn != nil {
		k.dequeueLocked(c)
	}
	k.requests.Remove(a.place)
	k.granted -= a.granted.Load()
	admitted := k.admitLocked()
	k.mu.Unlock()
	wake(admitted, nil)
}

// wake has the owners of connections read again, apart from the caller's own.
func wake(conns []*Conn, own *Conn) {
	for _, c := range conns {
		if c != own {
			c.wakeOwner()
		}
	}
}

// mayRead tells whether the connection may be read from: there is room for what is known of its request. If not, it is woken when there
// is. The owner calls it when the connection is at rest.
func (c *Conn) mayRead() bool {
	if c.admission == nil && len(c.input) <= ordinaryInputBytes && c.NeedBytes <= ordinaryInputBytes {
		return true
	}
	return c.admit()
}

// admit is mayRead for a request that takes part in an intake, or has.
func (c *Conn) admit() bool {
	wanted := c.roomWanted()
	c.endAdmission()
	if c.admission == nil {
		switch {
		case wanted <= ordinaryInputBytes:
			return true
		case wanted <= modestInputBytes:
			c.admission = &admission{intake: &c.server.modest}
		default:
			c.admission = &admission{intake: &c.server.large}
		}
	}
	if c.admission.intake.ask(c, int64(wanted)) {
		return true
	}
	if length := len(c.input); c.admission.granted.Load() == 0 && cap(c.input) > length+ordinaryInputBytes {
		c.input = append(make([]byte, 0, length), c.input...) // it was for the request before
		c.noteInput()
	}
	return false
}

// endAdmission gives the room for a request back that has been served.
func (c *Conn) endAdmission() {
	if c.admission != nil && c.admission.served {
		c.leaveIntake()
	}
}

// leaveIntake gives the room for the connection's request back.
func (c *Conn) leaveIntake() {
	if c.admission != nil {
		c.admission.intake.leave(c)
		c.admission = nil
	}
}

// roomWanted is the size of the buffer that the rest of the request needs, as far as is known.
func (c *Conn) roomWanted() int {
	length, room := len(c.input), cap(c.input)
	if length == 0 {
		return 0
	}
	wanted := max(c.NeedBytes, room)
	if c.inputShort() {
		wanted = max(c.NeedBytes, nextRoom(length, room, c.NeedBytes))
	}
	return min(wanted, max(int(c.server.inputHardBytes.Load()), length)) // it is dropped there
}

// inputShort tells whether the buffer must grow before the next read.
func (c *Conn) inputShort() bool {
	length, room := len(c.input), cap(c.input)
	fits := length < c.NeedBytes && c.NeedBytes <= room
	return room-length <= room/4 && !fits // also where there is no room at all
}

// nextRoom is the size to which a buffer grows. That is in steps, so that a peer must send what it announces before memory is spent on it, but
// in few of them, and the last one is no more than what is needed. A request of many small parts announces them one by one: at least
// half is added.
func nextRoom(length, room, need int) int {
	switch {
	case need < length+length/8:
		return length + length/2
	case need <= 5*room:
		return need
	}
	return 4 * room
}

// mostInput is how much a runner reads of a connection at once: less while there is no room for what may turn out to be a part of a long request.
func (r *runner) mostInput(c *Conn) int {
	if c.admission == nil && r.server.inputWaiting.Load() > 0 {
		return min(ordinaryInputBytes, len(r.in))
	}
	return len(r.in)
}
