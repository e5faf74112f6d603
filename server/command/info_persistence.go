package command

import (
	"strings"
	"time"
)

// infoPersistence writes what is known of checkpoints, which stand for Redis's snapshots, and of the append-only file.
func infoPersistence(s *State, w *infoWriter) {
	since := s.Loading.Load()
	w.line("loading", flagOf(since != 0))
	w.line("async_loading", 0)
	infoSaves(s.saveStatus(), s.AppendOnly != nil, w)
	infoAppendOnly(s, w)
	infoVerify(s, w)
	if since != 0 {
		infoLoading(s, w, since)
	}
}

// infoVerify writes how far the pages are verified that the start has left cold.
func infoVerify(s *State, w *infoWriter) {
	status := s.Store.VerifyStatus()
	state := "running"
	switch {
	case status.TotalBytes == 0:
		state = "none"
	case status.VerifiedBytes >= status.TotalBytes:
		state = "done"
	case s.Server.Options.RecoverVerifyRate.Value == 0:
		state = "off"
	case status.Failed:
		state = "failed"
	}
	w.line("recover_verify_state", state)
	w.line("recover_verify_total_bytes", status.TotalBytes)
	w.line("recover_verify_verified_bytes", status.VerifiedBytes)
	w.line("recover_verify_damaged_pages", status.DamagedPages)
}

// infoAppendOnly writes how the append-only file stands.
func infoAppendOnly(s *State, w *infoWriter) {
	if s.AppendOnly == nil {
		w.line("aof_last_write_status", "ok")
		return
	}
	info := s.AppendOnly.Info()
	status := "ok"
	if info.Error != "" {
		status = "err"
	}
	w.line("aof_last_write_status", status)
	w.line("aof_current_size", info.Bytes)
	w.line("aof_base_size", 0)
	w.line("aof_pending_rewrite", 0)
	w.line("aof_buffer_length", info.BufferedBytes)
	w.line("aof_pending_bio_fsync", flagOf(info.Flushed > info.Committed))
	w.line("aof_delayed_fsync", 0)
	w.line("aof_begin_address", uint64(info.Begin))
	w.line("aof_committed_address", uint64(info.Committed))
	w.line("aof_tail_address", uint64(info.Tail))
	w.line("aof_commits", info.Syncs)
	w.line("aof_error", info.Error)
}

// infoSaves writes how checkpoints stand.
func infoSaves(status SaveStatus, hasAppendOnly bool, w *infoWriter) {
	current := int64(-1)
	if status.Running {
		current = int64(time.Since(status.Started) / time.Second)
	}
	saving, shortening := status.Running && !status.Shortening, status.Running && status.Shortening
	w.line("rdb_changes_since_last_save", status.Changes)
	w.line("rdb_bgsave_in_progress", flagOf(saving))
	w.line("rdb_last_save_time", status.LastSave.Unix())
	w.line("rdb_last_bgsave_status", statusOf(status.LastError))
	w.line("rdb_last_bgsave_time_sec", lastSeconds(status.LastDuration))
	w.line("rdb_current_bgsave_time_sec", onlyIf(saving, current))
	w.line("rdb_saves", status.Saves)
	w.line("rdb_last_bgsave_error", lineOf(status.LastError))
	w.line("aof_enabled", flagOf(hasAppendOnly))
	w.line("aof_rewrite_in_progress", flagOf(shortening))
	w.line("aof_rewrite_scheduled", flagOf(status.ShorteningWait))
	w.line("aof_last_rewrite_time_sec", lastSeconds(status.LastShortening))
	w.line("aof_current_rewrite_time_sec", onlyIf(shortening, current))
	w.line("aof_last_bgrewrite_status", statusOf(status.ShorteningErr))
	w.line("aof_rewrites", status.Shortenings)
}

// lastSeconds is a duration in whole seconds, -1 for none.
func lastSeconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return int64(d / time.Second)
}

// onlyIf is n if it applies, else -1.
func onlyIf(applies bool, n int64) int64 {
	if applies {
		return n
	}
	return -1
}

// statusOf is how INFO says that something went well, or did not.
func statusOf(err error) string {
	if err != nil {
		return "err"
	}
	return "ok"
}

// lineOf is an error in one line, empty for none.
func lineOf(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// infoLoading writes how far the loading of the data set has come.
func infoLoading(s *State, w *infoWriter, since int64) {
	read, total := s.LoadProgress()
	elapsed := max(time.Now().Unix()-since, 0)
	eta := int64(1)
	if read > 0 {
		eta = int64(float64(elapsed) * float64(total-min(read, total)) / float64(read))
	}
	w.line("loading_start_time", since)
	w.line("loading_total_bytes", total)
	w.line("loading_loaded_bytes", read)
	w.line("loading_loaded_perc", float64(read)/float64(max(total, 1))*100)
	w.line("loading_eta_seconds", eta)
}
