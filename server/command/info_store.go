package command

// infoStore writes the engine's addresses, sizes and counters, and what its device is.
func infoStore(s *State, w *infoWriter) {
	store := s.Store.Info()
	options := &s.Server.Options
	for _, field := range []struct {
		name  string
		value uint64
	}{
		{"log_begin_address", store.BeginAddress},
		{"log_head_address", store.HeadAddress},
		{"log_flushed_until_address", store.FlushedUntilAddress},
		{"log_safe_read_only_address", store.SafeReadOnlyAddress},
		{"log_read_only_address", store.ReadOnlyAddress},
		{"log_tail_address", store.TailAddress},
		{"log_page_bytes", store.PageBytes},
		{"log_memory_bytes", store.MemoryBytes},
		{"log_resident_bytes", store.ResidentBytes},
		{"log_flushed_bytes", store.FlushedBytes},
		{"index_buckets", store.IndexBuckets},
		{"index_bytes", store.IndexBytes},
		{"index_overflow_buckets", store.OverflowBuckets},
		{"index_overflow_bytes", store.OverflowBytes},
		{"index_growths", store.IndexGrowths},
		{"engine_reads", store.Reads},
		{"engine_writes", store.Writes},
		{"pending_reads", store.PendingReads},
		{"device_reads", store.DeviceReads},
		{"log_device_bytes", store.DeviceBytes},
		{"maxdisk", store.MaxDeviceBytes},
		{"log_evicted_bytes", store.EvictedBytes},
		{"log_live_bytes", store.LiveBytes},
		{"log_dead_bytes", store.DeadBytes},
		{"compactions", store.Compactions},
		{"compaction_freed_bytes", store.CompactionFreed},
	} {
		w.line(field.name, field.value)
	}
	infoCompaction(w, store)
	w.line("large_strings_reaped", s.large.reaper.reaped.Load())
	w.line("chunks_reaped", s.large.reaper.deleted.Load())
	w.line("mutable_percent", options.MutablePercent)
	w.line("storage_tier", yesNo(options.StorageTier.IsOn()))
	kind := s.Server.Device.Kind
	if kind == "" {
		kind = "none"
	}
	w.line("device_kind", kind)
	w.line("device_reason", s.Server.Device.Reason)
	w.line("device_segment_bytes", s.Server.Device.SegmentSizeBytes)
	w.line("device_sector_bytes", s.Server.Device.SectorSizeBytes)
	w.line("device_in_flight_limit", s.Server.Device.InFlightLimit)
	w.line("device_rings", s.Server.Device.RingCount)
	w.line("device_error", store.FlushError)
}
