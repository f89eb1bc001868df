"""HTTP servers: checks, jobs, the guard proxy, and the pages of runs and reviews."""
