"""Retrieval of contexts: corpora, search services, and queries."""
