package tsavorite

import (
	"encoding/binary"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// The primes of xxHash.
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

// hashOf is the hash of a key: xxhash64 of its bytes, mixed with the namespace.
func hashOf(key Key) uint64 {
	if n := len(key.Bytes); n < 32 && n%8 == 0 {
		return hashWords(key.Bytes) ^ uint64(key.Namespace)*0x9E3779B97F4A7C15
	}
	return xxhash.Sum64(key.Bytes) ^ uint64(key.Namespace)*0x9E3779B97F4A7C15
}

// hashWords is xxhash64 of up to three whole words: what the library does, without a call into assembly, which
// costs as much as hashing so few bytes.
func hashWords(b []byte) uint64 {
	h := prime5 + uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		h ^= bits.RotateLeft64(binary.LittleEndian.Uint64(b)*prime2, 31) * prime1
		h = bits.RotateLeft64(h, 27)*prime1 + prime4
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}
