package aof_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/tsavorite"
)

// sampleEntries have every field of every effect, at its bounds.
func sampleEntries() []tsavorite.Entry {
	key := tsavorite.Key{Namespace: 1<<32 - 1, Bytes: []byte("key")}
	metadata := tsavorite.Metadata{Deadline: 1<<63 - 1, Etag: 1<<64 - 1, Kind: 255}
	return []tsavorite.Entry{
		{Effect: tsavorite.EffectSet, Version: 1, Key: tsavorite.Key{Bytes: []byte{}}, Value: []byte{}},
		{Effect: tsavorite.EffectSet, Version: 1<<63 - 1, Unit: 1<<64 - 1, Key: key, Metadata: metadata, Length: 5, Value: []byte("value")},
		{Effect: tsavorite.EffectPatch, Version: 7, Key: key, Metadata: metadata, Length: 1<<32 - 1, Offset: 1<<32 - 4, Value: []byte("abc")},
		{Effect: tsavorite.EffectPatch, Version: 7, Unit: 3, Key: key, Value: []byte{}},
		{Effect: tsavorite.EffectDelete, Version: 300, Key: key, Value: []byte{}},
		{Effect: tsavorite.EffectOpaque, Version: 2, Unit: 9, Value: []byte("opaque")},
		{Effect: tsavorite.EffectUnitEnd, Version: 2, Unit: 9, Value: []byte{}},
	}
}

func encode(e *tsavorite.Entry) []byte {
	header := aof.AppendHeader(nil, e)
	return append(append(header, e.Key.Bytes...), e.Value...)
}

func TestEntriesComeBack(t *testing.T) {
	for _, want := range sampleEntries() {
		var got tsavorite.Entry
		encoded := encode(&want)
		if length := len(encoded) - len(want.Key.Bytes) - len(want.Value); length > aof.MaxHeaderBytes {
			t.Errorf("%+v has a header of %d bytes", want, length)
		}
		if start, err := aof.Decode(encoded, &got); start || err != nil {
			t.Errorf("%+v: %v, %v", want, start, err)
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("bytes", func(b []byte) string { return string(b) })); diff != "" {
			t.Errorf("an entry came back changed (-want +got):\n%s", diff)
		}
		// A key that is cut short is no entry.
		for cut := range len(encoded) - len(want.Value) {
			if _, err := aof.Decode(encoded[:cut], &got); err == nil {
				t.Errorf("%d bytes of %+v are taken for %+v", cut, want, got)
			}
		}
	}
}

// FuzzDecode reads any bytes; what is an entry is encoded to one with the same meaning.
func FuzzDecode(f *testing.F) {
	for _, e := range sampleEntries() {
		f.Add(encode(&e))
	}
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, entry []byte) {
		var e, again tsavorite.Entry
		start, err := aof.Decode(entry, &e)
		if err != nil || start {
			return
		}
		if _, err := aof.Decode(encode(&e), &again); err != nil || !bytes.Equal(encode(&e), encode(&again)) {
			t.Errorf("%+v becomes %+v, %v", e, again, err)
		}
	})
}
