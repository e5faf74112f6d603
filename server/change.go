package server

// Options that change while the server runs.

import (
	"time"

	"github.com/pyropedb/pyrope/server/config"
)

// change is what CONFIG SET does: assign changes options, whose texts are checked already; they are put to use
// together, or an error says why not and all stays as it was.
func (s *Server) change(assign func(*config.Options)) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	before := s.state.Server.Current()
	after := *before
	assign(&after)
	after, _, err := config.Resolve(after, 0)
	if err != nil {
		return err
	}
	if err := s.checkMemory(&after); err != nil {
		return err
	}
	if s.certificates != nil && certificateOptions(&after) != certificateOptions(before) {
		if err := s.certificates.Set(certificateOptions(&after)); err != nil {
			s.log.Error("TLS options are refused", "cause", err)
			return err
		}
		s.describeCertificate("CONFIG SET")
	}
	s.state.Server.SetCurrent(after)
	s.handler.use(&after)
	s.saver.refuseWrites()
	s.changeMemory(before, &after)
	listening := s.listening()
	if listening == nil {
		return nil
	}
	listening.SetInputHardBytes(int(after.QueryBufferLimit))
	listening.SetIntakeBytes(intakeBytes(after.Memory))
	if after.TCPKeepAlive == before.TCPKeepAlive {
		return nil
	}
	return listening.SetKeepAlive(keepAliveOf(&after))
}

// keepAliveOf is the idle time before a peer is probed; less than 0 for never.
func keepAliveOf(o *config.Options) time.Duration {
	if o.TCPKeepAlive.Value == 0 {
		return -1
	}
	return time.Duration(o.TCPKeepAlive.Value) * time.Second
}
