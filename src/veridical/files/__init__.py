"""Atomic, private and sealed files."""
