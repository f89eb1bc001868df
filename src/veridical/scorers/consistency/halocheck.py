"""HaloCheck: mutual entailment of all answers (Elaraby et al. 2023)."""

from __future__ import annotations

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.stated import stated_sentences, stated_source_sentences


@scorer(
    "halocheck",
    level="response",
    needs={"samples"},
    source="Elaraby 2023; Laban 2022 (SummaC-ZS)",
    cost="nli",
    version=3,
    raw_is="confidence",
)
async def halocheck(record: Record, evidence: Evidence) -> Score:
    """Compute the mean SummaC-ZS of all ordered pairs of response and samples.

    ``ZS(A, B)`` is the mean over sentences b of B of ``max_a e(a, b) - max_a c(a, b)`` over the
    sentences a of A, which is the premise. ``raw`` is the mean over pairs of different answers, in
    [-1, 1] (confidence); ``risk = (1 - raw) / 2``.

    The published code takes each unordered pair once, with the earlier answer as premise, so its
    value depends on the order of the samples. This scorer uses both orders. The published code also
    drops sentences of at most 10 characters and judges samples alone. This scorer keeps them and
    includes the response as one of the answers.

    The cost grows with the square of the number of sentences in all answers. It is m (m + 1) s^2
    pairs for m samples of s sentences, the most of all scorers. ``summac_zs(against=samples)``
    computes the same measure for the response's sentences alone, with m s^2 pairs.

    Raises:
        NotApplicable: the response is blank, no sample has a text, or the NLI model has no
            contradiction class.
    """
    texts = [stated_sentences(record, record.need_sentences())]
    texts += [
        stated_source_sentences(record, evidence, x, x.sentences())
        for x in record.against("samples")
    ]
    distinct = list(dict.fromkeys(t for sentences in texts for t in sentences))
    row = {text: i for i, text in enumerate(distinct)}
    members = [np.array([row[t] for t in sentences]) for sentences in texts]
    answers = range(len(members))
    pairs = [(a, b) for a in answers for b in answers if a != b]
    needed = np.zeros((len(distinct), len(distinct)), bool)
    for a, b in pairs:
        needed[np.ix_(members[a], members[b])] = True
    premises, hypotheses = np.nonzero(needed)
    verdicts = await evidence.nli(
        [
            (distinct[i], distinct[j])
            for i, j in zip(premises.tolist(), hypotheses.tolist(), strict=True)
        ]
    )
    entailment = np.zeros(needed.shape)
    contradiction = np.zeros(needed.shape)
    entailment[needed] = verdicts.entailment
    contradiction[needed] = verdicts.contradiction
    values = []
    for a, b in pairs:
        at = np.ix_(members[a], members[b])
        values.append((entailment[at].max(axis=0) - contradiction[at].max(axis=0)).mean())
    raw = float(np.mean(values))
    return Score.of(min(1.0, max(0.0, (1 - raw) / 2)), raw=raw)
