"""LUQ: sentences of a long answer judged by whole samples (Zhang et al. 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from veridical.records import Record, Source, Span
from veridical.registry import scorer
from veridical.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.text.relevance import most_about

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.evidence import Evidence
    from veridical.evidence.verdicts import Verdicts

Measure = Literal["contrasted_entailment", "entailment", "noncontradiction"]
Aggregate = Literal["mean", "min"]


@scorer(
    "luq",
    level="sentence",
    needs={"samples"},
    source="Zhang 2024 (LUQ); UQLM 0.6 (unit-response)",
    cost="nli",
    raw_is="confidence",
    presets={"auto"},
)
async def luq(
    record: Record,
    evidence: Evidence,
    *,
    measure: Measure = "contrasted_entailment",
    aggregate: Aggregate = "mean",
) -> Score:
    """Mean over samples of how well each sample (premise) supports a sentence (hypothesis).

    Args:
        measure: ``contrasted_entailment`` is ``e / (e + c)``, LUQ's: entailment against
            contradiction, neutral left out (0.5 where both are 0); ``entailment`` is e and
            ``noncontradiction`` 1 - c, as the UQLM package has them.
        aggregate: the response's value is the mean over sentences, as published, or the smallest.

    ``raw`` is the confidence in [0, 1], of sentences and response; the risk is ``1 - raw``. LUQ's
    uncertainty of a prompt is the mean of that risk over all its answers. A sentence's evidence
    shows the samples that support it least, each by its sentence most about it, with the measure
    as probability.
    """
    sentences = record.need_sentences()
    sources = record.against("samples")
    verdicts = await evidence.nli([(x.text, s.text) for s in sentences for x in sources])
    support = measured(verdicts, measure).reshape(len(sentences), len(sources))
    raw = support.mean(axis=1)
    split = [x.sentences() for x in sources]
    units = [
        Unit.of(
            sentence,
            1 - float(raw[i]),
            raw=float(raw[i]),
            evidence=_evidence(sentence, support[i], sources, split, evidence),
        )
        for i, sentence in enumerate(sentences)
    ]
    value = float(raw.mean() if aggregate == "mean" else raw.min())
    return Score.of(1 - value, raw=value, units=units)


def measured(verdicts: Verdicts, measure: Measure) -> NDArray[np.float64]:
    """(n,) support of each pair, in [0, 1].

    Raises:
        NotApplicable: the measure needs a class for contradiction that the model has not.
    """
    if measure == "entailment":
        return verdicts.entailment
    if measure == "noncontradiction":
        return 1 - verdicts.contradiction
    return verdicts.entailment_vs_contradiction()


def _evidence(
    sentence: Span,
    support: NDArray[np.float64],
    sources: list[Source],
    split: list[list[Span]],
    evidence: Evidence,
) -> list[EvidenceItem]:
    words = evidence.words(sentence.text)
    items = []
    for n in np.argsort(support, kind="stable")[:SHOWN]:
        span = split[n][most_about(words, [evidence.words(s.text) for s in split[n]])]
        items.append(EvidenceItem.at(sources[n], span.start, span.end, float(support[n])))
    return items
