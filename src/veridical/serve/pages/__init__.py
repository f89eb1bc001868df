"""Pages of runs and reviews, for people at this computer."""
