"""The meta-evaluation of "The Mirage of Hallucination Detection" (Kulkarni et al. 2025)."""

from veridical.stats.famd import famd
from veridical_lab.bench.study.alignment import alignment
from veridical_lab.bench.study.factors import factors

__all__ = ["alignment", "factors", "famd"]
