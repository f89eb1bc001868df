"""Models compared by the claims of their answers to the same prompts.

``from veridical.evaluate.rank import rank``.
"""

from __future__ import annotations

from veridical.evaluate.rank.ranking import rank
from veridical.evaluate.rank.result import Ranking

__all__ = ["Ranking", "rank"]
