//go:build !linux

package segment

import "os"

func syncFile(file *os.File) error { return file.Sync() }
