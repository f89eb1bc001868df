"""Benchmarks, rankings, studies and trainers of veridical."""
