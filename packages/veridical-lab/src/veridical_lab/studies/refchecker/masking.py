"""Test of a checker's reliance on the text.

Hu et al. 2024, appendix D.2.

The tail of a triplet (else its head) is masked with ``####`` wherever the contexts have it. A
checker that relies on the contexts then answers neutral; other labels rest on its own knowledge. In
the paper GPT-4 masks; here the words are found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from pydantic import BaseModel

from veridical.api import Job
from veridical.claims import checkers
from veridical.claims.triplets import FUNCTION_WORDS
from veridical.core.protocols import LABELS
from veridical.core.records import Context, Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import Result
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical.stats.paired import mean_interval
from veridical.stats.tables import STORED_MODEL
from veridical.text.words import word_spans
from veridical_lab.studies.refchecker.judged import (
    REPLICATES,
    JudgedClaim,
    JudgedClaims,
    Triplet,
    Watch,
    by_part,
    labelled,
    responses_of,
)

MASK = "####"
#: A claim, and its contexts masked.
Masked: TypeAlias = tuple[JudgedClaim, tuple[str, ...]]


class Shares(BaseModel):
    """Shares of the labels that a checker gave to ``n`` claims."""

    model_config = STORED_MODEL
    entailment: float
    neutral: float
    contradiction: float


class CheckerBias(BaseModel):
    """Labels of a checker on a part's claims with masked contexts.

    ``whole`` labels are before, and ``masked`` after masking. ``not_neutral`` is the share of
    masked claims whose label does not rest on the contexts, with its 95 % interval over responses.
    ``failed`` claims have no label.
    """

    model_config = STORED_MODEL
    part: str
    checker: str
    n: int
    whole: Shares
    masked: Shares
    not_neutral: float
    ci_low: float | None
    ci_high: float | None
    failed: int


class Bias(BaseModel):
    """Tables 14 to 16. ``left_out``: what has no figure, and how often."""

    model_config = STORED_MODEL
    left_out: dict[str, int]
    checkers: list[CheckerBias]


def masked(triplet: Triplet, contexts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the contexts with the claim masked; None if they have neither tail nor head.

    A part matches its words in sequence, ignoring case and function words at its ends. Without a
    match, each of its other words is masked separately.

    >>> masked(("Ada", "was born in", "London"), ["Ada was born in London in 1815."])
    ('Ada was born in #### in 1815.',)
    """
    for part in (triplet[2], triplet[0]):
        words = [part[s.start : s.end] for s in word_spans(part)]
        telling = [i for i, word in enumerate(words) if word.lower() not in FUNCTION_WORDS]
        if not telling:
            continue
        row = words[telling[0] : telling[-1] + 1]
        for pattern in (_row(tuple(row)), _any(tuple(words[i] for i in telling))):
            changed = tuple(pattern.sub(MASK, text) for text in contexts)
            if changed != tuple(contexts):
                return changed
    return None


@lru_cache(maxsize=256)
def _row(words: tuple[str, ...]) -> re.Pattern[str]:
    row = r"\W{1,3}".join(map(re.escape, words))
    return re.compile(rf"(?<!\w){row}(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=256)
def _any(words: tuple[str, ...]) -> re.Pattern[str]:
    each = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{each})(?!\w)", re.IGNORECASE)


def checkers_of(names: str) -> list[BoundScorer]:
    """Return the scorers that check one given claim, from names such as ``nli,llm``.

    Raises:
        UsageError: a checker is unknown.
    """
    listed = dict.fromkeys(name.strip() for name in names.split(",") if name.strip())
    if not listed:
        raise UsageError("name a checker of claims, such as nli")
    found = []
    for name in listed:
        checkers.costs_of(name)  # there is such a checker
        spec = f"claims(against=contexts,extractor=given,checker={name},merge=any)"
        (bound,) = REGISTRY.parse(spec)
        _ = bound.costs  # and it needs no more than its name
        found.append(bound)
    return found


def masked_claims(judged: JudgedClaims) -> tuple[list[Masked], dict[str, int]]:
    """Return the maskable claims with their masked contexts, and the omissions."""
    left_out = dict(judged.left_out)
    pairs: list[Masked] = []
    for claim in judged.claims:
        without = masked(claim.triplet, claim.contexts)
        if without is None:
            what = "claims whose contexts have neither tail nor head"
            left_out[what] = left_out.get(what, 0) + 1
        else:
            pairs.append((claim, without))
    return pairs, left_out


def masked_records(pairs: Sequence[Masked]) -> list[Record]:
    """Return two records per claim, with its contexts whole and masked."""
    return [
        _record(claim.triplet, contexts)
        for claim, without in pairs
        for contexts in (claim.contexts, without)
    ]


def bias(judged: JudgedClaims, asked: Sequence[BoundScorer], engine: Engine, watch: Watch) -> Bias:
    """Measure the labels of each checker on claims with whole and masked contexts."""
    pairs, left_out = masked_claims(judged)
    records = masked_records(pairs)
    if not records:
        return Bias(left_out=left_out, checkers=[])
    results = list(watch("masked contexts", Job(records, list(asked), engine=engine)))
    found = []
    places = {id(claim): 2 * i for i, (claim, _) in enumerate(pairs)}
    for part, claims in by_part([claim for claim, _ in pairs]).items():
        for bound in asked:
            labels = [
                (_label(results[at], bound), _label(results[at + 1], bound))
                for at in (places[id(claim)] for claim in claims)
            ]
            found += _bias(part, str(bound.values["checker"]), claims, labels)
    return Bias(left_out=left_out, checkers=found)


def _record(triplet: Triplet, contexts: Sequence[str]) -> Record:
    return Record(
        response=" ".join(triplet),
        contexts=tuple(Context(text=text) for text in contexts),
        meta={"claims": [list(triplet)]},
    )


def _label(result: Result, bound: BoundScorer) -> str | None:
    found = labelled(result.scores.get(bound.key))
    return found[0][1] if found else None


def _bias(
    part: str,
    checker: str,
    claims: Sequence[JudgedClaim],
    labels: Sequence[tuple[str | None, str | None]],
) -> list[CheckerBias]:
    """Return the result of a part and checker; empty if no claim has both labels."""
    both = [(c, w, m) for c, (w, m) in zip(claims, labels, strict=True) if w and m]
    if not both:
        return []
    whole, without = (
        Shares(**{name: sum(row[k] == name for row in both) / len(both) for name in LABELS})
        for k in (1, 2)
    )
    low, high = mean_interval(
        np.array([m != "neutral" for _, _, m in both], float),
        responses_of([claim for claim, _, _ in both]),
        replicates=REPLICATES,
        seed=0,
    )
    return [
        CheckerBias(
            part=part,
            checker=checker,
            n=len(both),
            whole=whole,
            masked=without,
            not_neutral=1 - without.neutral,
            ci_low=low,
            ci_high=high,
            failed=len(labels) - len(both),
        )
    ]
