"""Core types: records, scores, the scorer registry and the Evidence interface."""
