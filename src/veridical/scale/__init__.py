"""Runs in shards: planned once, scored by several processes, merged into one run."""
