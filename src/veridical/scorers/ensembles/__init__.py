"""Scores made of scores."""
