"""Exact match rate (Bouchard & Chauhan 2025, equation 4)."""

from __future__ import annotations

import re
import unicodedata

from veridical.core.answer_parts import AnswerPart, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalized(text: str) -> str:
    """Return ``text`` casefolded, without punctuation and English articles, single-spaced.

    A text with no other content (``"A"``, ``"+"``) is kept, so different answers never become equal
    by becoming empty.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(" " if unicodedata.category(c)[0] == "P" else c for c in folded)
    for candidate in (_ARTICLES.sub(" ", bare), bare, folded):
        collapsed = " ".join(candidate.split())
        if collapsed:
            return collapsed
    return ""


@scorer(
    "exact_match",
    level="response",
    needs={"against"},
    source="Bouchard & Chauhan 2025, eq. 4",
    cost="free",
    raw_is="confidence",
    added={"answer"},
    presets={"all", "fast"},
)
async def exact_match(
    record: Record,
    evidence: Evidence,
    *,
    normalize: bool = False,
    against: Against = "samples",
    answer: AnswerPart | None = None,
) -> Score:
    """Share of the samples that equal the response.

    Args:
        normalize: ignore case, white space, punctuation and English articles.
        against: source that the response is compared with.
        answer: compare a part of each text. ``regex:PATTERN`` is the first match, or its first
            group. ``number`` is the one after an answer marker such as "Answer:", else the last
            one. ``json:FIELD`` is the field in the first JSON object that has it; ``a.b`` is a
            path. A sample without the part counts as different.

    ``raw`` is that share, in [0, 1]; ``risk = 1 - raw``.

    Raises:
        NoAnswerPart: the part ``answer`` is missing from the response, or from every sample.
    """
    response, texts, _ = answer_parts(record, against, answer)
    if normalize:
        response = normalized(response)
        texts = [None if t is None else normalized(t) for t in texts]
    share = texts.count(response) / len(texts)
    return Score.of(1 - share, raw=share)
