package command

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestLatencyBuckets checks the borders of the histogram's buckets, and the figures made of them.
func TestLatencyBuckets(t *testing.T) {
	previous := uint64(0)
	for bucket := range latencyBuckets - 1 {
		ceiling := latencyCeiling(bucket)
		if latencyBucket(previous) != bucket || latencyBucket(ceiling) != bucket || latencyBucket(ceiling+1) != bucket+1 {
			t.Fatalf("bucket %d: %d ns goes to %d, %d ns to %d, %d ns to %d", bucket, previous, latencyBucket(previous),
				ceiling, latencyBucket(ceiling), ceiling+1, latencyBucket(ceiling+1))
		}
		previous = ceiling + 1
	}
	if bucket := latencyBucket(1 << 62); bucket != latencyBuckets-1 {
		t.Errorf("a very long time goes to bucket %d", bucket)
	}
	var h latencyHistogram
	for range 1000 {
		h.add(1000+rand.Uint64N(20), 1)
	}
	h.add(5_000_000, 10)
	if calls := h.calls(); calls != 1010 {
		t.Errorf("%d calls, want 1010", calls)
	}
	if median := h.percentile(50, 1010); median < 1000 || median > 1100 {
		t.Errorf("the median is %d ns", median)
	}
	if last := h.percentile(100, 1010); last < 5_000_000 || last > 5_400_000 {
		t.Errorf("the longest is %d ns", last)
	}
	pairs := h.cumulative()
	if len(pairs) != 2 || pairs[0] != [2]int64{1, 1000} || pairs[1] != [2]int64{8454, 1010} {
		t.Errorf("the cumulative counts are %v", pairs)
	}
}

// TestLatencySamplesAreBounded keeps one sample a second, 160 of a cause.
func TestLatencySamplesAreBounded(t *testing.T) {
	m := latencyMonitor{thresholdMilliseconds: 5}
	at := time.Unix(1000, 0)
	m.noteLocked("x", int64(4*time.Millisecond), at)
	for second := range 200 {
		for _, took := range []time.Duration{7, 9, 8} {
			m.noteLocked("x", int64(took*time.Millisecond), at.Add(time.Duration(second)*time.Second))
		}
	}
	event, ok := m.latencyOf("x")
	if !ok || len(event.samples) != latencySamples || event.longest != 9 || event.samples[0] != (latencySample{1040, 9}) {
		t.Errorf("there are %d samples, first %v, longest %d", len(event.samples), event.samples[0], event.longest)
	}
}

// TestDrawnSamples draws samples of each height.
func TestDrawnSamples(t *testing.T) {
	var text strings.Builder
	var samples []latencySample
	for i := range int64(12) {
		samples = append(samples, latencySample{1000 - i*i*60, 10 + i})
	}
	drawSamples(&text, samples, 10, 21, 1005)
	want := strings.Join([]string{
		"         _o#", "      _o#|||", "   _o#||||||", "_o#|||||||||", "            ",
		"514912341112", "smmm6569hhhh", "    mmmm    ", "",
	}, "\n")
	if got := text.String(); got != want {
		t.Errorf("the drawing is\n%s\nwant\n%s", got, want)
	}
}
