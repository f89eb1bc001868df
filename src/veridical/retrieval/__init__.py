"""Sources that a record does not have: a corpus, a search service, and what is asked of them."""
