"""Local web pages of runs and reviews."""
