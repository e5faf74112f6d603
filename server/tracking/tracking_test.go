package tracking_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/tracking"
)

func sorted(ids []uint64) string {
	slices.Sort(ids)
	return fmt.Sprint(ids)
}

func TestKeysAreTakenOnce(t *testing.T) {
	var table tracking.Table
	for _, client := range []uint64{7, 8, 7, 9, 8} {
		table.Remember([]byte("k"), client)
	}
	table.Remember([]byte("other"), 7)
	if table.Keys() != 2 || table.Items() != 4 {
		t.Errorf("%d keys, %d items", table.Keys(), table.Items())
	}
	if got := sorted(table.Take([]byte("k"))); got != "[7 8 9]" {
		t.Errorf("the clients of k are %s", got)
	}
	if got := table.Take([]byte("k")); got != nil {
		t.Errorf("k is taken twice: %v", got)
	}
	if forgotten, ok := table.ForgetOther([]byte("other")); ok {
		t.Errorf("%+v is forgotten, the only key", forgotten)
	}
	table.Remember([]byte("third"), 5)
	if forgotten, ok := table.ForgetOther([]byte("other")); !ok || forgotten.Key != "third" || sorted(forgotten.Clients) != "[5]" {
		t.Errorf("%+v is forgotten, %v", forgotten, ok)
	}
	table.Remember([]byte("other"), 8)
	table.Clear()
	if table.Keys() != 0 || table.Items() != 0 || table.Take([]byte("other")) != nil {
		t.Errorf("%d keys, %d items after Clear", table.Keys(), table.Items())
	}
}

func TestKeysExpire(t *testing.T) {
	var table tracking.Table
	for i := range 100 {
		key := fmt.Appendf(nil, "k%d", i)
		table.Remember(key, 1)
		if i >= 90 {
			table.Remember(key, 2)
		}
		table.NoteDeadline(key, int64(1000+i))
		table.NoteDeadline(key, 5000) // a later one changes nothing
	}
	table.NoteDeadline([]byte("unknown"), 1)
	expired := 0
	for part := range tracking.Parts {
		for _, gone := range table.TakeExpired(part, 1050) {
			expired++
			if len(gone.Key) > 2 && gone.Key >= "k50" || sorted(gone.Clients) != "[1]" {
				t.Errorf("%+v is past its deadline", gone)
			}
		}
	}
	if expired != 50 || table.Keys() != 50 {
		t.Errorf("%d keys are past their deadline, %d are left", expired, table.Keys())
	}
	for part := range tracking.Parts {
		if expired := table.TakeExpired(part, 1050); len(expired) > 0 {
			t.Errorf("%v are past their deadline once more", expired)
		}
	}
}

func TestPrefixesMatch(t *testing.T) {
	var prefixes tracking.Prefixes[string]
	for _, pair := range []string{"a:x", "a:y", ":z", "ab:x", "b:w"} {
		prefix, subscriber, _ := strings.Cut(pair, ":")
		prefixes.Add(prefix, subscriber)
		prefixes.Add(prefix, subscriber)
	}
	match := func(keys ...string) string {
		var bytes [][]byte
		for _, key := range keys {
			bytes = append(bytes, []byte(key))
		}
		var told []string
		prefixes.Match(bytes, func(subscriber string, matching [][]byte) {
			told = append(told, fmt.Sprintf("%s%s", subscriber, matching))
		})
		slices.Sort(told)
		return strings.Join(told, " ")
	}
	if got := match("abc", "c"); got != "x[abc] x[abc] y[abc] z[abc c]" {
		t.Errorf("told: %s", got)
	}
	prefixes.Remove("a", "x")
	prefixes.Remove("a", "y")
	prefixes.Remove("", "z")
	prefixes.Remove("nope", "z")
	if got := match("abc", "c"); got != "x[abc]" || prefixes.Count() != 2 {
		t.Errorf("told: %s; %d prefixes", got, prefixes.Count())
	}
}
