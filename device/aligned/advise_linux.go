//go:build linux && !race

package aligned

import "golang.org/x/sys/unix"

func adviseHuge(memory []byte) { _ = unix.Madvise(memory, unix.MADV_HUGEPAGE) }

// discardPages drops private anonymous pages; the kernel hands out zeroed ones at the next touch.
func discardPages(pages []byte) {
	if unix.Madvise(pages, unix.MADV_DONTNEED) != nil {
		clear(pages)
	}
}
