"""LUQ-pair: sentences of a long answer matched with sentences of the samples."""

from __future__ import annotations

from typing import Literal

import numpy as np

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score, Unit
from veridical.core.stated import stated_sentences, stated_source_sentences
from veridical.engine.greedy_matching import f1
from veridical.scorers.consistency.luq import Aggregate, Measure, measured
from veridical.scorers.consistency.sentence_matches import SourceSentences

#: NLI's, or how alike two sentences are by their embeddings or by BERTScore.
Match = Measure | Literal["cosine", "bert_score"]
_COSTS: dict[Match, Cost] = {"cosine": "embed", "bert_score": "tokens"}


def _costs(measure: Match, **_: object) -> set[Cost]:
    return {_COSTS.get(measure, "nli")}


@scorer(
    "matched_unit",
    level="sentence",
    needs={"samples"},
    source="Zhang 2024 (LUQ-pair); UQLM 0.6 (matched-unit)",
    cost="nli",
    version=3,
    uses={"embed", "tokens"},
    costs_by=_costs,
    raw_is="confidence",
    presets={"all"},
)
async def matched_unit(
    record: Record,
    evidence: Evidence,
    *,
    measure: Match = "contrasted_entailment",
    aggregate: Aggregate = "mean",
) -> Score:
    """Mean over samples of the best support of a sentence by a sentence of the sample.

    ``mean_j max_s measure(premise s of sample j, hypothesis)``; parameters, ``raw`` and risk are
    those of ``luq``. With ``noncontradiction`` any sentence about something else is a good match,
    so that it tells little. Two further measures compare the sentences as they are written, as the
    UQLM package does: ``cosine`` is ``0.5 + cos / 2`` of embeddings, ``bert_score`` the F1.

    A sentence's evidence shows the matching sentences of the samples that support it best, with
    the measure as probability.
    """
    sentences = record.need_sentences()
    sources = record.against("samples")
    split = [x.sentences() for x in sources]
    hypotheses, texts = [s.text for s in sentences], [[s.text for s in part] for part in split]
    if measure not in _COSTS:
        hypotheses = stated_sentences(record, sentences)
        texts = [
            stated_source_sentences(record, evidence, x, spans)
            for x, spans in zip(sources, split, strict=True)
        ]
    candidates = SourceSentences(sources, split, texts)
    support = await _support(evidence, hypotheses, candidates.distinct, measure)
    best, where = candidates.best(support)
    raw = best.mean(axis=1)
    units = []
    for i, sentence in enumerate(sentences):
        items = candidates.nearest(best[i], where[i])
        units.append(Unit.of(sentence, 1 - float(raw[i]), raw=float(raw[i]), evidence=items))
    value = float(raw.mean() if aggregate == "mean" else raw.min())
    return Score.of(1 - value, raw=value, units=units)


async def _support(
    evidence: Evidence, hypotheses: list[str], candidates: list[str], measure: Match
) -> Floats:
    """(hypotheses, candidates) how well each candidate supports each hypothesis, in [0, 1]."""
    if measure == "cosine":
        vectors = (await evidence.embed([*hypotheses, *candidates])).astype(np.float64)
        cosines = vectors[: len(hypotheses)] @ vectors[len(hypotheses) :].T
        return np.asarray(0.5 + np.clip(cosines, -1, 1) / 2, dtype=np.float64)
    if measure == "bert_score":
        return np.clip(f1(*await evidence.bertscore(hypotheses, candidates)), 0, 1)
    pairs = [(p, h) for h in hypotheses for p in candidates]
    return measured(await evidence.nli(pairs), measure).reshape(len(hypotheses), -1)
