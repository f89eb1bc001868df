"""BERTScore of response and samples (Zhang 2020; Bouchard 2025, eq. 12)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veridical.core.answer_parts import AnswerPart, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.engine.greedy_matching import f1
from veridical.errors import NotApplicable, UsageError

#: Score of unrelated texts, which :func:`rescaled` maps to 0.
Baseline = Annotated[float, Field(ge=0, lt=1)]


def rescaled(values: NDArray[np.float64], baseline: float | None) -> NDArray[np.float64]:
    """Return ``(value - baseline) / (1 - baseline)``: about 0 for unrelated texts, 1 for equal
    ones.

    Raises:
        ValueError: the baseline is not in [0, 1).
    """
    if baseline is None:
        return values
    if not 0 <= baseline < 1:
        raise ValueError(f"baseline must be in [0, 1), not {baseline}")
    return (values - baseline) / (1 - baseline)


def frobenius(matrix: NDArray[np.float64]) -> float:
    """Return the root mean square off the diagonal of a k x k BERTScore matrix (CheckEmbed)."""
    off_diagonal = np.clip(matrix[~np.eye(len(matrix), dtype=bool)], -1, 1)
    return float(np.sqrt(np.mean(off_diagonal**2)))


def _whole_in_a_matrix(form: str, answer: str | None, **_: object) -> None:
    if form == "matrix" and answer is not None:
        raise UsageError("bert_score(form=matrix) compares whole answers; remove answer")


@scorer(
    "bert_score",
    level="response",
    needs={"against"},
    source="Zhang 2020; Bouchard 2025, eq. 12; Besta 2025 (matrix)",
    cost="tokens",
    raw_is="confidence",
    raw_key="value",
    added={"answer"},
    check=_whole_in_a_matrix,
    presets={"all"},
)
async def bert_score(
    record: Record,
    evidence: Evidence,
    *,
    stat: Literal["f1", "precision", "recall"] = "f1",
    baseline: Baseline | None = None,
    idf: bool = False,
    form: Literal["response", "matrix"] = "response",
    against: Against = "samples",
    answer: AnswerPart | None = None,
) -> Score:
    """Compute the mean BERTScore of the response (candidate) with each sample (reference).

    Args:
        stat: statistic that the risk is computed from.
        baseline: rescale every value ``v`` to ``(v - baseline) / (1 - baseline)``. Published
            baselines belong to one model and layer and are the mean score of random sentence
            pairs: 0.8312 for roberta-large, English (F1), as in the bert-score package. UQLM
            does not rescale; SelfCheckGPT and CheckEmbed do.
        idf: weight tokens by their inverse document frequency over the samples.
        form: ``response`` compares the response with each sample. ``matrix`` is CheckEmbed's use of
            BERTScore: all pairs of samples (at least two), summarised by the Frobenius norm
            ``sqrt(sum s^2 / (k (k - 1)))``. Values under the baseline lose their sign, as
            published. The response is not used.
        against: the texts the response is compared with. Values are averaged over samples. For
            several contexts or references each statistic is the maximum, as in bert-score.
        answer: compare only a part of each text, as ``exact_match`` does; a sample without it
            scores 0. Requires ``form=response``.

    ``raw`` is ``{"value", "precision", "recall", "f1"}`` (confidence), in the matrix form
    ``{"value", "order", "matrix"}``. Rescaling is affine, so the risk, 1 - value before
    rescaling, does not depend on it; in the matrix form the risk is 1 - value.
    """
    parts = answer_parts(record, against, answer)
    sources = parts.sources
    texts = [text for text in parts.others if text is not None]
    if form == "matrix":
        if len(texts) < 2:
            raise NotApplicable(f"form=matrix needs at least two {against}")
        p, r = await evidence.bertscore(texts, texts, idf=idf)
        matrix = rescaled({"f1": f1(p, r), "precision": p, "recall": r}[stat], baseline)
        value = frobenius(matrix)
        raw: dict[str, Any] = {
            "value": value,
            "order": [f"{s.kind} {s.index}" for s in sources],
            "matrix": matrix.round(4).tolist(),
        }
        return Score.of(risk_of(value), raw=raw)
    p, r = np.zeros((2, 1, len(sources)))
    p[:, parts.found], r[:, parts.found] = await evidence.bertscore(
        [parts.response], texts, idf=idf
    )
    join = np.mean if against == "samples" else np.max
    joined = np.array([join(p), join(r), join(f1(p, r))])
    names = ("precision", "recall", "f1")
    raw = dict(zip(names, rescaled(joined, baseline).tolist(), strict=True))
    risk = risk_of(float(joined[names.index(stat)]))
    return Score.of(risk, raw={"value": raw[stat], **raw})


def risk_of(similarity: float) -> float:
    """Return 1 - similarity, clipped to [0, 1] against rounding."""
    return min(1.0, max(0.0, 1.0 - similarity))
