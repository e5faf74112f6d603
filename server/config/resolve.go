package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/certificate"
	"github.com/pyropedb/pyrope/tsavorite"
	"github.com/pyropedb/pyrope/tsavorite/log"
)

// Defaults of the sizes, and the bounds that are the server's own. The engine's are in tsavorite.
const (
	defaultMemory  Size = 16 << 30
	defaultPage    Size = 16 << 20
	defaultSegment Size = 1 << 30
	defaultIndex   Size = 4 << 20

	defaultCommitPage Size = 1 << 20
	commitPages            = 32 // pages that the memory of the append-only file holds when it is not given

	memoryPercent  = 70 // share of the machine that the default of --memory may take
	pagesWanted    = 16 // pages that memory holds when --page is not given
	maxSegment     = Size(1) << 40
	minPage        = Size(tsavorite.MinPageBytes)
	maxPage        = Size(tsavorite.MaxPageBytes)
	minIndex       = Size(tsavorite.MinIndexBytes)
	maxIndex       = Size(tsavorite.MaxIndexBytes)
	minPagesMemory = Size(tsavorite.MinPageCount)
)

// Resolve completes o with defaults, rounds sizes, and checks every option and every pair that
// must fit together. machineMemory is the memory of the machine in bytes, 0 where it is unknown.
// The notes are lines for the log: what was rounded or ignored, and why.
func Resolve(o Options, machineMemory uint64) (Options, []string, error) {
	resolved, notes := o.withDefaults(Size(machineMemory))
	if err := resolved.validate(); err != nil {
		return Options{}, nil, err
	}
	return resolved, notes, nil
}

// withDefaults returns o with every field that was not given filled in, and sizes rounded.
func (o Options) withDefaults(machine Size) (Options, []string) {
	var notes []string
	note := func(format string, values ...any) { notes = append(notes, fmt.Sprintf(format, values...)) }

	if o.Memory == 0 {
		var why string
		if o.Memory, why = DefaultMemory(uint64(machine)); why != "" {
			notes = append(notes, why)
		}
	} else if machine != 0 && o.Memory > machine/100*memoryPercent {
		note("--memory %s is more than %d%% of this machine's %s", o.Memory, memoryPercent, machine)
	}
	if o.Page == 0 {
		o.Page = defaultPage
		for o.Page > minPage && o.Page*pagesWanted > o.Memory {
			o.Page /= 2
		}
		if o.Page != defaultPage {
			note("--page is %s instead of %s, to fit --memory %s", o.Page, defaultPage, o.Memory)
		}
	}
	o.IndexMax = roundIndex(o.IndexMax, "--index-max-size", note)
	o.Index = roundIndex(o.Index, "--index", note)
	if o.Index == 0 {
		o.Index = defaultIndex
		if o.IndexMax != 0 {
			o.Index = min(defaultIndex, o.IndexMax)
		}
	}
	if o.StorageTier.IsOn() && (o.Policy.EvictsAny() && o.MaxDisk == 0 || o.Policy.EvictsExpiring()) {
		note("--maxmemory-policy %s is ignored: with --storage-tier cold records go to the device", o.Policy)
	}
	if setDefault(&o.NetworkBackend, defaultNetworkBackend()); o.NetworkBackend == BackendNet && o.NetworkThreads != 0 {
		note("--network-threads %d is ignored: --network-backend net has no event loops", o.NetworkThreads)
		o.NetworkThreads = 0
	}
	if o.HTTPBind != "" && !o.HTTPPort.Given {
		note("--http-bind %s is ignored without --http-port", o.HTTPBind)
	}
	if !o.StorageTier.IsOn() && o.DeviceType != device.Default {
		note("--device-type %s is ignored without --storage-tier", o.DeviceType)
	}
	return o.withPlainDefaults(), notes
}

// DefaultMemory is what --memory is when it is not given, on a machine of so many bytes (0 where that is
// unknown), and a note when it is less than it would like to be.
func DefaultMemory(machineMemory uint64) (memory Size, note string) {
	machine := Size(machineMemory)
	budget := machine / 100 * memoryPercent
	if machine == 0 || budget >= defaultMemory {
		return defaultMemory, ""
	}
	memory = budget &^ (1<<20 - 1)
	return memory, fmt.Sprintf("--memory is %s: %d%% of this machine's %s instead of %s", memory, memoryPercent, machine, defaultMemory)
}

// roundIndex rounds an index size down to a power of two and notes it.
func roundIndex(size Size, name string, note func(string, ...any)) Size {
	rounded := size.floorPowerOfTwo()
	if rounded != size {
		note("%s %s is rounded down to %s, a power of two", name, size, rounded)
	}
	return rounded
}

// withPlainDefaults fills the fields whose default depends on nothing.
func (o Options) withPlainDefaults() Options {
	setDefault(&o.Segment, defaultSegment)
	setDefault(&o.MutablePercent, 90)
	setDefault(&o.MaxDeadPercent, 50)
	setDefault(&o.CompactionKind, CompactionLookUp)
	setDefault(&o.Policy, NoEviction)
	setDefault(&o.MaxDatabases, 16)
	setDefault(&o.MaxClients, 10000)
	setDefault(&o.ShutdownTimeout, 5)
	setDefault(&o.ProtectedMode, On)
	setDefault(&o.ScatterGather, On)
	setDefault(&o.TCPKeepAlive, Given(300))
	o.OutputLimits = o.OutputLimits.WithDefaults()
	setDefault(&o.QueryBufferLimit, 1<<30)
	setDefault(&o.MaxBulk, 512<<20)
	setDefault(&o.TLS, Off)
	setDefault(&o.AuthClients, AuthYes)
	setDefault(&o.Protocols, "TLSv1.2 TLSv1.3")
	setDefault(&o.SessionCaching, On)
	setDefault(&o.CertRefresh, Given(10))
	setDefault(&o.StorageTier, Off)
	setDefault(&o.CopyReads, Off)
	if o.StorageTier.IsOn() {
		setDefault(&o.LogDir, ".")
	}
	if o.DeviceBackend != device.BackendDefault {
		setDefault(&o.DeviceType, device.Native) // the one kind that has backends
	}
	setDefault(&o.AppendOnly, Off)
	setDefault(&o.CheckpointDir, o.LogDir)
	setDefault(&o.CheckpointDir, ".")
	setDefault(&o.Recover, On)
	setDefault(&o.RecoverVerify, Off)
	setDefault(&o.RecoverVerifyRate, Given(64))
	setDefault(&o.CheckpointRate, Given(256))
	setDefault(&o.KeepCheckpoints, 1)
	setDefault(&o.StopWrites, On)
	setDefault(&o.CommitFrequency, CommitEverySecond)
	setDefault(&o.CommitPage, defaultCommitPage)
	setDefault(&o.CommitMemory, commitPages*o.CommitPage)
	setDefault(&o.LatencyTracking, On)
	setDefault(&o.ExpireEffort, 1)
	setDefault(&o.EnableDebug, DebugNo)
	setDefault(&o.LoggerLevel, Information)
	setDefault(&o.LoggerFormat, LogText)
	return o
}

// setDefault gives field a value when it has none.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate reports everything that is wrong with complete options: values out of range, then
// pairs that do not fit, each with the names, the values and the nearest that is accepted.
func (o Options) validate() error {
	return errors.Join(o.validateChoices(), o.validateNumbers(), o.validateSizes(), o.validateStorage(), o.validateTLS())
}

// validateChoices checks that every option that is one of a few words is spelt as the constants
// are: text that came through Set always is.
func (o Options) validateChoices() error {
	var errs []error
	if best := defaultNetworkBackend(); o.NetworkBackend != "" && o.NetworkBackend != BackendNet && best == BackendNet {
		errs = append(errs, fmt.Errorf("--network-backend %s needs Linux: %s is the one here", o.NetworkBackend, best))
	}
	for _, s := range settings {
		value := o.Get(s.name)
		var scratch Options
		if reflect.ValueOf(o).Field(s.field).Kind() != reflect.String || value == "" {
			continue
		}
		if err := scratch.Set(s.name, value); err != nil {
			errs = append(errs, fmt.Errorf("--%w", err))
		} else if given := scratch.Get(s.name); given != value {
			errs = append(errs, fmt.Errorf("--%s is %q; it must be written %q", s.name, value, given))
		}
	}
	return errors.Join(errs...)
}

// validateNumbers checks the numbers, and the sizes with bounds in their tags, against them.
func (o Options) validateNumbers() error {
	var errs []error
	for _, s := range settings {
		var value int64
		switch v := reflect.ValueOf(o).Field(s.field).Interface().(type) {
		case int:
			value = int64(v)
		case Number:
			value = int64(v.Value)
		case Size:
			value = int64(min(v, math.MaxInt64))
		}
		if s.most != 0 && (value < s.least || value > s.most) {
			errs = append(errs, outOfRange(s, o.Get(s.name)))
		}
	}
	return errors.Join(errs...)
}

// outOfRange is the error for a number or a size that is not between its bounds.
func outOfRange(s setting, value string) error {
	if reflect.TypeFor[Options]().Field(s.field).Type == reflect.TypeFor[Size]() {
		return fmt.Errorf("--%s %s is too small: at least %s", s.name, value, Size(s.least))
	}
	return fmt.Errorf("--%s %s is out of range: %d to %d", s.name, value, s.least, s.most)
}

// validateSizes checks the sizes alone, and then in pairs when each is right alone.
func (o Options) validateSizes() error {
	alone := errors.Join(
		checkPowerOfTwo("page", o.Page, minPage, maxPage),
		checkPowerOfTwo("segment", o.Segment, minPage, maxSegment),
		checkPowerOfTwo("index", o.Index, minIndex, maxIndex),
		checkPowerOfTwo("aof-page-size", o.CommitPage, Size(log.MinPageBytes), Size(log.MaxPageBytes)),
	)
	if alone != nil {
		return alone
	}
	var errs []error
	if least := minPagesMemory * o.Page; o.Memory < least {
		errs = append(errs, fmt.Errorf("--memory %s is too small for --page %s: at least %s (%d pages)",
			o.Memory, o.Page, least, minPagesMemory))
	}
	if o.Segment < o.Page {
		errs = append(errs, fmt.Errorf("--segment %s is too small for --page %s: at least %s", o.Segment, o.Page, o.Page))
	}
	if least := 2 * o.CommitPage; o.CommitMemory < least {
		errs = append(errs, fmt.Errorf("--aof-memory %s is too small for --aof-page-size %s: at least %s (2 pages)",
			o.CommitMemory, o.CommitPage, least))
	}
	if o.IndexMax != 0 && o.IndexMax < o.Index {
		errs = append(errs, fmt.Errorf("--index-max-size %s is too small for --index %s: at least %s",
			o.IndexMax, o.Index, o.Index))
	}
	return errors.Join(errs...)
}

// checkPowerOfTwo checks one size against its bounds and its shape.
func checkPowerOfTwo(name string, size, least, most Size) error {
	switch {
	case size < least:
		return fmt.Errorf("--%s %s is too small: at least %s", name, size, least)
	case size > most:
		return fmt.Errorf("--%s %s is too large: at most %s", name, size, most)
	case !size.isPowerOfTwo():
		below := size.floorPowerOfTwo()
		return fmt.Errorf("--%s %s is not a power of two: %s or %s", name, size, below, min(2*below, most))
	}
	return nil
}

// validateStorage checks what the storage tier and its device need.
func (o Options) validateStorage() error {
	var errs []error
	if o.LogDir != "" && !o.StorageTier.IsOn() {
		errs = append(errs, fmt.Errorf("--logdir %s needs --storage-tier", o.LogDir))
	}
	if o.MaxDisk != 0 && !o.StorageTier.IsOn() {
		errs = append(errs, fmt.Errorf("--maxdisk %s needs --storage-tier", o.MaxDisk))
	} else if o.MaxDisk != 0 && o.MaxDisk < o.Page {
		errs = append(errs, fmt.Errorf("--maxdisk %s is too small for --page %s: at least %s", o.MaxDisk, o.Page, o.Page))
	}
	if o.SavePoints != "" && !o.CanSave() {
		errs = append(errs, fmt.Errorf("--save %s does not go with --device-type %s: it keeps nothing for the next start", o.SavePoints, o.DeviceType))
	}
	if o.DeviceBackend != device.BackendDefault && o.DeviceType != device.Native {
		errs = append(errs, fmt.Errorf("--device-io-backend %s does not go with --device-type %s: it needs Native",
			o.DeviceBackend, o.DeviceType))
	}
	if o.DeviceThrottle > 0 && o.DeviceThrottle < o.DeviceContexts {
		errs = append(errs, fmt.Errorf("--device-throttle-limit %d is too small for --device-io-contexts %d: at least %d",
			o.DeviceThrottle, o.DeviceContexts, o.DeviceContexts))
	}
	capacity := o.DeviceContexts * o.DeviceQueueDepth
	if capacity > 0 && o.DeviceThrottle > capacity {
		errs = append(errs, fmt.Errorf(
			"--device-throttle-limit %d is too large for --device-io-contexts %d × --device-queue-depth %d: at most %d",
			o.DeviceThrottle, o.DeviceContexts, o.DeviceQueueDepth, capacity))
	}
	return errors.Join(errs...)
}

// validateTLS checks what TLS needs. Whether the files are any good is seen when they are read.
func (o Options) validateTLS() error {
	asked := "--tls"
	if !o.TLS.IsOn() {
		asked = fmt.Sprintf("--tls-port %d", o.TLSPort)
	}
	var errs []error
	if o.SpeaksTLS() && o.CertFile == "" {
		errs = append(errs, fmt.Errorf("%s needs --tls-cert-file", asked))
	}
	if o.SpeaksTLS() && o.AuthClients != AuthNo && o.CAFile == "" && o.CADir == "" {
		errs = append(errs, fmt.Errorf("%s with --tls-auth-clients %s needs --tls-ca-cert-file or --tls-ca-cert-dir; --tls-auth-clients no asks clients for no certificate",
			asked, o.AuthClients))
	}
	if o.TLSPort != 0 && o.TLSPort == o.Port {
		errs = append(errs, fmt.Errorf("--tls-port %d is --port too: give --port 0 for TLS alone", o.TLSPort))
	}
	if _, _, err := certificate.ParseProtocols(o.Protocols); err != nil {
		errs = append(errs, fmt.Errorf("--tls-protocols: %w", err))
	}
	if _, err := certificate.ParseCiphers(o.Ciphers); err != nil {
		errs = append(errs, fmt.Errorf("--tls-ciphers: %w", err))
	}
	return errors.Join(errs...)
}
