"""Statistics, each once: metrics, resampling, tests, thresholds, calibration, conformal bounds."""
