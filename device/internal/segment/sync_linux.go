package segment

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFile makes data and size durable, but not the times.
func syncFile(file *os.File) error {
	for {
		if err := unix.Fdatasync(int(file.Fd())); err != unix.EINTR {
			return err
		}
	}
}

// noAccessTime keeps reads from looking after the file's time of last access.
const noAccessTime = unix.O_NOATIME
