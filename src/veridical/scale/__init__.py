"""Sharded runs: planned once, scored by several processes, merged."""
