"""Benchmarks as text, Markdown and pages."""
