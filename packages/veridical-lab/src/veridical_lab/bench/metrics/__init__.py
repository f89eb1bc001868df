"""Figures of benchmarks: agreement of raters, spans found."""
