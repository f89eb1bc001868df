"""Adapters to other tools, one per file, importing them lazily."""
