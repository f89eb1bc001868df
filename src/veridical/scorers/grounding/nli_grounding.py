"""NLI grounding: does what the answer must rest on entail each of its sentences?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veridical.core.evidence import Evidence
from veridical.core.language_gate import language_gate, unread_unit
from veridical.core.passage_verdicts import best_and_about, passage_verdicts
from veridical.core.protocols import LABELS
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.core.stated import unit_of_each
from veridical.core.verdicts import Verdicts
from veridical.errors import NotApplicable
from veridical.scorers._most_about import most_about_of
from veridical.scorers.grounding._source_windows import Windowed, source_windows
from veridical.text.finding_kinds import finding_kind

_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(len(LABELS))


@scorer(
    "nli_grounding",
    level="sentence",
    judges=True,
    needs={"against"},
    source="Veridical: best window, after Laban 2022 and Honovich 2022 (TRUE)",
    cost="nli",
    version=7,
    raw_is="risk",
    presets={"all", "auto"},
)
async def nli_grounding(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    risk: Literal["nonentailment", "contradiction"] = "nonentailment",
    top: Annotated[int, Field(ge=0, le=1000)] = 8,
) -> Score:
    """1 - the probability that the best window of the contexts entails a sentence.

    Sources are read in windows of whole sentences (about 1200 characters, the last sentence of
    one beginning the next), and those that can matter to a sentence judge it: each as a whole, and
    by its two sentences that share most words with it, each alone. P(entailment) by a window is the
    mean of that by the whole and the larger of the two, and of a sentence the largest over windows;
    a window that cannot be the best is not read (see ``passage_verdicts``). P(contradiction) is
    that of the window most about the sentence, by words they share (see ``MostAbout``), as a window
    about something else contradicts nothing, and 0 if that one is not about the same matter (see
    ``same_matter``); it is capped at 1 - P(entailment), and neutral is the rest.

    Args:
        against: contexts are read as one source, and so are references: one window that entails
            a sentence is enough. Each sample is a source of its own, and the mean of their
            probabilities counts.
        risk: ``nonentailment``, or ``contradiction`` for what the sources speak against alone
            (not applicable to a model without that class).
        top: how many full windows judge a sentence: as many windows as hold that much text
            (8: about 9600 characters), the best by BM25, and always the one most about it.
            Sources no longer than that are read whole, and so are all for a sentence that shares
            no word with them. 0 reads every window for every sentence, whatever the others say.

    A sentence in a language that the model does not read has no risk, and its reason is
    ``language``; so has each where it reads none of the sources, and one that the sources it reads
    do not tell where it does not read all.

    A short answer is judged with its question, as a statement; small talk around it ("Sure!") is
    not judged (see ``stating_sentences``).

    A sentence's ``raw`` is that risk, in [0, 1], and the response's the largest over sentences.
    A sentence carries the merged ``probabilities``, the most probable class as ``label`` and, as
    evidence, the sentence most about it in the best window (for the label contradiction: in the
    window most about it) with the label's probability by that window.
    """
    gate = await language_gate(record, evidence)
    read = source_windows(record, evidence, against, top, gate)
    if not read.sentences:
        return gate.unread(read.unread)
    verdicts = await window_verdicts(read, evidence, top)
    if risk == "contradiction" and not verdicts.contradicts:
        raise NotApplicable("the NLI model has no class for contradiction")
    judged = read_rows(read.pairs(), verdicts)
    found = grounded_units(read, judged, evidence, risk)
    units = unit_of_each(record, [*found, *map(unread_unit, read.unread)])
    risks = [u.risk for u in units if u.risk is not None]
    if not risks:
        return gate.unread(read.sentences)
    largest = max(risks)
    return Score.of(largest, raw=largest, units=units)


async def window_verdicts(read: Windowed, evidence: Evidence, top: int) -> Verdicts:
    """Verdicts on each pair of :meth:`~Windowed.pairs`; those that need not be read are left unread
    unless ``top`` is 0."""
    pairs = read.pairs()
    alternatives = read.alternatives(pairs) if top else []
    return await passage_verdicts(evidence, pairs, alternatives=alternatives)


def read_rows(
    pairs: Sequence[tuple[str, str]], verdicts: Verdicts
) -> dict[tuple[str, str], NDArray[np.float64]]:
    """The (3,) probabilities of the pairs that were not left unread."""
    rows = zip(pairs, verdicts.probabilities, strict=True)
    return {pair: row for pair, row in rows if not np.isnan(row).any()}


def grounded_units(
    read: Windowed,
    judged: Mapping[tuple[str, str], NDArray[np.float64]],
    evidence: Evidence,
    risk: str = "nonentailment",
) -> list[Unit]:
    """A unit for each sentence of what was ``read``, as :func:`nli_grounding` makes it of the (3,)
    probabilities of the pairs of :meth:`~Windowed.pairs` that were judged."""
    units = []
    for i, sentence in enumerate(read.sentences):
        merged = []
        for r in read.readings[i]:
            places = [int(k) for k in r.read if read.pair(i, int(k)) in judged]
            table = np.array([judged[read.pair(i, k)] for k in places])
            of_group, best = best_and_about(table, places.index(r.about))
            merged.append((of_group, places[best], r.about))
        probabilities = np.mean([of_group for of_group, *_ in merged], axis=0)
        label = int(probabilities.argmax())
        merged.sort(key=lambda m: -m[0][label])
        items = []
        for _, best, about in merged[:SHOWN]:
            place = about if label == _CONTRADICTION else best
            window = read.windows[place]
            source = read.sources[window.source]
            spans = [(source, s) for s in window.passage.sentences]
            probability = float(judged[read.pair(i, place)][label])
            items.append(most_about_of(evidence, read.statements[i].text, spans, probability))
        if read.partly and label == _NEUTRAL:  # a source that is not read may say it
            units.append(unread_unit(sentence))
            continue
        e, c = probabilities[_ENTAILMENT], probabilities[_CONTRADICTION]
        flagged = label in (_NEUTRAL, _CONTRADICTION)
        texts = [s.text for s in read.sources]
        kind = finding_kind(sentence.text, label == _CONTRADICTION, texts) if flagged else None
        value = float(1 - e if risk == "nonentailment" else c)
        units.append(
            Unit.of(
                sentence,
                value,
                raw=value,
                label=LABELS[label],
                kind=kind,
                probabilities=dict(zip(LABELS, probabilities.tolist(), strict=True)),
                evidence=items,
            )
        )
    return units
