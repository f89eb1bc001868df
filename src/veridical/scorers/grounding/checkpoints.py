"""What the scorers of published fact checkers share: the pairs they ask about, and their units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.evidence import Evidence
from veridical.core.protocols import LABELS
from veridical.core.records import Against, Record
from veridical.core.scores import SHOWN, Unit
from veridical.scorers.grounding.documents import documents, over_documents
from veridical.text.spans import Span

#: What is checked at once.
Piece = Literal["sentence", "response"]


@dataclass(frozen=True)
class Checked:
    """What a checker says of the response.

    Attributes:
        units: one a sentence, or one for the response, with ``raw`` P(entailment).
        values: (units,) the same numbers.
    """

    units: list[Unit]
    values: NDArray[np.float64]


async def check(
    record: Record, evidence: Evidence, *, against: Against, nli: str, piece: Piece
) -> Checked:
    """Ask the NLI model ``nli`` whether the sources support each sentence, or the response.

    Contexts are joined by newlines and read as one document, as the published codes are given
    them; how a long one is read is the model's own matter. Of references the best counts, over
    samples the mean. The evidence of a unit is the sentence that shares most words with it, in
    the documents that support it best, with the probability of the label there.

    Raises:
        NotApplicable: the response is blank, or there is nothing to compare it with.
    """
    if piece == "sentence":
        spans = record.need_sentences()
    else:
        text = record.need_answer()
        spans = [Span(0, len(text), text)]
    docs = documents(record.against(against))
    verdicts = await evidence.nli([(d.text, s.text) for s in spans for d in docs], nli)
    table = verdicts.probabilities.reshape(len(spans), len(docs), len(LABELS))
    units, values = [], []
    for span, rows in zip(spans, table, strict=True):
        value = over_documents(docs, rows[:, 0].tolist())
        order = np.argsort(-rows[:, 0], kind="stable")
        # Of samples the mean of all is told, of others what the best one says.
        probabilities = rows.mean(axis=0) if docs[0].kind == "sample" else rows[order[0]]
        label = int(probabilities.argmax())
        places = order[: SHOWN if docs[0].kind == "sample" else 1]
        units.append(
            Unit.of(
                span,
                1 - value,
                raw=value,
                level=piece,
                label=LABELS[label],
                probabilities=dict(zip(LABELS, probabilities.tolist(), strict=True)),
                evidence=[
                    item
                    for n in places
                    for item in docs[n].most_about(
                        evidence, span.text, probability=float(rows[n, label])
                    )
                ],
            )
        )
        values.append(value)
    return Checked(units, np.array(values))
