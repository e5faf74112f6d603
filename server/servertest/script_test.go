package servertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

func writeScript(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.txt")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScriptPasses(t *testing.T) {
	path := writeScript(t, "# comment", "", "== section", "> SET k v", "+OK", "@sleep 1", "> GET k", `"v"`,
		"== the next section begins empty", "> GET k", "nil", "@resp 3", "> GET k", "null", "== and in RESP2", "> GET k", "nil")
	LoadScript(t, path).Run(t, NewHandler(t, tsavorite.Options{}))
}

// TestScriptIsRewritten checks the flag -rewrite: what matches stays as it is written.
func TestScriptIsRewritten(t *testing.T) {
	path := writeScript(t, "> SET k v", "?", "> GET k", `"w"`, "> STRLEN k", ":1..5", "> MGET k l", "[]")
	*rewrite = true
	defer func() { *rewrite = false }()
	LoadScript(t, path).Run(t, NewHandler(t, tsavorite.Options{}))
	text, err := os.ReadFile(path)
	want := "> SET k v\n+OK\n> GET k\n\"v\"\n> STRLEN k\n:1..5\n> MGET k l\n[\"v\" nil]\n"
	if err != nil || string(text) != want {
		t.Errorf("the script is now %q, error %v", text, err)
	}
}
