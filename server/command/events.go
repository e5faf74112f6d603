package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pyropedb/pyrope/server/pubsub"
)

// eventClass is a set of classes of keyspace events, and of the two forms in which they are told.
type eventClass uint32

// The classes, a letter each in notify-keyspace-events.
const (
	toKeyChannel   eventClass = 1 << iota // K: the event is the message, the key the channel
	toEventChannel                        // E: the other way round
	genericEvent                          // g: DEL, EXPIRE, RENAME
	stringEvent                           // $
	listEvent                             // l
	setEvent                              // s
	hashEvent                             // h
	sortedSetEvent                        // z
	expiredEvent                          // x: a key is removed past its deadline
	evictedEvent                          // e
	streamEvent                           // t
	moduleEvent                           // d
	missEvent                             // m: a key that was read is not there
	newEvent                              // n: a key is made
)

const (
	eventLetters = "KEg$lshzxetdmn" // in the order of the bits
	// allEvents is what A stands for.
	allEvents = genericEvent | stringEvent | listEvent | setEvent | hashEvent | sortedSetEvent | expiredEvent | evictedEvent | streamEvent | moduleEvent
)

// parseEventClasses reads the value of notify-keyspace-events.
func parseEventClasses(text string) (classes eventClass, ok bool) {
	text, _, _ = strings.Cut(text, "\x00") // as Redis, to which it is a C string
	for _, letter := range text {
		if letter == 'A' {
			classes |= allEvents
			continue
		}
		bit := strings.IndexRune(eventLetters, letter)
		if bit < 0 {
			return 0, false
		}
		classes |= 1 << bit
	}
	return classes, true
}

// String is the value of notify-keyspace-events as Redis shows it: the letters in its order, and A for what it stands for.
func (e eventClass) String() string {
	var text strings.Builder
	rest := "g$lshzxetdnKEm"
	if e&allEvents == allEvents {
		text.WriteByte('A')
		rest = "KEm"
	}
	for _, letter := range rest {
		if e&(1<<strings.IndexRune(eventLetters, letter)) != 0 {
			text.WriteRune(letter)
		}
	}
	return text.String()
}

// setEventClasses changes what is told.
func (s *State) setEventClasses(classes eventClass) {
	s.eventClasses.Store(uint32(classes))
	told := classes&(toKeyChannel|toEventChannel) != 0 && classes&^(toKeyChannel|toEventChannel) != 0
	s.attention.set(watchEvents, told)
}

// notify tells that something became of a key of the client's database.
func (c *Context) notify(class eventClass, event string, key []byte) {
	if c.State.attention.has(watchEvents | watchTracking) {
		c.changed(class, event, key, c.Client.Database())
	}
}

// notifyIn is notify for a key of another database.
func (c *Context) notifyIn(database int, class eventClass, event string, key []byte) {
	if c.State.attention.has(watchEvents | watchTracking) {
		c.changed(class, event, key, database)
	}
}

// changed tells of an event, and notes its key for those who track it. It comes behind the write: see tracking.go.
func (c *Context) changed(class eventClass, event string, key []byte, database int) {
	if c.State.attention.has(watchEvents) {
		c.State.tell(c, class, event, key, database)
	}
	if c.State.attention.has(watchTracking) && class&(newEvent|missEvent) == 0 {
		c.changes.keys = append(c.changes.keys, key)
	}
}

// tell publishes an event, if its class is asked for. publisher is nil for what no client did.
func (s *State) tell(publisher *Context, class eventClass, event string, key []byte, database int) {
	classes := eventClass(s.eventClasses.Load())
	if classes&class == 0 || s.Broker.Idle() {
		return
	}
	if classes&toKeyChannel != 0 {
		channel := fmt.Appendf(nil, "__keyspace@%d__:%s", database, key)
		s.publish(publisher, pubsub.Channels, channel, []byte(event))
	}
	if classes&toEventChannel != 0 {
		channel := fmt.Appendf(nil, "__keyevent@%d__:%s", database, event)
		s.publish(publisher, pubsub.Channels, channel, key)
	}
}

// setEvents is the parameter notify-keyspace-events.
func setEvents(s *State, value string) (func(), string) {
	classes, ok := parseEventClasses(value)
	if !ok {
		return nil, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
	}
	return func() { s.setEventClasses(classes) }, ""
}

// databaseOf is the number of the database whose keys live in a namespace now; ok is false for none.
func (s *State) databaseOf(namespace uint32) (number int, keyspace *Keyspace, ok bool) {
	for i := range s.databases {
		if keyspace := s.databases[i].Keyspace(); keyspace.Namespace == namespace {
			return i, keyspace, true
		}
	}
	return 0, nil, false
}

// decimalNumber is the text of an integer parameter.
func decimalNumber(n int64) string { return strconv.FormatInt(n, 10) }
