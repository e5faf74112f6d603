package network

// The table from descriptors to connections.

import "sync/atomic"

// table finds a connection by its descriptor. The kernel hands out the smallest free number, so
// rows are few and full. An entry is stored by the connection's owner and loaded by its loop.
type table struct {
	rows [tableRows]atomic.Pointer[tableRow]
}

const (
	tableRows = 4096 // times tableColumns: over four million descriptors
	// tableColumns is also the step in which the table grows.
	tableColumns = 1024
)

type tableRow [tableColumns]atomic.Pointer[Conn]

// load returns the connection of a descriptor, or nil.
func (t *table) load(descriptor int) *Conn {
	row := t.rows[descriptor/tableColumns].Load()
	if row == nil {
		return nil
	}
	return row[descriptor%tableColumns].Load()
}

// store enters a connection, or nil, and tells whether the table reaches that far.
func (t *table) store(descriptor int, c *Conn) bool {
	if descriptor/tableColumns >= tableRows {
		return false
	}
	row := &t.rows[descriptor/tableColumns]
	if row.Load() == nil {
		row.CompareAndSwap(nil, new(tableRow))
	}
	row.Load()[descriptor%tableColumns].Store(c)
	return true
}

// each calls visit for every connection in the table.
func (t *table) each(visit func(*Conn)) {
	for i := range t.rows {
		row := t.rows[i].Load()
		if row == nil {
			continue
		}
		for j := range row {
			if c := row[j].Load(); c != nil {
				visit(c)
			}
		}
	}
}
