package tsavorite

import (
	"fmt"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
)

// CheckCheckpoints verifies every byte of the checkpoints in a directory, which no store uses meanwhile, and hands each, newest
// first, to visit with what is wrong with it: its number alone if not even the manifest can be read. pages is the device of the
// store's log; nil leaves out the pages that lie there. The error is one of looking at all.
func CheckCheckpoints(directory string, pages device.Device, visit func(info CheckpointInfo, problem error)) error {
	files := checkpoint.System{}
	published, _, err := checkpoint.List(files, directory)
	if err != nil {
		return fmt.Errorf("tsavorite: %w", err)
	}
	for _, n := range published {
		m, err := checkpoint.Load(files, directory, n)
		if err != nil {
			visit(CheckpointInfo{Number: n}, damaged(err))
			continue
		}
		r := Recovery{options: RecoverOptions{Directory: directory, files: files}, manifest: m}
		if err = r.checkFiles(); err == nil && !m.Snapshot && pages != nil {
			err = r.checkPages(pages)
		}
		if err != nil {
			err = damaged(err)
		}
		visit(infoOf(m), err)
	}
	return nil
}

// checkFiles reads the checkpoint's own files.
func (r *Recovery) checkFiles() error {
	kind := checkpoint.Sums
	if r.manifest.Snapshot {
		kind = checkpoint.Pages
	}
	for _, kind := range []checkpoint.FileKind{checkpoint.Index, kind} {
		path := checkpoint.FilePath(r.options.Directory, r.manifest.Number, kind)
		if err := checkpoint.Verify(r.options.files, path, r.manifest.ID, kind); err != nil {
			return err
		}
	}
	return nil
}

// checkPages compares the log's pages on the device with their checksums.
func (r *Recovery) checkPages(pages device.Device) (err error) {
	m := r.manifest
	if err := r.readSums(int((m.Tail + m.PageBytes - 1 - r.firstPage()) / m.PageBytes)); err != nil {
		return err
	}
	if r.queue, err = pages.NewQueue(); err != nil {
		return err
	}
	defer func() { _ = r.queue.Close() }()
	if r.buffer, err = aligned.Map(int(m.PageBytes)); err != nil {
		return err
	}
	defer func() { _ = aligned.Unmap(r.buffer) }()
	r.device = pages.Info()
	for page := r.firstPage(); page < m.Tail; page += m.PageBytes {
		if err := r.transfer(device.OpRead, page, r.buffer); err != nil {
			return err
		}
		if err := r.verifyPage(page, r.buffer); err != nil {
			return err
		}
	}
	return nil
}
