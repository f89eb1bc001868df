"""The evidence layer: every request of every scorer, computed once and in good batches.

It knows models, batches, the store and the run directory; it never knows a scorer's name.
"""

from veridical.evidence.evidence import Evidence

__all__ = ["Evidence"]
