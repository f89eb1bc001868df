"""Exact match rate (Bouchard & Chauhan 2025, equation 4)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from veridical.records import Against, Record
from veridical.registry import scorer
from veridical.scores import Score

if TYPE_CHECKING:
    from veridical.evidence import Evidence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalized(text: str) -> str:
    """``text`` casefolded, without punctuation and English articles, single-spaced.

    Text that consists of nothing else (``"A"``, ``"+"``) keeps what it has, so that different
    answers never become equal by becoming empty.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(" " if unicodedata.category(c)[0] == "P" else c for c in folded)
    for candidate in (_ARTICLES.sub(" ", bare), bare, folded):
        kept = " ".join(candidate.split())
        if kept:
            return kept
    return ""


@scorer(
    "exact_match",
    level="response",
    needs={"against"},
    source="Bouchard & Chauhan 2025, eq. 4",
    cost="free",
    raw_is="confidence",
    presets={"auto", "fast"},
)
async def exact_match(
    record: Record, evidence: Evidence, *, normalize: bool = False, against: Against = "samples"
) -> Score:
    """Share of the samples that equal the response.

    ``raw`` is that share, in [0, 1]; ``risk = 1 - raw``. With ``normalize``, texts are compared
    without regard to case, white space, punctuation and English articles.
    """
    response = record.need_response()
    texts = [s.text for s in record.against(against)]
    if normalize:
        response = normalized(response)
        texts = [normalized(t) for t in texts]
    share = texts.count(response) / len(texts)
    return Score.of(1 - share, raw=share)
