"""A run: its options, what it reads, and what it will ask, counted on its own code path."""
