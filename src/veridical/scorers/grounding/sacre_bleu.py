"""Sentence BLEU by the ``sacrebleu`` library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import fmean
from typing import Any, Literal

import numpy as np

from veridical.arrays import Matrix
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable

#: Maximum characters of response and sources; n-gram tables of more would take gigabytes.
MAX_CHARACTERS = 2_000_000

Tokenize = Literal["13a", "intl", "char", "zh", "none"]


@cache
def _library(tokenize: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    library: Any = BLEU(tokenize=tokenize, effective_order=True)
    if tokenize == "zh":
        library.tokenizer = _ChineseTokenizer(library.tokenizer)
    return library


class _ChineseTokenizer:
    """The library's Chinese tokenizer in linear time.

    The original may copy the whole text at each character.
    """

    def __init__(self, library_tokenizer: Any) -> None:
        self._is_chinese = library_tokenizer._is_chinese_char
        self._post_tokenizer = library_tokenizer._post_tokenizer

    def __call__(self, line: str) -> str:
        spaced = "".join(f" {c} " if self._is_chinese(c) else c for c in line.strip())
        tokenized: str = self._post_tokenizer(spaced)
        return tokenized


@scorer(
    "sacrebleu",
    level="response",
    needs={"against"},
    source="Post 2018; Papineni 2002; sacrebleu library",
    raw_is="confidence",
    raw_key="bleu",
    presets={"all"},
)
async def sacrebleu(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "reference",
    tokenize: Tokenize = "13a",
) -> Score:
    """Compute the sentence BLEU of the response by the ``sacrebleu`` library.

    Effective order is used. ``raw["bleu"]`` is the library's score in [0, 100] and
    ``raw["signature"]`` the library's own signature, its version included; risk is ``1 - bleu /
    100``. Several references are BLEU's own multiple references; several contexts are joined;
    values of samples are averaged.

    Args:
        tokenize: a tokenizer of the library that needs no download: ``13a`` (mteval), ``intl``,
            ``char`` (for scripts without spaces), ``zh``, ``none``.

    Raises:
        NotApplicable: the response is blank, there is no source, or the texts exceed
            :data:`MAX_CHARACTERS`.
    """
    response = record.need_answer()
    sources = record.against(against)
    size = len(response) + sum(len(s.text) for s in sources)
    if size > MAX_CHARACTERS:
        raise NotApplicable(f"too long for BLEU: {size} characters (at most {MAX_CHARACTERS})")
    texts = [s.text for s in sources]
    if against == "contexts":
        texts = ["\n".join(texts)]
    library = _library(tokenize)
    groups = [[t] for t in texts] if against == "samples" else [texts]
    bleu = min(100.0, fmean(library.sentence_score(response, group).score for group in groups))
    signature = str(library.get_signature())
    _forget(library.tokenizer)
    return Score.of(1 - bleu / 100, raw={"bleu": bleu, "signature": signature})


def bleu_matrix(texts: Sequence[str]) -> Matrix:
    """Compute sentence BLEU of all pairs: (n, n) in [0, 1], 1 on the diagonal.

    The row's text is the hypothesis and the column's its reference.
    """
    library = _library("13a")
    scores = [[library.sentence_score(a, [b]).score / 100 for b in texts] for a in texts]
    _forget(library.tokenizer)
    matrix: Matrix = np.clip(np.array(scores), 0, 1)
    np.fill_diagonal(matrix, 1)
    return matrix


def _forget(tokenizer: Any) -> None:
    """Clear the library's caches, which would keep 65 536 texts in memory."""
    for part in (tokenizer, getattr(tokenizer, "_post_tokenizer", None)):
        clear = getattr(type(part).__call__, "cache_clear", None)
        if clear is not None:
            clear()
