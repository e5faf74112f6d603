package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"time"
)

// SchemaVersion is what machines are told of the shape of results.
const SchemaVersion = "1"

// Files is the flags that say where results go for machines to read; each may be left out.
type Files struct {
	JSONOutput string `name:"json-output" placeholder:"FILE" help:"Write the results to a file as JSON."`
	JSONStdout bool   `name:"json-stdout" help:"Print the results as one line of JSON."`
	CSVOutput  string `name:"csv-output" placeholder:"FILE" help:"Write the results to a file as CSV."`
}

// Origin is the columns that every row begins with: where and when it was measured, and with what.
type Origin struct {
	SchemaVersion string `json:"schema_version"`
	TimestampUTC  string `json:"timestamp_utc"`
	GitSHA        string `json:"git_sha"`
	Hostname      string `json:"hostname"`
}

// NewOrigin is the origin of what this process has just measured.
func NewOrigin() Origin {
	host, _ := os.Hostname() // an empty name says that there is none
	return Origin{SchemaVersion, time.Now().UTC().Format(time.RFC3339), revision(), host}
}

// document is the JSON output.
type document[Row any] struct {
	SchemaVersion string `json:"schema_version"`
	Results       []Row  `json:"results"`
}

// Write writes rows where the flags ask for them; the line of --json-stdout goes to stdout, after
// label and a colon. Row is a struct that embeds Origin; the json tags of its fields are the names
// of the columns, in their order.
func Write[Row any](f Files, stdout io.Writer, label string, rows []Row) error {
	d := document[Row]{SchemaVersion, rows}
	if f.JSONStdout {
		text, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("cannot write the results: %w", err)
		}
		fmt.Fprintf(stdout, "%s: %s\n", label, text)
	}
	if err := writeFile(f.JSONOutput, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(d)
	}); err != nil {
		return err
	}
	return writeFile(f.CSVOutput, func(w io.Writer) error { return writeCSV(w, rows) })
}

// writeFile writes a file, if it has a name.
func writeFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	return nil
}

// writeCSV writes a header and a line for each row.
func writeCSV[Row any](w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	var columns []reflect.StructField
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Row]()) {
		if !field.Anonymous {
			columns = append(columns, field)
		}
	}
	line := make([]string, len(columns))
	for i, column := range columns {
		line[i] = column.Tag.Get("json")
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for i := range rows {
		fields := reflect.ValueOf(rows[i])
		for j, column := range columns {
			line[j] = fmt.Sprint(fields.FieldByIndex(column.Index).Interface())
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// revision is the commit the program was built from, if the build knew.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
