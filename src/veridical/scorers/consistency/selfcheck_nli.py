"""SelfCheckGPT with NLI (Manakul et al. 2023, eq. 9-10)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from veridical.core.agreement import known_agreement
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.core.stated import stated_sentences, stated_source
from veridical.core.verdicts import Verdicts
from veridical.scorers._most_about import sentence_most_about
from veridical.scorers.consistency.pairwise_nli import Texts


@scorer(
    "selfcheck_nli",
    level="sentence",
    needs={"against"},
    source="Manakul 2023, eq. 9-10",
    cost="nli",
    version=4,
    raw_is="risk",
    added={"texts"},
    presets={"all", "auto"},
)
async def selfcheck_nli(
    record: Record,
    evidence: Evidence,
    *,
    order: Literal["paper", "code"] = "paper",
    against: Against = "samples",
    texts: Texts = "stated",
) -> Score:
    """Compute the mean probability over samples that a sample contradicts a sentence.

    The probability is normalised over contradiction and entailment, e^c / (e^c + e^e), without
    neutral.

    Args:
        order: ``paper`` takes the sample as premise and the sentence as hypothesis. ``code`` swaps
            them, as the published package and results do.
        against: source that the sentences are compared with. Values are averaged over samples; for
            several contexts or references the most supportive one counts, as one supporting source
            is enough.
        texts: ``stated`` combines a short answer, sample or reference with its question into a
            statement. If the notation decides whether a short answer equals a sample, the
            value is 0 or 1: numbers with units, dates, options, lists, JSON. ``plain`` judges
            all texts as they are, as published.

    A sentence's ``raw`` and risk are that probability, in [0, 1]. Its ``probabilities`` are the
    three classes' means over samples, and its label is the most probable class. Its evidence is the
    closest sentence of each of the (up to 3) most contradicting samples. For contexts and
    references, all three come from the source that counts. An evidence item's probability is the
    pair's contradiction as above. The response's ``raw`` and risk are the mean over sentences.

    Raises:
        NotApplicable: the response is blank, the record has no ``against`` field, or the NLI model
            has no contradiction class.
    """
    sentences = record.need_sentences()
    sources = record.against(against)
    plain = texts == "plain"
    premises = [x.text if plain else stated_source(record, evidence, x) for x in sources]
    judged = [s.text for s in sentences] if plain else stated_sentences(record, sentences)
    pairs = [(p, text) for text in judged for p in premises]
    verdicts = await evidence.nli(pairs if order == "paper" else [(h, p) for p, h in pairs])
    shape = (len(sentences), len(sources))
    contradiction = verdicts.contradiction_vs_entailment().reshape(shape)
    classes = verdicts.probabilities.reshape(*shape, 3)
    if len(sentences) == 1 and not plain:
        for n, same in enumerate(known_agreement(record, sources)):
            if same is not None:
                contradiction[:, n] = 1 - same
                classes[:, n] = (1, 0, 0) if same else (0, 0, 1)
    if against == "samples":
        raw, of_class = contradiction.mean(axis=1), classes.mean(axis=1)
        places = np.argsort(-contradiction, axis=1, kind="stable")[:, :SHOWN]
    else:
        places = contradiction.argmin(axis=1)[:, None]
        raw = np.take_along_axis(contradiction, places, axis=1)[:, 0]
        of_class = np.take_along_axis(classes, places[..., None], axis=1)[:, 0]
    means = Verdicts(of_class)
    labels = means.labels()
    units = [
        Unit.of(
            sentence,
            float(raw[i]),
            raw=float(raw[i]),
            label=labels[i],
            probabilities=means.as_dict(i),
            evidence=[
                sentence_most_about(evidence, sentence.text, sources[n], float(contradiction[i, n]))
                for n in places[i].tolist()
            ],
        )
        for i, sentence in enumerate(sentences)
    ]
    return Score.of(float(raw.mean()), units=units)
