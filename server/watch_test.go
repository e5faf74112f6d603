package server_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/config"
)

// get asks the server over HTTP.
func get(t *testing.T, address, path string) (status int, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestHTTP(t *testing.T) {
	options := config.Options{Memory: 1 << 20, Page: 64 << 10, HTTPPort: config.Given(0)}
	s := newServer(t, options)
	address := s.HTTPAddr().String()
	if status, body := get(t, address, "/readyz"); status != 503 || body != "loading\n" {
		t.Errorf("before Start: %d %q", status, body)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	check(t, c, "SET a 1", "+OK")
	check(t, c, "GET a", `"1"`)
	check(t, c, "GET none", "nil")
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := get(t, address, path); status != 200 || body != "ok\n" {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	_, text := get(t, address, "/metrics")
	for _, want := range []string{
		"pyrope_connected_clients 1\n", "pyrope_keyspace_hits_total 1\n", "pyrope_keyspace_misses_total 1\n",
		"pyrope_commands_total{command=\"get\"} 2\n", "# TYPE pyrope_commands_total counter\n", "pyrope_device_failing 0\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics has no %q", want)
		}
	}
	line := regexp.MustCompile(`^(# (HELP|TYPE) pyrope_[a-z_]+ .+|pyrope_[a-z_]+(\{command="[a-z_|-]+"\})? [0-9.e+-]+)$`)
	for got := range strings.Lines(text) {
		if !line.MatchString(strings.TrimSuffix(got, "\n")) {
			t.Errorf("a line Prometheus does not read: %q", got)
		}
	}
	if status, page := get(t, address, "/"); status != 200 || !strings.Contains(page, "<canvas") || regexp.MustCompile(`(src|href)=|https?://`).MatchString(page) {
		t.Errorf("the page: %d, or it needs something from elsewhere", status)
	}
	if status, figures := get(t, address, "/figures"); status != 200 || !strings.Contains(figures, `"TailAddress"`) {
		t.Errorf("/figures: %d %s", status, figures)
	}
	if status, _ := get(t, address, "/other"); status != 404 {
		t.Errorf("/other: %d", status)
	}

	value := strings.Repeat("x", 10_000)
	eventually(t, "refused writes to show", func() bool {
		for _, key := range strings.Fields("b c d e f g h i j k l m n o p q r s t u v w x y z") {
			for _, prefix := range []string{"1", "2", "3", "4", "5"} {
				if _, err := c.Do("SET", prefix+key, value); err != nil {
					t.Fatal(err)
				}
			}
		}
		status, body := get(t, address, "/readyz")
		return status == 503 && body == "writes are refused: memory is full\n"
	})
	check(t, c, "FLUSHALL", "+OK")
	eventually(t, "the server to be ready again", func() bool { status, _ := get(t, address, "/readyz"); return status == 200 })
}
