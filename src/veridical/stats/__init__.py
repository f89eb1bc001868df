"""Metrics, resampling, tests, thresholds, calibration and conformal bounds."""
