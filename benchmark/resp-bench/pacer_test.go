package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
	began := time.Now()
	var unbound pacer
	for range 1000 {
		unbound.await()
	}
	p := newPacer(2000, 4, 2, 1, began) // a worker of two sends four operations every 4 ms, this one from 2 ms on
	if p.interval != 4*time.Millisecond || !p.due.Equal(began.Add(2*time.Millisecond)) {
		t.Fatalf("the pacer is %+v", p)
	}
	if start := p.await(); start.Before(began.Add(2 * time.Millisecond)) {
		t.Errorf("the first send begins %v after the run", start.Sub(began))
	}
	time.Sleep(40 * time.Millisecond) // the replies are late: sends that were due meanwhile begin when they were
	for i := 1; i <= 9; i++ {
		if start, want := p.await(), began.Add(2*time.Millisecond+time.Duration(i)*4*time.Millisecond); !start.Equal(want) {
			t.Errorf("send %d begins %v after the run, want %v", i, start.Sub(began), want.Sub(began))
		}
	}
}

// TestOnlineRate: no client does more than it is asked for.
func TestOnlineRate(t *testing.T) {
	for _, client := range []string{"LightClient --itp 2", "PipelinedSession --itp 4", "GoRedis", "PipelinedSession --sync"} {
		s := startFakeServer(t)
		file := filepath.Join(t.TempDir(), "out.json")
		code, out, failures := runBench(s, "--online -t 3 --runtime 1 --rate 300 --json-output "+file+" --client "+client)
		if code != 0 {
			t.Errorf("%s: exit %d: %s%s", client, code, out, failures)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct{ Results []row }
		if err := json.Unmarshal(text, &d); err != nil || len(d.Results) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		if r := d.Results[0]; r.Operations < 3 || float64(r.Operations) > 300*r.Elapsed+6 || r.Rate != 300 {
			t.Errorf("%s: %d operations in %v s, want 300 a second", client, r.Operations, r.Elapsed)
		}
	}
}
