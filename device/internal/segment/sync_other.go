//go:build !linux

package segment

import "os"

func syncFile(file *os.File) error { return file.Sync() }

// noAccessTime is a flag that only Linux has.
const noAccessTime = 0
