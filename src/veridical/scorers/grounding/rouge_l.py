"""ROUGE-L by ``rouge-score``, with a tokenizer for every script."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.grounding._documents import documents, over_documents

#: Maximum cells of the library's table (response tokens times source tokens), about one second.
MAX_CELLS = 4_000_000

_WORD = re.compile(r"[^\W_]+")
#: Scripts without spaces, where each character is a token.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff])"
)


class UnicodeTokenizer:
    """A tokenizer into lower-case runs of letters and digits of any script.

    On ASCII text the tokens are exactly those of the library's own tokenizer, which drops every
    other character. In scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese) each
    character is a token.
    """

    def tokenize(self, text: str) -> list[str]:
        low = text.lower()
        return _WORD.findall(low if low.isascii() else _UNSPACED.sub(r" \1 ", low))


class _Ready:
    """A tokenizer that returns precomputed tokens to the library."""

    def tokenize(self, text: list[str]) -> list[str]:
        return text


@cache
def _library() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_Ready())


@scorer(
    "rouge_l",
    level="response",
    needs={"against"},
    source="Lin 2004, eqs. 2-4; rouge-score library",
    raw_is="confidence",
    presets={"all"},
)
async def rouge_l(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "reference",
    stat: Literal["f1", "recall", "precision"] = "f1",
) -> Score:
    """Compute ROUGE-L, the longest common subsequence of words of response and source.

    Computed by the ``rouge-score`` library (F with beta = 1, no stemming) on
    :class:`UnicodeTokenizer` tokens. Several contexts are joined; of several references the best
    counts; values of samples are averaged. ``raw`` is the chosen statistic, in [0, 1]; ``risk = 1 -
    raw``. Recall is relative to the source, precision to the response.

    Raises:
        NotApplicable: the response is blank or has no word, there is no source, or the table of
            response by source tokens exceeds :data:`MAX_CELLS`.
    """
    tokenize = UnicodeTokenizer().tokenize
    tokens = tokenize(record.need_answer())
    if not tokens:
        raise NotApplicable("the response has no words")
    index = {"precision": 0, "recall": 1, "f1": 2}[stat]

    def compare(text: str) -> float:
        target = tokenize(text)
        if len(tokens) * len(target) > MAX_CELLS:
            raise NotApplicable(
                f"too long for ROUGE-L: {len(tokens)} x {len(target)} words, over {MAX_CELLS} cells"
            )
        return float(_library().score(target, tokens)["rougeL"][index])

    docs = documents(record.against(against))
    value = over_documents(docs, [compare(d.text) for d in docs])
    return Score.of(1 - value, raw=value)
