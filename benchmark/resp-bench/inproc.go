package main

import "errors"

// startEmbedded is not there yet.
func (b *bench) startEmbedded() (stop func(), err error) {
	return nil, errors.New("ClientType InProc not supported")
}
