"""Published fact checkers: AlignScore, HHEM, MiniCheck and FaithCritic."""

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

#: Unit of the response that is checked at once.
Piece = Literal["sentence", "response"]
#: Declaration that these scorers share.
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
    """Compute the mean over sentences of the best alignment with a chunk of the context.

    A sentence's value is the largest P(aligned) over chunks of the context of about 350 words, by
    the three-class head. The response's is the mean over sentences. ``raw`` (confidence) is in [0,
    1] and the risk ``1 - raw``. A sentence has the three probabilities, merged as for any NLI
    model, and the closest sentence of the context as evidence.

    Args:
        against: contexts are joined into one document; the best of several references counts;
            values of samples are averaged.
        nli: ``alignscore-large``, ``alignscore-base`` (after ``veridical models convert`` of the
            same name), or ``alignscore:FOLDER``; append ``?mode=bin_sp`` or ``?mode=reg_sp`` for
            another head.
        piece: ``sentence`` is the published form (the modes ``*_sp``). ``response`` checks the
            whole response at once, for the modes ``nli``, ``bin`` and ``reg``.
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
    """Compute HHEM's probability that the context supports the response.

    ``raw`` (confidence) is the probability of the class "consistent", in [0, 1], and the risk
    ``1 - raw``.

    Args:
        against: contexts are joined into one premise; the best of several references counts; values
            of samples are averaged.
        nli: ``hhem``, or ``hhem:HUB_ID_OR_FOLDER`` for another model of its architecture.
        piece: ``response`` judges the whole response (published). ``sentence`` judges each sentence
            and takes the minimum.
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
    """Compute the probability that the document supports the least supported sentence.

    A sentence's value is the largest P(supported) over chunks of the document (500 words for
    Flan-T5, 400 tokens for RoBERTa and DeBERTa). The response's is the minimum over sentences, as
    one unsupported statement is enough. (The authors leave this choice to the user.) ``raw``
    (confidence) is in [0, 1] and the risk ``1 - raw``.

    Args:
        against: contexts are joined into one document; the best of several references counts;
            values of samples are averaged.
        nli: ``minicheck-flan-t5``, ``minicheck-roberta``, ``minicheck-deberta``, or
            ``minicheck:HUB_ID_OR_FOLDER`` for another model of their kind.
        piece: ``sentence``, as the authors recommend, or ``response`` to check the whole response
            at once.
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
    """Compute FaithCritic's probability that the response is a hallucination.

    ``raw`` and risk are the probability of the class "Hallucination" (1 of the checkpoint; 0 is
    "Entailment") of (knowledge, response), in [0, 1].

    Args:
        against: contexts are joined into one knowledge text; the best of several references counts;
            values of samples are averaged.
        nli: ``critic``, or ``critic:HUB_ID_OR_FOLDER`` for another model of its kind.
        piece: ``response`` judges the whole response (published). ``sentence`` judges each sentence
            and takes the maximum.
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
    """Judge the support of each sentence, or of the response, by the NLI model ``nli``.

    The response takes the mean or the minimum over its sentences.

    Contexts are joined by newlines into one document, as in the published codes; the model decides
    how to read a long one. The best of several references counts; values of samples are averaged.
    A unit's evidence is in the documents that support it best. It is the sentence that shares most
    words with the unit, with the probability of the label there.

    Raises:
        NotApplicable: the response is blank, or the record has no ``against`` field.
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
        # Samples are averaged; for other sources the best one is reported.
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
