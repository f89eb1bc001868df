"""Weights of models: what may be fetched, where it lies, and how it comes here."""
