package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
)

type row struct {
	report.Origin
	Mix   string  `json:"rumd"`
	Rate  float64 `json:"ops_per_sec"`
	Right bool    `json:"right"`
}

func TestWrite(t *testing.T) {
	directory := t.TempDir()
	f := report.Files{JSONOutput: filepath.Join(directory, "out.json"), JSONStdout: true, CSVOutput: filepath.Join(directory, "out.csv")}
	rows := []row{{report.NewOrigin(), "50,50,0,0", 12.5, true}, {report.NewOrigin(), "100,0,0,0", 3, false}}
	var stdout bytes.Buffer
	if err := report.Write(f, &stdout, "KV-RESULT-JSON", rows); err != nil {
		t.Fatal(err)
	}
	line, labelled := strings.CutPrefix(stdout.String(), "KV-RESULT-JSON: ")
	text, err := os.ReadFile(f.JSONOutput)
	if err != nil || !labelled || strings.Count(line, "\n") != 1 {
		t.Fatalf("%v, and printed %q", err, &stdout)
	}
	for _, encoded := range []string{line, string(text)} {
		var d struct {
			SchemaVersion string `json:"schema_version"`
			Results       []row  `json:"results"`
		}
		if err := json.Unmarshal([]byte(encoded), &d); err != nil || d.SchemaVersion != "1" || !slices.Equal(d.Results, rows) {
			t.Errorf("%q reads back as %+v, %v", encoded, d, err)
		}
	}
	table, err := os.ReadFile(f.CSVOutput)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil || len(lines) != 3 || strings.Join(lines[0], " ") != "schema_version timestamp_utc git_sha hostname rumd ops_per_sec right" ||
		lines[1][0] != "1" || strings.Join(lines[1][4:], " ") != "50,50,0,0 12.5 true" {
		t.Errorf("CSV is %q, %v", table, err)
	}
	if at, err := time.Parse(time.RFC3339, lines[1][1]); err != nil || time.Since(at) > time.Minute {
		t.Errorf("measured at %v, %v", at, err)
	}
}

func TestWriteNothing(t *testing.T) {
	var stdout bytes.Buffer
	if err := report.Write(report.Files{}, &stdout, "RESULT", []row{{}}); err != nil || stdout.Len() > 0 {
		t.Errorf("%v, and printed %q", err, &stdout)
	}
}

func TestWriteFails(t *testing.T) {
	f := report.Files{CSVOutput: filepath.Join(t.TempDir(), "missing", "out.csv")}
	if err := report.Write(f, nil, "RESULT", []row{{}}); err == nil || !strings.Contains(err.Error(), "cannot write the results: ") {
		t.Errorf("%v", err)
	}
}
