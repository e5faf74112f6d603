package device_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
)

func TestKindAndBackendReadFromText(t *testing.T) {
	for text, want := range map[string]device.Kind{
		"Default": device.Default, "native": device.Native, "RANDOMACCESS": device.RandomAccess,
		"FileStream": device.FileStream, "localMemory": device.LocalMemory, "Null": device.Null,
	} {
		var kind device.Kind
		if err := kind.UnmarshalText([]byte(text)); err != nil || kind != want {
			t.Errorf("%q is %v, %v; want %v", text, kind, err, want)
		}
		if !strings.EqualFold(kind.String(), text) {
			t.Errorf("%q is written %q", text, kind)
		}
	}
	for text, want := range map[string]device.Backend{"default": device.BackendDefault, "LIBAIO": device.Libaio, "Uring": device.Uring} {
		var backend device.Backend
		if err := backend.UnmarshalText([]byte(text)); err != nil || backend != want {
			t.Errorf("%q is %v, %v; want %v", text, backend, err, want)
		}
		if !strings.EqualFold(backend.String(), text) {
			t.Errorf("%q is written %q", text, backend)
		}
	}
	kind, backend := device.Null, device.Uring
	if err := kind.UnmarshalText([]byte("AzureStorage")); err == nil || !strings.Contains(err.Error(), "LocalMemory") || kind != device.Null {
		t.Errorf("AzureStorage: %v, %v; want an error that lists the kinds", kind, err)
	}
	if err := backend.UnmarshalText([]byte("spdk")); err == nil || !strings.Contains(err.Error(), "Libaio") || backend != device.Uring {
		t.Errorf("spdk: %v, %v; want an error that lists the backends", backend, err)
	}
}

func TestZeroOptionsAreValid(t *testing.T) {
	var o device.Options
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	full := o.WithDefaults()
	if full.Directory != "." || full.FileName != "hlog" || full.SegmentSizeBytes != 1<<30 {
		t.Errorf("the defaults are %+v", full)
	}
	if again := full.WithDefaults(); again != full {
		t.Errorf("defaults of defaults are %+v", again)
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	for want, o := range map[string]device.Options{
		`FileName is "a/b"`:                                           {FileName: "a/b"},
		"SegmentSizeBytes is 4097":                                    {SegmentSizeBytes: 4097},
		"SegmentSizeBytes is 2048":                                    {SegmentSizeBytes: 2048},
		"SegmentSizeBytes is 140737488":                               {SegmentSizeBytes: 1 << 47},
		"SectorSizeBytes is 3":                                        {SectorSizeBytes: 3},
		"SectorSizeBytes is -512":                                     {SectorSizeBytes: -512},
		"must not exceed SegmentSizeBytes (4096)":                     {SectorSizeBytes: 8192, SegmentSizeBytes: 4096},
		"CompletionThreads is 65":                                     {CompletionThreads: 65},
		"IOContexts is 4097":                                          {IOContexts: 4097},
		"QueueDepth is -1":                                            {QueueDepth: -1},
		"ThrottleLimit is 65537":                                      {ThrottleLimit: 65537},
		"ThrottleLimit is 3; it must be 0 or at least IOContexts (4)": {ThrottleLimit: 3, IOContexts: 4},
		"ThrottleLimit is 9; it must not exceed IOContexts × QueueDepth (2 ×": {ThrottleLimit: 9, IOContexts: 2, QueueDepth: 4},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", o, err, want)
		}
	}
	for _, o := range []device.Options{
		{ThrottleLimit: 8, IOContexts: 2, QueueDepth: 4}, {ThrottleLimit: 2, IOContexts: 2}, {SectorSizeBytes: 4096, SegmentSizeBytes: 4096},
	} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestCheckAlignment(t *testing.T) {
	buffers, area, err := aligned.Buffers(1, 1024, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	b := buffers[0]
	for _, r := range []device.Request{{Buffer: b}, {Address: 1536, Buffer: b[512:]}, {}} {
		if err := device.CheckAlignment(&r, 512); err != nil {
			t.Errorf("address %d, length %d: %v", r.Address, len(r.Buffer), err)
		}
	}
	for _, r := range []device.Request{{Address: 1, Buffer: b}, {Buffer: b[:511]}, {Buffer: b[8:520]}} {
		if err := device.CheckAlignment(&r, 512); !errors.Is(err, device.ErrUnaligned) {
			t.Errorf("address %d, length %d: %v", r.Address, len(r.Buffer), err)
		}
		if err := device.CheckAlignment(&r, 1); err != nil {
			t.Errorf("sector size 1: %v", err)
		}
	}
}

func TestErrorfNamesTheRequest(t *testing.T) {
	err := device.Errorf("file", &device.Request{Op: device.OpWrite, Address: 4096, Buffer: make([]byte, 17)}, io.ErrUnexpectedEOF)
	if want := "cannot write 17 bytes at address 4096 of the file device: unexpected EOF"; err.Error() != want || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the error is %q, want %q", err, want)
	}
	if device.OpRead.String() != "read" {
		t.Errorf("OpRead is written %q", device.OpRead)
	}
}
