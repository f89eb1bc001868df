"""Fine-tuning of claim checkers and span detectors."""
