"""Scorers: one file per method, named after its paper."""
