"""Nouns: records, scores, the registry of scorers, and the Evidence that they ask."""
