package metamorphic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/pyropedb/pyrope/tsavorite"
)

// modelRecord is what the model holds for a key.
type modelRecord struct {
	value []byte
	tsavorite.Metadata
}

// model is the plain map that the store is compared with. It is told the time by the caller.
type model struct {
	records map[int]modelRecord // by key number
	now     int64
	watched map[int]bool // keys that leave this set when they are removed; nil is none
}

func newModel(now int64) *model { return &model{records: map[int]modelRecord{}, now: now} }

// get returns the key's record if it is live.
func (m *model) get(key int) (modelRecord, bool) {
	record, ok := m.records[key]
	if !ok || record.Deadline != 0 && m.now > record.Deadline {
		return modelRecord{}, false
	}
	return record, true
}

// apply carries out a plan's outcome.
func (m *model) apply(key int, action tsavorite.Action, value []byte, metadata tsavorite.Metadata) {
	switch action {
	case tsavorite.Write:
		m.records[key] = modelRecord{value: value, Metadata: metadata}
	case tsavorite.SetMetadata:
		record := m.records[key]
		record.Metadata = metadata
		m.records[key] = record
	case tsavorite.Remove:
		delete(m.records, key)
		delete(m.watched, key)
	}
}

// live returns the numbers of the live keys of a namespace.
func (m *model) live(namespace uint32) map[int]bool {
	keys := map[int]bool{}
	for key := range m.records {
		if _, ok := m.get(key); ok && keyAt(key).Namespace == namespace {
			keys[key] = true
		}
	}
	return keys
}

// difference says how what the store shows differs from the model's record; "" if it does not.
func (r modelRecord) difference(shown tsavorite.Record) string {
	switch {
	case len(shown.Value) != len(r.value):
		return fmt.Sprintf("value has %d bytes, want %d", len(shown.Value), len(r.value))
	case !bytes.Equal(shown.Value, r.value):
		at := 0
		for shown.Value[at] == r.value[at] {
			at++
		}
		return fmt.Sprintf("value of %d bytes differs from byte %d: %x, want %x", len(r.value), at, clip(shown.Value[at:]), clip(r.value[at:]))
	case shown.Metadata != r.Metadata:
		return fmt.Sprintf("metadata is %+v, want %+v", shown.Metadata, r.Metadata)
	}
	return ""
}

func clip(b []byte) []byte { return b[:min(len(b), 24)] }

// The keys: the same bytes in several namespaces, so that a namespace that leaks is seen, and
// lengths from nothing to long.
var namespaces = [...]uint32{0, collidingNamespace(), 1 << 24}

// collidingNamespace is one whose keys share bucket and tag with the same keys of namespace 0, in
// an index that started with eight buckets: the engine mixes the namespace into the hash by a
// multiplication with the golden ratio.
func collidingNamespace() uint32 {
	for namespace := uint32(8); ; namespace += 8 {
		if mixed := uint64(namespace) * 0x9e3779b97f4a7c15; mixed>>49 == 0 && mixed&7 == 0 {
			return namespace
		}
	}
}

const keyBytesCount = 150 // distinct key bytes in each namespace

// keyCount is the number of keys; a key number is below it.
const keyCount = keyBytesCount * len(namespaces)

// colliding are keys that share bucket and tag in an index that started with eight buckets, as far
// as the engine's hash (xxhash64; bucket from its low bits, tag from its high 15) is concerned: one
// entry, one chain of records.
var colliding = collidingKeys(17)

func collidingKeys(count int) [][]byte {
	place := func(key []byte) uint64 {
		hash := xxhash.Sum64(key)
		return hash>>49<<3 | hash&7
	}
	first := []byte("collision")
	keys := [][]byte{first}
	candidate := []byte{}
	for n := 0; len(keys) < count; n++ {
		candidate = strconv.AppendInt(append(candidate[:0], "collision:"...), int64(n), 10)
		if place(candidate) == place(first) {
			keys = append(keys, slices.Clone(candidate))
		}
	}
	return keys
}

var keyTable, keyNumbers = makeKeys()

func makeKeys() ([]tsavorite.Key, map[string]int) {
	table := make([]tsavorite.Key, 0, keyCount)
	numbers := map[string]int{}
	for i := range keyCount {
		n := i / len(namespaces)
		var key []byte
		switch {
		case n == 0: // the empty key
		case n == 1:
			key = []byte{0}
		case n == 2:
			key = []byte{0, 0}
		case n < 8:
			key = colliding[n-3]
		case n > 137:
			key = colliding[n-133]
		case n%11 == 0:
			key = fmt.Appendf(nil, "%0*d", 100+n, n)
		case n%5 == 0:
			key = binary.LittleEndian.AppendUint64(nil, uint64(n))
		default:
			key = fmt.Appendf(nil, "key:%d", n)
		}
		table = append(table, tsavorite.Key{Namespace: namespaces[i%len(namespaces)], Bytes: key})
		numbers[keyName(table[i].Namespace, key)] = i
	}
	return table, numbers
}

func keyAt(number int) tsavorite.Key { return keyTable[number] }

func keyName(namespace uint32, key []byte) string {
	return string(binary.LittleEndian.AppendUint32(nil, namespace)) + string(key)
}

// keyNumber finds the number of a key that the store showed.
func keyNumber(namespace uint32, key []byte) (int, bool) {
	number, ok := keyNumbers[keyName(namespace, key)]
	return number, ok
}

// fill writes bytes that follow from seed, so that a stale or a torn value does not go unseen.
func fill(value []byte, seed uint64) {
	for i := range value {
		if i%8 == 0 {
			seed += 0x9e3779b97f4a7c15
		}
		mixed := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		value[i] = byte(mixed >> (8 * (i % 8)))
	}
}
