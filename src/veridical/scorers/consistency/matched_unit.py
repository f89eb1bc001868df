"""LUQ-pair: sentences of a long answer matched with sentences of the samples."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score, Unit
from veridical.core.stated import stated_sentences, stated_source_sentences
from veridical.scorers.consistency.luq import Aggregate, Measure, measured
from veridical.scorers.consistency.sentence_matches import SourceSentences


@scorer(
    "matched_unit",
    level="sentence",
    needs={"samples"},
    source="Zhang 2024 (LUQ-pair); UQLM 0.6 (matched-unit)",
    cost="nli",
    version=2,
    raw_is="confidence",
    presets={"all"},
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
    texts = [
        stated_source_sentences(record, evidence, x, spans)
        for x, spans in zip(sources, split, strict=True)
    ]
    candidates = SourceSentences(sources, split, texts)
    pairs = [(p, h) for h in stated_sentences(record, sentences) for p in candidates.distinct]
    support = measured(await evidence.nli(pairs), measure).reshape(len(sentences), -1)
    best, where = candidates.best(support)
    raw = best.mean(axis=1)
    units = []
    for i, sentence in enumerate(sentences):
        items = candidates.nearest(best[i], where[i])
        units.append(Unit.of(sentence, 1 - float(raw[i]), raw=float(raw[i]), evidence=items))
    value = float(raw.mean() if aggregate == "mean" else raw.min())
    return Score.of(1 - value, raw=value, units=units)
