"""LUQ and LUQ-pair: sentences judged by the samples (Zhang et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from veridical.arrays import Floats, Matrix
from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.registry import Cost, scorer
from veridical.core.scores import SHOWN, EvidenceItem, Level, Score, Unit
from veridical.core.stated import stated_sentences, stated_source, stated_source_sentences
from veridical.core.verdicts import Verdicts
from veridical.engine.greedy_matching import f1
from veridical.scorers._most_about import sentence_most_about
from veridical.scorers.consistency._sentence_matches import SourceSentences
from veridical.text.spans import Span

Measure = Literal["contrasted_entailment", "entailment", "noncontradiction"]
Aggregate = Literal["mean", "min"]
#: Measures by NLI, and similarities of sentences by embeddings or BERTScore.
Match = Measure | Literal["cosine", "bert_score"]
_COSTS: dict[Match, Cost] = {"cosine": "embed", "bert_score": "tokens"}


def _costs(measure: Match, **_: object) -> set[Cost]:
    return {_COSTS.get(measure, "nli")}


@scorer(
    "luq",
    level="sentence",
    needs={"samples"},
    source="Zhang 2024 (LUQ); UQLM 0.6 (unit-response)",
    cost="nli",
    version=3,
    raw_is="confidence",
    presets={"all"},
)
async def luq(
    record: Record,
    evidence: Evidence,
    *,
    measure: Measure = "contrasted_entailment",
    aggregate: Aggregate = "mean",
) -> Score:
    """Compute the mean support of a sentence (hypothesis) by each sample (premise).

    A short answer or sample is combined with its question into a statement.

    Args:
        measure: ``contrasted_entailment`` is ``e / (e + c)``, as in LUQ: entailment against
            contradiction without neutral (0.5 if both are 0). ``entailment`` is e and
            ``noncontradiction`` 1 - c, as the UQLM package has them.
        aggregate: the response's value is the mean over sentences, as published, or the minimum.

    ``raw`` is the confidence in [0, 1], of sentences and response; the risk is ``1 - raw``. LUQ's
    uncertainty of a prompt is the mean of this risk over all its answers. A sentence's evidence is
    the closest sentence of each of the samples that support it least, with the measure as
    probability.
    """
    sentences = record.need_sentences()
    sources = record.against("samples")
    premises = [stated_source(record, evidence, x) for x in sources]
    verdicts = await evidence.nli(
        [(p, text) for text in stated_sentences(record, sentences) for p in premises]
    )
    support = measured(verdicts, measure).reshape(len(sentences), len(sources))
    texts = [s.text for s in sentences]
    items = least_supporting(evidence, texts, sources, support)
    return of_units(sentences, support.mean(axis=1), items, aggregate)


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
    """Compute the mean over samples of a sentence's best support by a sentence of the sample.

    The formula is ``mean_j max_s measure(premise s of sample j, hypothesis)``; parameters, ``raw``
    and risk are those of ``luq``. ``noncontradiction`` discriminates poorly, as any unrelated
    sentence is a good match. Two further measures compare the sentences as they are written, as the
    UQLM package does: ``cosine`` is ``0.5 + cos / 2`` of embeddings, ``bert_score`` the F1.

    A sentence's evidence is the matching sentences of the samples that support it best, with the
    measure as probability.
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
    items = [candidates.nearest(*row) for row in zip(best, where, strict=True)]
    return of_units(sentences, best.mean(axis=1), items, aggregate)


async def _support(
    evidence: Evidence, hypotheses: list[str], candidates: list[str], measure: Match
) -> Floats:
    """Return the (hypotheses, candidates) support, in [0, 1], of each hypothesis by each
    candidate.
    """
    if measure == "cosine":
        vectors = (await evidence.embed([*hypotheses, *candidates])).astype(np.float64)
        cosines = vectors[: len(hypotheses)] @ vectors[len(hypotheses) :].T
        return np.asarray(0.5 + np.clip(cosines, -1, 1) / 2, dtype=np.float64)
    if measure == "bert_score":
        return np.clip(f1(*await evidence.bertscore(hypotheses, candidates)), 0, 1)
    pairs = [(p, h) for h in hypotheses for p in candidates]
    return measured(await evidence.nli(pairs), measure).reshape(len(hypotheses), -1)


def least_supporting(
    evidence: Evidence, texts: Sequence[str], sources: Sequence[Source], support: Matrix
) -> list[list[EvidenceItem]]:
    """Return, for each text, the closest sentence of up to 3 sources that support it least.

    The probability is the given (texts, sources) support.
    """
    return [
        [
            sentence_most_about(evidence, text, sources[n], float(row[n]))
            for n in np.argsort(row, kind="stable")[:SHOWN]
        ]
        for text, row in zip(texts, support, strict=True)
    ]


def of_units(
    spans: Sequence[Span],
    raws: Floats,
    items: Sequence[Sequence[EvidenceItem]],
    aggregate: Aggregate,
    level: Level = "sentence",
) -> Score:
    """Build the score of a response from its parts' confidences and evidence."""
    units = [
        Unit.of(span, 1 - raw, raw=raw, level=level, evidence=shown)
        for span, raw, shown in zip(spans, raws.tolist(), items, strict=True)
    ]
    value = float(raws.mean() if aggregate == "mean" else raws.min())
    return Score.of(1 - value, raw=value, units=units)


def measured(verdicts: Verdicts, measure: Measure) -> Floats:
    """Return the (n,) support of each pair, in [0, 1].

    Raises:
        NotApplicable: the measure needs a contradiction class, which the model lacks.
    """
    if measure == "entailment":
        return verdicts.entailment
    if measure == "noncontradiction":
        return 1 - verdicts.contradiction
    return verdicts.entailment_vs_contradiction()
