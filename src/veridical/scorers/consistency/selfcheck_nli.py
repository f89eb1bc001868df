"""SelfCheckGPT with NLI (Manakul et al. 2023, eq. 9-10)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from veridical.evidence.verdicts import Verdicts
from veridical.records import Against, Record, Source, Span
from veridical.registry import scorer
from veridical.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.text.relevance import most_about

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.evidence import Evidence


@scorer(
    "selfcheck_nli",
    level="sentence",
    needs={"against"},
    source="Manakul 2023, eq. 9-10",
    cost="nli",
    raw_is="risk",
    presets={"auto"},
)
async def selfcheck_nli(
    record: Record,
    evidence: Evidence,
    *,
    order: Literal["paper", "code"] = "paper",
    against: Against = "samples",
) -> Score:
    """Mean over samples of the probability that a sample contradicts a sentence.

    The probability is of contradiction and entailment alone, e^c / (e^c + e^e), so that neutral
    does not count.

    Args:
        order: ``paper`` takes the sample as premise and the sentence as hypothesis; ``code`` the
            other way round, as the published package does and the published figures rest on.
        against: what the sentences are compared with. The mean is over samples; of several
            contexts or references the most supportive counts, as one that says it is enough.

    A sentence's ``raw`` and risk are that probability, in [0, 1]. Its ``probabilities`` are the
    three classes' means over samples, and its label the largest of them; its evidence is the
    sentence most about it of each of the (up to 3) most contradicting samples. Of contexts and
    references, all three are those of the one that counts. An evidence item's probability is the
    pair's contradiction as above. The response's ``raw`` and risk are the mean over sentences.

    Raises:
        NotApplicable: the response is blank, there is nothing to compare it with, or the NLI
            model has no class for contradiction.
    """
    sentences = record.need_sentences()
    sources = record.against(against)
    pairs = [(source.text, s.text) for s in sentences for source in sources]
    verdicts = await evidence.nli(pairs if order == "paper" else [(h, p) for p, h in pairs])
    shape = (len(sentences), len(sources))
    contradiction = verdicts.contradiction_vs_entailment().reshape(shape)
    classes = verdicts.probabilities.reshape(*shape, 3)
    if against == "samples":
        raw, of_class = contradiction.mean(axis=1), classes.mean(axis=1)
        shown = np.argsort(-contradiction, axis=1, kind="stable")[:, :SHOWN]
    else:
        shown = contradiction.argmin(axis=1)[:, None]
        raw = np.take_along_axis(contradiction, shown, axis=1)[:, 0]
        of_class = np.take_along_axis(classes, shown[..., None], axis=1)[:, 0]
    means = Verdicts(of_class)
    labels = means.labels()
    about = _sentence_finder(evidence)
    units = [
        Unit.of(
            sentence,
            float(raw[i]),
            raw=float(raw[i]),
            label=labels[i],
            probabilities=means.as_dict(i),
            evidence=[
                EvidenceItem.at(
                    sources[n], *about(sources[n], sentence.text), float(contradiction[i, n])
                )
                for n in shown[i].tolist()
            ],
        )
        for i, sentence in enumerate(sentences)
    ]
    return Score.of(float(raw.mean()), units=units)


def _sentence_finder(evidence: Evidence) -> Callable[[Source, str], tuple[int, int]]:
    """Finds where the sentence of a source that is most about a text begins and ends."""

    @cache
    def split(source: Source) -> tuple[list[Span], list[list[str]]]:
        spans = source.sentences()
        return spans, [evidence.words(s.text) for s in spans]

    def find(source: Source, text: str) -> tuple[int, int]:
        spans, words = split(source)
        span = spans[most_about(evidence.words(text), words)]
        return span.start, span.end

    return find
