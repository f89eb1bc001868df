"""Models compared by the claims of their answers to the same prompts.

``from veridical_lab.rank import rank``.
"""

from __future__ import annotations

from veridical_lab.rank.ranking import rank
from veridical_lab.rank.result import Ranking

__all__ = ["Ranking", "rank"]
