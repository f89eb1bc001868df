"""Claim-conditioned probability (Fadeeva et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veridical.arrays import Floats
from veridical.claims.claim import Claim
from veridical.claims.extractors import ExtractorName
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.core.verdicts import Verdicts
from veridical.errors import NotApplicable
from veridical.scorers._claim_units import claim_costs, claim_prompts, claims_to_judge
from veridical.scorers.consistency.luq import Aggregate
from veridical.scorers.probability._readings import Condition, TokenReading, read_response
from veridical.scorers.probability._units import token_item, tokens_of
from veridical.scorers.probability.token_alternatives import Share, likeliest
from veridical.text.spans import Span
from veridical.text.words import content_spans

Context = Literal["sentence", "alone"]
_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(3)


def _costs(extractor: str, llm: str | None, **_: Any) -> set[Cost]:
    return claim_costs("ccp", extractor, llm, {"probabilities", "nli"})


@scorer(
    "ccp",
    level="claim",
    needs={"logprobs"},
    source="Fadeeva 2024 (CCP), eq. 6",
    cost="llm",
    uses={"probabilities", "nli", "tokens"},
    costs_by=_costs,
    prompts=claim_prompts,
    raw_is="confidence",
)
async def ccp(
    record: Record,
    evidence: Evidence,
    *,
    k: Annotated[int, Field(ge=2, le=100)] = 10,
    least: Share = 0.0,
    context: Context = "sentence",
    extractor: ExtractorName = "clauses",
    aggregate: Aggregate = "mean",
    llm: str | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Compute the probability of each claim's content among alternatives of the same kind.

    A model may be uncertain of the next word or the topic and still be certain of the fact. At each
    token of a content word an NLI model compares the k likeliest tokens with the chosen word, in
    both directions. The token's value is P(equivalent alternatives) / P(equivalent or contradicting
    alternatives); the chosen token counts as equivalent. Neutral alternatives differ in kind and do
    not count, nor do those that entail in one direction and contradict in the other. A claim's
    confidence is the product over its tokens. Function words and punctuation count as certain.

    Args:
        k: number of likeliest tokens to compare, including the chosen one.
        least: minimum probability of an alternative. A larger value saves NLI pairs and loses
            precision. 0 takes all, as published.
        context: compared texts: the ``sentence`` up to and including the word; or the words
            ``alone`` (the default of LM-Polygraph).
        extractor: splits the response into claims, as in ``claims``.
        aggregate: the response's value is the mean over claims, or the minimum.
        llm: endpoint of an extractor that calls an LLM; the run's default if None.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is in [0, 1] (confidence), of claims and response; ``risk = 1 - raw``. A claim without a
    content word has no risk. A claim's evidence is its (up to 3) tokens with the lowest values,
    with their probabilities.

    Raises:
        NotApplicable: the response is blank, declines to answer or makes no claim, or no claim has
            a content word. Or it has no log-probabilities and no proxy is named. Or the
            log-probabilities have no alternatives, or do not name their tokens. Or the NLI model
            has no contradiction class.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError, LlmError: a model failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    likeliest(reading.tokens, None)  # raises the reason
    if reading.tokens.top_text is None:
        raise NotApplicable("the log-probabilities do not name the tokens of the alternatives")
    claims = await claims_to_judge(record, evidence, extractor, llm)
    spans = [_places(claim) for claim in claims]
    words = [w for w in content_spans(reading.text) if any(_inside(w, s) for s in spans)]
    places = _compared(record, reading, words, k, least, context)
    if not places:
        raise NotApplicable("no claim has a content word")
    pairs = [pair for place in places for pair in place.pairs]
    verdicts = await evidence.nli(pairs + [(b, a) for a, b in pairs])
    logs = _log_values(len(reading.tokens), places, verdicts)
    return _scored(record, reading, claims, spans, logs, aggregate)


@dataclass(frozen=True, eq=False)
class _Place:
    """A token and its alternatives, as pairs of texts with the chosen word and each alternative."""

    token: int
    own: float
    logprobs: Floats
    pairs: list[tuple[str, str]]


def _places(claim: Claim) -> Sequence[tuple[int, int]]:
    return claim.parts or ((claim.start, claim.end),)


def _inside(word: Span, places: Sequence[tuple[int, int]]) -> bool:
    return any(start <= word.start and word.end <= end for start, end in places)


def _compared(
    record: Record,
    reading: TokenReading,
    words: Sequence[Span],
    k: int,
    least: float,
    context: Context,
) -> list[_Place]:
    tokens = reading.tokens
    assert tokens.top is not None and tokens.top_text is not None
    starts = [s.start for s in record.need_sentences()]
    places: dict[int, _Place] = {}
    for word in words:
        begin = max((s for s in starts if s <= word.start), default=0)
        for i in tokens_of(reading, word).tolist():
            at, end, own = int(tokens.starts[i]), int(tokens.ends[i]), float(tokens.logprobs[i])
            written = reading.text[at:end]
            logprobs, pairs = [], []
            listed = list(zip(tokens.top_text(i), tokens.top[i].tolist(), strict=False))[:k]
            for text, logprob in listed:
                if text.strip() in ("", written.strip()) or "\ufffd" in text:
                    continue  # the token itself, or not a comparable text
                if logprob < np.log(max(least, 1e-300)):
                    continue
                if context == "alone":
                    pairs.append((written.strip(), text.strip()))
                else:
                    spaced = at < end and not written[:1].isspace() and text[:1].isspace()
                    before = reading.text[begin:at]
                    before = before.rstrip() if spaced else before
                    pairs.append((reading.text[begin : word.end].strip(), (before + text).strip()))
                logprobs.append(logprob)
            places[i] = _Place(i, own, np.array(logprobs), pairs)
    return list(places.values())


def _log_values(n: int, places: Sequence[_Place], verdicts: Verdicts) -> Floats:
    """Return the (n,) logarithms of the tokens' values; NaN for tokens not compared."""
    verdicts.contradiction  # noqa: B018 - refuses a model without that class
    classes = verdicts.probabilities.argmax(axis=1)
    forward, backward = np.split(classes, 2)
    joined = joined_classes(forward, backward)
    logs: Floats = np.full(n, np.nan)
    at = 0
    for place in places:
        said = joined[at : at + len(place.pairs)]
        at += len(place.pairs)
        same = np.append(place.logprobs[said == _ENTAILMENT], place.own)
        other = place.logprobs[said == _CONTRADICTION]
        entailed = np.logaddexp.reduce(same)
        logs[place.token] = entailed - np.logaddexp.reduce(np.append(other, entailed))
    return logs


def joined_classes(forward: NDArray[np.int64], backward: NDArray[np.int64]) -> NDArray[np.int64]:
    """Merge the classes of both directions into (n,) classes.

    The result is entailment or contradiction if one direction gives that class and the other does
    not give the opposite; else neutral.
    """
    either = np.where(forward == _NEUTRAL, backward, forward)
    clash = (forward != backward) & (forward != _NEUTRAL) & (backward != _NEUTRAL)
    return np.where(clash, _NEUTRAL, either)


def _scored(
    record: Record,
    reading: TokenReading,
    claims: Sequence[Claim],
    spans: Sequence[Sequence[tuple[int, int]]],
    logs: Floats,
    aggregate: Aggregate,
) -> Score:
    units, raws = [], []
    for claim, places in zip(claims, spans, strict=True):
        span = claim.span(record.response)
        inside = np.unique(np.concatenate([tokens_of(reading, Span(a, b, "")) for a, b in places]))
        known = inside[~np.isnan(logs[inside])]
        if not len(known):
            units.append(Unit.of(span, None, level="claim"))
            continue
        raw = min(float(np.exp(logs[known].sum())), 1.0)
        raws.append(raw)
        lowest = known[np.argsort(logs[known], kind="stable")[:SHOWN]]
        evidence = [token_item(reading, int(i)) for i in lowest]
        units.append(Unit.of(span, 1 - raw, raw=raw, level="claim", evidence=evidence))
    if not raws:
        raise NotApplicable("no claim has a content word")
    value = float(np.mean(raws) if aggregate == "mean" else min(raws))
    return Score.of(1 - value, raw=value, units=units)
