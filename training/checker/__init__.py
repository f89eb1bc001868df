"""Parts of ``checker_data.py``: training data for models that check a statement by a document."""
