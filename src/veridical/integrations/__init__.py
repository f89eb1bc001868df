"""Adapters to other tools, one a file; each imports the other package inside functions."""
