"""Reports of runs for humans."""
