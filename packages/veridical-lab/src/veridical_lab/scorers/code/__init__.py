"""Scorers of code, and how code is read."""
