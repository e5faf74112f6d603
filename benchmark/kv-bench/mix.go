package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mix is how many of a hundred operations are reads, upserts, RMWs and deletes.
type mix [4]uint8

// UnmarshalText sets m from a list such as 50,50,0,0.
func (m *mix) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ",")
	sum := 0
	if len(parts) == len(m) {
		for i, part := range parts {
			n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 8)
			if err != nil {
				return fmt.Errorf("--rumd is %q; it must be four percentages such as 50,50,0,0", text)
			}
			m[i] = uint8(n)
			sum += int(n)
		}
	}
	if sum != 100 {
		return fmt.Errorf("--rumd is %q; it must be four percentages that add up to 100", text)
	}
	return nil
}

// String writes m as the flag takes it.
func (m mix) String() string { return fmt.Sprintf("%d,%d,%d,%d", m[0], m[1], m[2], m[3]) }

// preset is a workload of YCSB.
type preset struct {
	name         string
	mix          mix
	distribution string
}

// The numbers of keys.
const (
	defaultKeys = 100_000_000
	smallKeys   = 2_000_000 // of the preset of that name
	smallPreset = "2M"
)

// presets are the workloads there are. E scans keys in order, which a hash index cannot.
var presets = []preset{
	{"A", mix{50, 50, 0, 0}, zipf},
	{"B", mix{95, 5, 0, 0}, zipf},
	{"C", mix{100, 0, 0, 0}, zipf},
	{"D", mix{95, 5, 0, 0}, latest},
	{"F", mix{50, 0, 50, 0}, zipf},
}

// The distributions.
const (
	uniform = "uniform"
	zipf    = "zipf"
	latest  = "latest"
)

// settleWorkload fills in the mix and the distribution that were not given.
func (o *options) settleWorkload() error {
	chosen := preset{"", mix{100, 0, 0, 0}, uniform}
	keys := uint64(defaultKeys)
	for _, name := range o.Preset {
		if strings.EqualFold(name, "E") {
			return errors.New("--preset E scans ranges of keys, and the index is a hash, which keeps no order of keys; A, B, C, D and F can be run")
		}
		if strings.EqualFold(name, smallPreset) {
			keys = smallKeys
			continue
		}
		i := slices.IndexFunc(presets, func(p preset) bool { return strings.EqualFold(p.name, name) })
		if i < 0 || chosen.name != "" {
			return fmt.Errorf("--preset is %q; it must be A, B, C, D or F, or 2M, or 2M and one of them", strings.Join(o.Preset, ","))
		}
		chosen = presets[i]
	}
	if o.Keys == 0 {
		o.Keys = keys
	}
	if o.Mix == (mix{}) {
		o.Mix = chosen.mix
	}
	switch o.Distribution {
	case "":
		o.Distribution = chosen.distribution
	case uniform, zipf, latest:
	default:
		return fmt.Errorf("--distribution is %q; it must be uniform, zipf or latest", o.Distribution)
	}
	return nil
}

// readsOnly reports whether nothing is written.
func (m mix) readsOnly() bool { return m[0] == 100 }

// The places of the operations in a mix.
const (
	mixRead = iota
	mixUpsert
	mixRMW
	mixDelete
)
