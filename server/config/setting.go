package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// setting is one option as its tags describe it.
type setting struct {
	name    string
	aliases []string
	field   int // index of the field in Options
	// least and most bound a number or a size; both 0 for an option that has no such bounds.
	least, most int64
}

// settings are all options in the order of their declaration; immutable.
var settings = describe()

// describe reads the tags of Options.
func describe() []setting {
	options := reflect.TypeFor[Options]()
	described := make([]setting, 0, options.NumField())
	for i := range options.NumField() {
		tag := options.Field(i).Tag
		s := setting{name: tag.Get("name"), field: i}
		if aliases := tag.Get("aliases"); aliases != "" {
			s.aliases = strings.Split(aliases, ",")
		}
		if most := tag.Get("max"); most != "" {
			s.least, _ = strconv.ParseInt(tag.Get("min"), 10, 64)
			s.most, _ = strconv.ParseInt(most, 10, 64)
		}
		described = append(described, s)
	}
	return described
}

// find returns the setting with that name or alias, in any case.
func find(name string) (setting, bool) {
	for _, s := range settings {
		if strings.EqualFold(s.name, name) {
			return s, true
		}
		for _, alias := range s.aliases {
			if strings.EqualFold(alias, name) {
				return s, true
			}
		}
	}
	return setting{}, false
}

// Names returns the names of all options, without aliases.
func Names() []string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.name
	}
	return names
}

// Aliases returns the other names of an option.
func Aliases(name string) []string {
	s, _ := find(name)
	return s.aliases
}

// Range returns the bounds of a number or a size, under its name or an alias; both are 0 where there are none.
func Range(name string) (least, most int64) {
	s, _ := find(name)
	return s.least, s.most
}

// Canonical returns the option's own name for a name or an alias, in any case.
func Canonical(name string) (string, bool) {
	s, ok := find(name)
	return s.name, ok
}

// Set gives an option its value from text, under its name or an alias.
func (o *Options) Set(name, text string) error {
	s, ok := find(name)
	if !ok {
		return unknownOption(name)
	}
	field := reflect.ValueOf(o).Elem().Field(s.field)
	var err error
	switch target := field.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		err = target.UnmarshalText([]byte(text))
	case *string:
		*target = text
	case *int:
		*target, err = strconv.Atoi(text)
		if err != nil || *target == 0 && s.least > 0 { // the zero value is "not given"; a 0 that is given must not pass for it
			*target, err = 0, errNoNumber
		}
	}
	if errors.Is(err, errNoNumber) {
		err = NoNumber(text, s.least, s.most)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Get returns the text of an option, under its name or an alias; "" for an unknown one.
func (o *Options) Get(name string) string {
	s, ok := find(name)
	if !ok {
		return ""
	}
	return fmt.Sprint(reflect.ValueOf(o).Elem().Field(s.field).Interface())
}

// unknownOption is the error for a name that no option has: why it is none, or the nearest one that exists.
func unknownOption(name string) error {
	if reason := WhyNot(name); reason != "" {
		return fmt.Errorf("there is no option %q: %s", name, reason)
	}
	if nearest := Nearest(name); nearest != "" {
		return fmt.Errorf("unknown option %q: did you mean %q?", name, nearest)
	}
	return fmt.Errorf("unknown option %q", name)
}

// Nearest returns the name or alias that is fewest edits away from name, or "" when none is near:
// a third of its letters, and at least two, may differ.
func Nearest(name string) string {
	lower := strings.ToLower(name)
	nearest, best := "", max(2, len(name)/3)+1
	consider := func(candidate string) {
		distance := editDistance(lower, candidate)
		if strings.HasPrefix(candidate, lower) && len(lower) >= 3 {
			distance = min(distance, 1)
		}
		if distance < best {
			nearest, best = candidate, distance
		}
	}
	for _, s := range settings {
		consider(s.name)
		for _, alias := range s.aliases {
			consider(alias)
		}
	}
	return nearest
}

// editDistance is the Levenshtein distance of two short texts, byte by byte.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
