"""The meta-evaluation of "The Mirage of Hallucination Detection" (Kulkarni et al. 2025)."""

from veridical.evaluate.study.alignment import alignment
from veridical.evaluate.study.factors import factors
from veridical.stats.famd import famd

__all__ = ["alignment", "factors", "famd"]
