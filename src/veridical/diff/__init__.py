"""Comparison of two runs: differences, their size, and changed records."""

from veridical.diff.comparing import diff
from veridical.diff.result import Diff

__all__ = ["Diff", "diff"]
