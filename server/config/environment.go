package config

import (
	"fmt"
	"strings"
)

// environmentPrefix begins the names of the variables that give options.
const environmentPrefix = "PYROPE_"

// ReadEnvironment returns the options that variables of the form NAME=value give: PYROPE_ and the option's name or alias in
// capitals, with _ for -. A variable that is empty gives nothing. The notes name those that were ignored. other are
// names, as an option's would be, that the caller knows; their values are returned apart.
func ReadEnvironment(environment []string, other ...string) (entries []Entry, others map[string]string, notes []string, err error) {
	others = make(map[string]string)
	for _, variable := range environment {
		text, ours := strings.CutPrefix(variable, environmentPrefix)
		name, value, ok := strings.Cut(text, "=")
		if !ours || !ok || value == "" {
			continue
		}
		shown := environmentPrefix + name
		name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		_, known := Canonical(name)
		isOther := false
		for _, o := range other {
			isOther = isOther || o == name
		}
		switch nearest := Nearest(name); {
		case isOther:
			others[name] = value
		case known && strings.HasPrefix(value, "tcp://"):
			// Kubernetes sets PYROPE_PORT for a service that is called pyrope.
			notes = append(notes, fmt.Sprintf("%s is ignored: %s is the address of a service", shown, value))
		case known:
			entry, err := checkedEntry(name, value)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("%s: %w", shown, err)
			}
			entries = append(entries, entry)
		case nearest != "":
			notes = append(notes, fmt.Sprintf("%s is ignored: did you mean %s%s?", shown, environmentPrefix,
				strings.ToUpper(strings.ReplaceAll(nearest, "-", "_"))))
		default:
			notes = append(notes, shown+" is ignored: there is no such option")
		}
	}
	return entries, others, notes, nil
}
