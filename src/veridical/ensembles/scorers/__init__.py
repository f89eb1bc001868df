"""Scorers that combine scores."""
