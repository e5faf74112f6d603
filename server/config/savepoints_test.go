package config_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pyropedb/pyrope/server/config"
)

func TestSavePoints(t *testing.T) {
	check := func(text, want string, points ...config.SavePoint) {
		t.Helper()
		var got config.SavePoints
		if err := got.UnmarshalText([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
		if len(points) > 0 || len(got.Points()) > 0 {
			if diff := cmp.Diff(points, got.Points()); diff != "" {
				t.Errorf("%q (-want +got):\n%s", text, diff)
			}
		}
	}
	check("", "")
	check(" 3600  1 ", "3600 1", config.SavePoint{After: time.Hour, Writes: 1})
	check("60 0 1 2", "60 0 1 2", config.SavePoint{After: time.Minute}, config.SavePoint{After: time.Second, Writes: 2})
	for _, wrong := range []string{"60", "x 1", "1 x", "0 1", "-1 1", "1 -1", "1 1 1", "99999999999 1"} {
		var points config.SavePoints
		if err := points.UnmarshalText([]byte(wrong)); err == nil || points != "" || !strings.Contains(err.Error(), strconv.Quote(wrong)) {
			t.Errorf("%q is %q, %v", wrong, points, err)
		}
	}
	merged := config.Merge([]config.Entry{{Name: "save", Value: "1 1"}, {Name: "save", Value: ""}, {Name: "save", Value: "2 2"}, {Name: "save", Value: "3 3"}})
	if merged["save"] != "2 2 3 3" {
		t.Errorf("merged: %q", merged["save"])
	}
}
