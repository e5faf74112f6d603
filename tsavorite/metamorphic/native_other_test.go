//go:build !linux

package metamorphic

import "github.com/pyropedb/pyrope/tsavorite"

// nativeConfigurations are the kernel's own asynchronous devices; here there are none.
func nativeConfigurations(_, _ tsavorite.Options) []configuration { return nil }
