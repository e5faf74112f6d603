package eventfd

import "golang.org/x/sys/unix"

// New returns a descriptor whose counter is zero, or -1 when the system is out of descriptors.
func New() int {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return -1
	}
	return fd
}

// Signal makes fd readable; to an epoll set that watches it edge triggered it is a new event each time.
func Signal(fd int) {
	one := [8]byte{1} // the counter is in the machine's byte order; its amount means nothing
	_, _ = unix.Write(fd, one[:])
}

// Close gives the descriptor back.
func Close(fd int) { _ = unix.Close(fd) }
