"""Scorers: one file per method, named after the paper or the field's term."""
