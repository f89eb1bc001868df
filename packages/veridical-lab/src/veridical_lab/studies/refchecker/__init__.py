"""The making of RefChecker's benchmark, and its studies (Hu et al. 2024, appendices A and D)."""
