package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Entry is one option that a config file gives.
type Entry struct {
	Name  string // the option's own name
	Value string
}

// ReadFile reads the options a config file gives, in the order they stand there; of an option that
// stands there twice the last counts. An empty format is JSON for a name that ends in .json, and
// RedisConf otherwise. The notes name the lines that were ignored. Errors name file and line.
func ReadFile(path string, format Format) ([]Entry, []string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read config file: %w", err)
	}
	if IsJSON(path, format) {
		entries, err := parseJSON(text)
		if err != nil {
			err = fmt.Errorf("cannot read config file %s: %w", path, err)
		}
		return entries, nil, err
	}
	parsed := redisConf{read: os.ReadFile}
	if err := parsed.parse(text); err != nil {
		return nil, nil, fmt.Errorf("cannot read config file %s: %w", path, err)
	}
	for i := range parsed.notes {
		parsed.notes[i] = path + ": " + parsed.notes[i]
	}
	return parsed.entries, parsed.notes, nil
}

// IsJSON tells how ReadFile takes a file.
func IsJSON(path string, format Format) bool {
	return format == JSON || format == "" && strings.EqualFold(filepath.Ext(path), ".json")
}

// Apply sets the options that the entries give.
func (o *Options) Apply(entries []Entry) error {
	for _, entry := range entries {
		if err := o.Set(entry.Name, entry.Value); err != nil {
			return err
		}
	}
	return nil
}

// Merge returns the values that entries give, by name. Of an option that is given twice the last counts, but
// client-output-buffer-limit gathers what is given for each class.
func Merge(entries []Entry) map[string]string {
	values := make(map[string]string)
	for _, entry := range entries {
		before, given := values[entry.Name]
		if given && (entry.Name == "client-output-buffer-limit" || entry.Name == "save" && entry.Value != "" && before != "") {
			entry.Value = before + " " + entry.Value
		}
		values[entry.Name] = entry.Value
	}
	return values
}

// checkedEntry returns the entry for a name and a value, once both are known to be right.
func checkedEntry(name, value string) (Entry, error) {
	var scratch Options
	if err := scratch.Set(name, value); err != nil {
		return Entry{}, err
	}
	canonical, _ := Canonical(name)
	return Entry{canonical, value}, nil
}

// parseJSON reads an object whose keys are option names; values are strings, numbers or booleans.
func parseJSON(text []byte) ([]Entry, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("there is more than one JSON value")
	}
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		var value string
		switch v := object[name].(type) {
		case string:
			value = v
		case json.Number, bool:
			value = fmt.Sprint(v)
		default:
			return nil, fmt.Errorf("%s: it must be a string, a number or a boolean", name)
		}
		entry, err := checkedEntry(name, value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}
