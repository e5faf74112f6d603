package command

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// endJournal is a journal that has room for everything, and calls atEnd before it enters the end of a unit.
type endJournal struct {
	entries atomic.Uint64
	atEnd   atomic.Pointer[func()]
}

func (j *endJournal) Reserve(int) bool    { return true }
func (j *endJournal) Cancel(int)          {}
func (j *endJournal) AwaitRoom(int) error { return nil }

func (j *endJournal) Append(e *tsavorite.Entry, _ int) uint64 {
	if e.Effect == tsavorite.EffectUnitEnd {
		if atEnd := j.atEnd.Swap(nil); atEnd != nil {
			(*atEnd)()
		}
	}
	return j.entries.Add(1)
}

// TestUnitsKeepTheirKeys lets another client write a key while the command that changed it is about to end its unit in
// the journal. Replay does what the unit says at its end: so the other write must wait for that, or it would be undone.
func TestUnitsKeepTheirKeys(t *testing.T) {
	long := pattern(20_000)
	for _, words := range [][]string{
		{"APPEND", "target", strings.Repeat("x", 5_000)},
		{"SETRANGE", "target", "30000", "x"},
		{"SETBIT", "target", "300000", "1"},
		{"RENAME", "source", "target"},
		{"RENAME", "target", "source"},
		{"RENAMENX", "source", "fresh"},
	} {
		t.Run(words[0], func(t *testing.T) {
			journal := &endJournal{}
			options := tinyPages
			options.Journal = journal
			c, client := newTestContext(t, options), &Client{}
			blocked := make(chan struct{})
			other, err := c.State.NewContext(func() { close(blocked) })
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			expect(t, c, client, "+OK\r\n", "SET", "source", long)
			expect(t, c, client, "+OK\r\n", "SET", "target", long)
			key := words[len(words)-1]
			if words[0] != "RENAME" && words[0] != "RENAMENX" {
				key = words[1]
			}
			done := make(chan struct{})
			atEnd := func() {
				go func() {
					defer close(done)
					if got := serve(t, other, &Client{}, request("SET", key, "new")); got != "+OK\r\n" {
						t.Errorf("SET: %q", got)
					}
				}()
				select {
				case <-blocked:
				case <-done:
					t.Errorf("%s was written while the unit of %s had not ended", key, words[0])
				}
			}
			journal.atEnd.Store(&atEnd)
			one(t, c, client, words...)
			<-done
			expect(t, c, client, bulkReply("new"), "GET", key)
			c.State.reaped(t)
		})
	}
}
