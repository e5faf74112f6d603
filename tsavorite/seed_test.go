package tsavorite_test

import (
	"flag"
	"time"
)

var seedFlag = flag.Uint64("seed", 1, "what random tests draw from; 0 is the clock")

// testSeed is what a random test draws from: the same each time unless asked otherwise, so that a change is judged by what it does.
func testSeed() uint64 {
	if *seedFlag == 0 {
		return uint64(time.Now().UnixNano())
	}
	return *seedFlag
}
