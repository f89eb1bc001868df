"""HTTP servers: checks, jobs, guard proxy, and pages."""
