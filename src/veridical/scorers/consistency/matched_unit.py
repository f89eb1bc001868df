"""LUQ-pair: sentences of a long answer matched with sentences of the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veridical.records import Record
from veridical.registry import scorer
from veridical.scorers.consistency.luq import Aggregate, Measure, measured
from veridical.scores import SHOWN, EvidenceItem, Score, Unit

if TYPE_CHECKING:
    from veridical.evidence import Evidence


@scorer(
    "matched_unit",
    level="sentence",
    needs={"samples"},
    source="Zhang 2024 (LUQ-pair); UQLM 0.6 (matched-unit)",
    cost="nli",
    raw_is="confidence",
    presets={"auto"},
)
async def matched_unit(
    record: Record,
    evidence: Evidence,
    *,
    measure: Measure = "contrasted_entailment",
    aggregate: Aggregate = "mean",
) -> Score:
    """Mean over samples of the best support of a sentence by a sentence of the sample.

    ``mean_j max_s measure(premise s of sample j, hypothesis)``; parameters, ``raw`` and risk are
    those of ``luq``. With ``noncontradiction`` any sentence about something else is a good match,
    so that it tells little. A sentence's evidence shows the matching sentences of the samples
    that support it best, with the measure as probability.
    """
    sentences = record.need_sentences()
    sources = record.against("samples")
    split = [x.sentences() for x in sources]
    distinct = list(dict.fromkeys(s.text for spans in split for s in spans))
    column = {text: i for i, text in enumerate(distinct)}
    verdicts = await evidence.nli([(p, s.text) for s in sentences for p in distinct])
    support = measured(verdicts, measure).reshape(len(sentences), len(distinct))
    best = np.empty((len(sentences), len(sources)))
    where = np.empty(best.shape, np.int64)
    for n, spans in enumerate(split):
        of_sample = support[:, [column[s.text] for s in spans]]
        where[:, n] = of_sample.argmax(axis=1)
        best[:, n] = of_sample.max(axis=1)
    raw = best.mean(axis=1)
    units = []
    for i, sentence in enumerate(sentences):
        shown = []
        for n in np.argsort(-best[i], kind="stable")[:SHOWN]:
            span = split[n][where[i, n]]
            shown.append(EvidenceItem.at(sources[n], span.start, span.end, float(best[i, n])))
        units.append(Unit.of(sentence, 1 - float(raw[i]), raw=float(raw[i]), evidence=shown))
    value = float(raw.mean() if aggregate == "mean" else raw.min())
    return Score.of(1 - value, raw=value, units=units)
