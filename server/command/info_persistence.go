package command

import "time"

// infoPersistence writes what is known of the append-only file. There are no snapshots.
func infoPersistence(s *State, w *infoWriter) {
	since := s.Loading.Load()
	w.line("loading", flagOf(since != 0))
	w.line("async_loading", 0)
	w.line("rdb_changes_since_last_save", 0)
	w.line("rdb_bgsave_in_progress", 0)
	w.line("rdb_last_save_time", 0)
	w.line("rdb_last_bgsave_status", "ok")
	w.line("aof_enabled", flagOf(s.AppendOnly != nil))
	w.line("aof_rewrite_in_progress", 0)
	w.line("aof_rewrite_scheduled", 0)
	w.line("aof_last_rewrite_time_sec", -1)
	w.line("aof_current_rewrite_time_sec", -1)
	w.line("aof_last_bgrewrite_status", "ok")
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
	if since != 0 {
		infoLoading(s, w, since)
	}
}

// infoLoading writes how far the loading of the data set has come.
func infoLoading(s *State, w *infoWriter, since int64) {
	read, total := s.AppendOnly.Progress()
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
