"""HTTP: checks, jobs, the guard of answers in flight, and the pages of runs and reviews."""
