"""Training data for models that check a statement by a document."""
