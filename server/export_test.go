package server

import "time"

// SetPatience replaces closePatience; it comes before Start.
func (s *Server) SetPatience(patience time.Duration) { s.patience = patience }
