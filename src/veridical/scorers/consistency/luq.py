"""LUQ: sentences of a long answer judged by whole samples (Zhang et al. 2024)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.core.stated import stated_sentences, stated_source
from veridical.core.verdicts import Verdicts
from veridical.scorers.most_about import sentence_most_about

Measure = Literal["contrasted_entailment", "entailment", "noncontradiction"]
Aggregate = Literal["mean", "min"]


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
    """Mean over samples of how well each sample (premise) supports a sentence (hypothesis).

    A short answer or sample is judged with its question, as a statement.

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
    premises = [stated_source(record, evidence, x) for x in sources]
    verdicts = await evidence.nli(
        [(p, text) for text in stated_sentences(record, sentences) for p in premises]
    )
    support = measured(verdicts, measure).reshape(len(sentences), len(sources))
    raw = support.mean(axis=1)
    units = [
        Unit.of(
            sentence,
            1 - float(raw[i]),
            raw=float(raw[i]),
            evidence=[
                sentence_most_about(evidence, sentence.text, sources[n], float(support[i, n]))
                for n in np.argsort(support[i], kind="stable")[:SHOWN]
            ],
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
