"""From scores to decisions: ensembles, calibration, guarantees, policies and cascades."""
