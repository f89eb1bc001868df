"""Builder and studies of RefChecker's benchmark.

Hu et al. 2024, appendices A and D."""
