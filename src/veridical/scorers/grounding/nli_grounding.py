"""NLI grounding: does what the answer must rest on entail each of its sentences?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from veridical.errors import NotApplicable
from veridical.models.protocols import LABELS
from veridical.records import Against, Record
from veridical.registry import scorer
from veridical.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.text.passages import Passage
from veridical.text.passages import windows as text_windows
from veridical.text.relevance import most_about

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.evidence import Evidence

_ENTAILMENT, _, _CONTRADICTION = range(len(LABELS))


@scorer(
    "nli_grounding",
    level="sentence",
    needs={"against"},
    source="Veridical: best window, after Laban 2022 and Honovich 2022 (TRUE)",
    cost="nli",
    raw_is="risk",
    presets={"auto"},
)
async def nli_grounding(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    risk: Literal["nonentailment", "contradiction"] = "nonentailment",
) -> Score:
    """1 - the probability that the best window of the contexts entails a sentence.

    Sources are read in windows of whole sentences (about 1200 characters, the last sentence of
    one beginning the next) and every window judges every sentence. P(entailment) of a sentence is
    the largest over windows; P(contradiction) is that of the window most about the sentence, by
    words they share (see ``most_about``), as a window about something else contradicts nothing;
    it is capped at 1 - P(entailment), and neutral is the rest.

    Args:
        against: contexts are read as one source, and so are references: one window that entails
            a sentence is enough. Each sample is a source of its own, and the mean of their
            probabilities counts.
        risk: ``nonentailment``, or ``contradiction`` for what the sources speak against alone
            (not applicable to a model without that class).

    A sentence's ``raw`` is that risk, in [0, 1], and the response's the largest over sentences.
    A sentence carries the merged ``probabilities``, the most probable class as ``label`` and, as
    evidence, the sentence most about it in the best window (for the label contradiction: in the
    window most about it) with the label's probability there.
    """
    sentences = record.need_sentences()
    sources = record.against(against)
    windows = [_Window(n, p) for n, x in enumerate(sources) for p in text_windows(x.text)]
    distinct = list(dict.fromkeys(w.passage.text for w in windows))
    column = {text: i for i, text in enumerate(distinct)}
    verdicts = await evidence.nli([(p, s.text) for s in sentences for p in distinct])
    if risk == "contradiction" and not verdicts.contradicts:
        raise NotApplicable("the NLI model has no class for contradiction")
    judged = verdicts.probabilities.reshape(len(sentences), len(distinct), 3)
    judged = judged[:, [column[w.passage.text] for w in windows]]

    separate = against == "samples"
    groups = [
        np.array([i for i, w in enumerate(windows) if w.source == n or not separate])
        for n in range(len(sources) if separate else 1)
    ]
    words = [evidence.words(w.passage.text) for w in windows]
    units, risks = [], []
    for i, sentence in enumerate(sentences):
        own = evidence.words(sentence.text)
        merged = [_merge(judged[i, g], g, most_about(own, [words[k] for k in g])) for g in groups]
        probabilities = np.mean([m.probabilities for m in merged], axis=0)
        label = int(probabilities.argmax())
        order = sorted(merged, key=lambda m: -m.probabilities[label])
        shown = []
        for m in order[:SHOWN]:
            place = m.about if label == _CONTRADICTION else m.best
            window = windows[place]
            spans = window.passage.sentences
            span = spans[most_about(own, [evidence.words(s.text) for s in spans])]
            there = float(judged[i, place, label])
            shown.append(EvidenceItem.at(sources[window.source], span.start, span.end, there))
        risks.append(
            float(
                1 - probabilities[_ENTAILMENT]
                if risk == "nonentailment"
                else probabilities[_CONTRADICTION]
            )
        )
        units.append(
            Unit.of(
                sentence,
                risks[-1],
                raw=risks[-1],
                label=LABELS[label],
                probabilities=dict(zip(LABELS, probabilities.tolist(), strict=True)),
                evidence=shown,
            )
        )
    return Score.of(max(risks), raw=max(risks), units=units)


class _Window(NamedTuple):
    """A window of a source, by the source's place among the sources."""

    source: int
    passage: Passage


class _Merged(NamedTuple):
    """What the windows of a source say together, and the two windows it rests on."""

    probabilities: NDArray[np.float64]
    best: int
    about: int


def _merge(judged: NDArray[np.float64], group: NDArray[np.int64], about: int) -> _Merged:
    """Join (windows, 3) probabilities; ``about`` is the place in the group of the window most
    about the sentence."""
    best = int(judged[:, _ENTAILMENT].argmax())
    e = float(judged[best, _ENTAILMENT])
    c = min(float(judged[about, _CONTRADICTION]), 1 - e)
    neutral = max(0.0, round(1 - e - c, 9))
    return _Merged(np.array([e, neutral, c]), int(group[best]), int(group[about]))
