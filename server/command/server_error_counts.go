package command

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// maxErrorCodes bounds the codes that are counted apart; a client cannot make up codes, so it is
// never reached by correct handlers.
const maxErrorCodes = 128

// errorCounts count the error replies by their code, as in ERR or WRONGTYPE. An error is not on
// the hot path: a mutex will do.
type errorCounts struct {
	mu     sync.Mutex
	byCode map[string]uint64
}

// note counts an error reply by its text, which begins with the code.
func (e *errorCounts) note(text string) {
	code, _, _ := strings.Cut(text, " ")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byCode == nil {
		e.byCode = make(map[string]uint64)
	}
	if _, known := e.byCode[code]; known || len(e.byCode) < maxErrorCodes {
		e.byCode[code]++
	}
}

// count returns how many error replies there were of a code.
func (e *errorCounts) count(code string) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byCode[code]
}

// reset forgets all counts.
func (e *errorCounts) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.byCode)
}

// infoErrorStats writes the error replies by their code.
func infoErrorStats(s *State, w *infoWriter) {
	e := &s.Server.errors
	e.mu.Lock()
	defer e.mu.Unlock()
	codes := make([]string, 0, len(e.byCode))
	for code := range e.byCode {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		w.line("errorstat_"+code, fmt.Sprintf("count=%d", e.byCode[code]))
	}
}
