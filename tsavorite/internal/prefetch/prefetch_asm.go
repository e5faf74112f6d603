//go:build amd64 || arm64

package prefetch

// Touch prefetches the lines at the first count places, and the lines offset bytes behind them when
// offset is not 0.
//
//go:noescape
func Touch(lines *Lines, count, offset int)
