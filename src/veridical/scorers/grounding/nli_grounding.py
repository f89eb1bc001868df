"""NLI grounding: entailment of each sentence by its sources."""

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
from veridical.core.stated import basis_key, unit_of_each
from veridical.core.verdicts import Verdicts
from veridical.errors import NotApplicable
from veridical.scorers._most_about import most_about_of
from veridical.scorers.grounding._source_windows import Windowed, decided_by, source_windows
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
    """Compute 1 - the probability that the best window of the sources entails a sentence.

    Sources are read in windows of whole sentences (about 1200 characters, overlapping by one
    sentence). Each relevant window judges a sentence twice: as a whole, and by each of its two
    sentences that share most words with it. The window's P(entailment) is the mean of the first
    value and the larger of the other two. A sentence takes the maximum over windows; windows that
    cannot be the maximum are skipped (see ``passage_verdicts``). P(contradiction) comes only from
    the window with most shared words (see ``MostAbout``), as other windows contradict nothing. It
    is 0 if that window has another topic (see ``same_matter``), and capped at 1 - P(entailment);
    neutral is the rest.

    Args:
        against: all contexts, or all references, are read as one source: one entailing window is
            enough. Each sample is a separate source, and their probabilities are averaged.
        risk: ``nonentailment``, or ``contradiction`` to count only what the sources contradict (not
            applicable if the model has no such class).
        top: number of full windows that judge a sentence, as an amount of text (8: about 9600
            characters). Windows are ranked by BM25; the closest one is always included. Shorter
            sources are read completely, and so are all sources for a sentence that shares no word
            with them. 0 reads every window for every sentence.

    A sentence in a language that the model does not support has no risk and the reason
    ``language``. The same holds if the model supports the language of no source. It also holds if
    some sources are unsupported and the others leave the sentence neutral.

    A short answer is combined with its question into a statement. Small talk ("Sure!") is not
    judged (see ``stating_sentences``).

    A sentence's ``raw`` is that risk, in [0, 1], and the response's the maximum over sentences. A
    sentence has the merged ``probabilities`` and the most probable class as ``label``. Its evidence
    is the closest sentence in the best window, with the label's probability by that window. For the
    label contradiction it is in the closest window.
    """
    gate = await language_gate(record, evidence)
    read = source_windows(record, evidence, against, top, gate)
    if not read.sentences:
        return gate.unread(read.unread)
    verdicts = await window_verdicts(read, evidence, top)
    if risk == "contradiction" and not verdicts.contradicts:
        raise NotApplicable("the NLI model has no class for contradiction")
    judged = read_rows(read.pairs(), verdicts)
    decided = evidence.once(basis_key(against, top), lambda: decided_by(read, verdicts))
    found = grounded_units(read, judged, evidence, risk)
    units = unit_of_each(record, [*found, *map(unread_unit, read.unread)])
    risks = [u.risk for u in units if u.risk is not None]
    if not risks:
        return gate.unread(read.sentences)
    largest = max(risks)
    by = [decided[u.start] for u in found if u.risk is not None]
    return Score.of(largest, raw=largest, units=units, decided=by)


async def window_verdicts(read: Windowed, evidence: Evidence, top: int) -> Verdicts:
    """Judge each pair of :meth:`~Windowed.pairs`; skippable pairs are skipped unless ``top`` is
    0.
    """
    pairs = read.pairs()
    alternatives = read.alternatives(pairs) if top else []
    return await passage_verdicts(evidence, pairs, alternatives=alternatives)


def read_rows(
    pairs: Sequence[tuple[str, str]], verdicts: Verdicts
) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the (3,) probabilities of the pairs that were judged."""
    rows = zip(pairs, verdicts.probabilities, strict=True)
    return {pair: row for pair, row in rows if not np.isnan(row).any()}


def grounded_units(
    read: Windowed,
    judged: Mapping[tuple[str, str], NDArray[np.float64]],
    evidence: Evidence,
    risk: str = "nonentailment",
) -> list[Unit]:
    """Build a unit for each sentence of ``read`` from the (3,) probabilities of its pairs."""
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
        if read.partly and label == _NEUTRAL:  # an unsupported source may state it
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
