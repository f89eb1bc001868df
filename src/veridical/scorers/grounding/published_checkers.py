"""Scorers by fact checkers with published weights: AlignScore, HHEM, MiniCheck, FaithCritic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.protocols import LABELS
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.scorers.grounding._documents import documents, over_documents
from veridical.text.spans import Span

#: What is checked at once.
Piece = Literal["sentence", "response"]
#: What these scorers declare alike.
_SHARED: dict[str, Any] = {"judges": True, "needs": {"against"}, "cost": "nli"}


@scorer(
    "alignscore",
    level="sentence",
    source="Zha 2023, section 3.3",
    raw_is="confidence",
    **_SHARED,
)
async def alignscore(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    nli: str = "alignscore-large",
    piece: Piece = "sentence",
) -> Score:
    """The mean over sentences of the best alignment with a chunk of the context.

    A sentence's value is the largest P(aligned) over chunks of the context of about 350 words, by
    the head of three classes; the response's is the mean over sentences. ``raw`` (confidence) is
    in [0, 1] and the risk ``1 - raw``. A sentence carries the three probabilities, by the same
    merging as of any NLI model, and as evidence the sentence of the context most about it.

    Args:
        against: contexts are joined and read as one document; of references the best counts, over
            samples the mean.
        nli: ``alignscore-large``, ``alignscore-base`` (after ``veridical models convert`` of the
            same name), or ``alignscore:FOLDER``; ``?mode=bin_sp`` or ``?mode=reg_sp`` after it
            reads another head.
        piece: ``sentence`` is published (the modes ``*_sp``). ``response`` asks about the whole
            at once, for the modes ``nli``, ``bin`` and ``reg``.
    """
    return await _checked(record, evidence, against, nli, piece, np.mean)


@scorer(
    "hhem",
    level="response",
    source="Vectara, HHEM-2.1-Open (model card, 2024)",
    raw_is="confidence",
    **_SHARED,
)
async def hhem(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    nli: str = "hhem",
    piece: Piece = "response",
) -> Score:
    """The probability, by HHEM, that the context supports the response.

    ``raw`` (confidence) is the probability of the class "consistent", in [0, 1], and the risk
    ``1 - raw``.

    Args:
        against: contexts are joined and read as one premise; of references the best counts, over
            samples the mean.
        nli: ``hhem``, or ``hhem:HUB_ID_OR_FOLDER`` for another of its architecture.
        piece: ``response`` is judged whole (published). ``sentence`` judges each sentence, and
            the least supported one is the response's value.
    """
    return await _checked(record, evidence, against, nli, piece, np.min)


@scorer(
    "minicheck",
    level="sentence",
    source="Tang 2024 (MiniCheck), sections 4 and 5",
    raw_is="confidence",
    **_SHARED,
)
async def minicheck(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    nli: str = "minicheck-flan-t5",
    piece: Piece = "sentence",
) -> Score:
    """The probability that the best chunk of the document supports the least supported sentence.

    A sentence's value is the largest P(supported) over chunks of the document (500 words for
    Flan-T5, 400 tokens for RoBERTa and DeBERTa); the response's is the least over sentences, as
    one unsupported statement is enough. (The authors leave that to the user.) ``raw``
    (confidence) is in [0, 1] and the risk ``1 - raw``.

    Args:
        against: contexts are joined and read as one document; of references the best counts, over
            samples the mean.
        nli: ``minicheck-flan-t5``, ``minicheck-roberta``, ``minicheck-deberta``, or
            ``minicheck:HUB_ID_OR_FOLDER`` for another of their kind.
        piece: ``sentence``, which the authors advise, or ``response`` for the whole at once.
    """
    return await _checked(record, evidence, against, nli, piece, np.min)


@scorer(
    "critic",
    level="response",
    source="Dziri 2022 (FaithDial), section 5.1",
    raw_is="risk",
    **_SHARED,
)
async def critic(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "contexts",
    nli: str = "critic",
    piece: Piece = "response",
) -> Score:
    """The probability, by FaithCritic, that the response is a hallucination.

    ``raw`` and risk are the probability of the class "Hallucination" (1 of the checkpoint; 0 is
    "Entailment") of (knowledge, response), in [0, 1].

    Args:
        against: contexts are joined and read as one knowledge; of references the best counts,
            over samples the mean.
        nli: ``critic``, or ``critic:HUB_ID_OR_FOLDER`` for another of its kind.
        piece: ``response`` is judged whole (published). ``sentence`` judges each sentence, and
            the worst one is the response's value.
    """
    score = await _checked(record, evidence, against, nli, piece, np.min)
    units = tuple(u.model_copy(update={"raw": u.risk}) for u in score.units)
    return score.model_copy(update={"raw": score.risk, "units": units})


async def _checked(
    record: Record,
    evidence: Evidence,
    against: Against,
    nli: str,
    piece: Piece,
    join: Callable[[Floats], Any],
) -> Score:
    """Ask the NLI model ``nli`` whether the sources support each sentence, or the response, which
    has the mean or the least of what it says.

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
    whole = float(join(np.array(values)))
    return Score.of(1 - whole, raw=whole, units=units)
