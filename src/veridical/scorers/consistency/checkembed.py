"""CheckEmbed: agreement of answers by their embeddings (Besta et al. 2025).

The kernels are plain functions of arrays; every matrix is symmetric, (n, n) float64.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from veridical.arrays import Matrix
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.consistency.cosine import Of, costs_of

Measure = Literal["cosine", "pearson", "spearman"]
Model = Literal["gpt_embedding_large", "sfr", "e5", "gte", "stella_400m", "stella_1_5b"]

#: Lowest cosine seen with each of the paper's models: the published code's values for rebasing.
LOWEST_COSINE: dict[str, float] = {
    "gpt_embedding_large": 0.36156142737003805,
    "sfr": 0.4590856938212389,
    "e5": 0.5347691513588488,
    "gte": 0.17701296296393593,
    "stella_400m": 0.3189337589450308,
    "stella_1_5b": 0.3655769126487221,
}


def similarity_matrices(vectors: ArrayLike) -> tuple[Matrix, Matrix]:
    """Compute cosine and Pearson correlation of every pair of rows with one matrix product.

    Args:
        vectors: (n, d) embeddings of any length; an all-zero row stands for an empty text.

    Returns:
        Cosine and Pearson, each (n, n) in [-1, 1]. By the published convention two empty texts have
        similarity 1, and an empty text has -1 with any other. For Pearson, constant rows are
        treated the same way.
    """
    x = np.asarray(vectors, dtype=np.float64)
    gram = x @ x.T
    total = x.sum(axis=1)
    centred = gram - np.outer(total, total) / x.shape[1]
    return _normalised(gram, gram), _normalised(centred, gram)


def spearman_matrix(vectors: ArrayLike) -> Matrix:
    """Compute Spearman's rank correlation of every pair of rows; ties share their mean rank."""
    return similarity_matrices(_ranks(np.asarray(vectors, dtype=np.float64)))[1]


def rebased(cosine: Matrix, lowest: float) -> Matrix:
    """Map [lowest, 1] linearly to [-1, 1]: ``clip(2 (c - lowest) / (1 - lowest) - 1, -1, 1)``.

    Raises:
        ValueError: ``lowest`` is not in [-1, 1).
    """
    if not -1 <= lowest < 1:
        raise ValueError(f"rebase must be in [-1, 1), not {lowest}")
    return np.clip(2 * (cosine - lowest) / (1 - lowest) - 1, -1, 1)


def off_diagonal(matrix: Matrix) -> Matrix:
    """Return the n (n - 1) entries off the diagonal as one row."""
    n = len(matrix)
    return matrix.ravel()[1:].reshape(n - 1, n + 1)[:, :-1].ravel()


def frobenius(similarities: Matrix) -> float:
    """Return ``sqrt(sum (s + 1)^2 / (4 count))`` in [0, 1] of the off-diagonal entries.

    The paper names the Frobenius norm only. The shift, which maps [-1, 1] to [0, 1], is that of the
    published code.
    """
    shifted = (similarities + 1) / 2
    return float(np.sqrt(np.mean(shifted * shifted)))


def outliers(matrix: Matrix) -> Matrix:
    """Return an outlier value for each of n answers: (n,) in [-2, 2], above 0 for outliers.

    It is the mean similarity among the other answers minus the answer's own mean similarity to
    them. With fewer than three answers it is 0.
    """
    n = len(matrix)
    if n < 3:
        return np.zeros(n)
    sums = matrix.sum(axis=1) - matrix.diagonal()
    others = (sums.sum() - 2 * sums) / ((n - 1) * (n - 2))
    return np.asarray(others - sums / (n - 1))


@scorer(
    "checkembed",
    level="response",
    needs={"samples"},
    source="Besta 2025, section 2",
    cost="embed",
    uses={"images"},
    costs_by=costs_of,
    raw_is="confidence",
    raw_key="value",
    added={"of"},
    presets={"all"},
)
async def checkembed(
    record: Record,
    evidence: Evidence,
    *,
    stat: Literal["mean", "frobenius"] = "mean",
    measure: Measure = "cosine",
    judged: Literal["response", "samples"] = "response",
    rebase: Annotated[float, Field(ge=-1, lt=1)] | Model | None = None,
    of: Of = "text",
) -> Score:
    """Measure the agreement of all answers to a prompt by their embeddings.

    Args:
        stat: mean or Frobenius norm (see ``frobenius``) of the similarities.
        measure: similarity that the matrix holds. ``spearman`` is the rank correlation of two
            embeddings.
        judged: ``samples`` is the published form: all pairs of samples (at least two). It measures
            the model's uncertainty about the prompt and ignores the response. ``response``, our
            extension, averages that with the same statistic of the response's own row, so a
            response unlike its samples has a higher risk.
        rebase: lowest cosine of the embedding model, or the name of one of the paper's models
            (``LOWEST_COSINE``); cosine only, as published.
        of: ``images``: the samples, and with ``judged=response`` the response, are images, and the
            image embedder's vectors are compared (section 4.3). References are texts, so they are
            skipped.

    ``raw`` (confidence) has ``value``, the chosen statistic. It has ``mean``, ``std`` and
    ``frobenius`` over pairs of samples (null for one sample) for ``cosine``, ``pearson`` and
    ``spearman``. ``response`` is the mean of its own row (null if it is not used), and ``outlier``
    is per answer (see ``outliers``). ``rule`` is the paper's rule of thumb for a good answer
    (cosine mean > 0.9 and std < 0.05, section 4.2). ``matrix`` is that of the chosen measure with
    the names of its rows in ``order``: response, samples, references. The risk is ``(1 - value) /
    2`` for the mean, ``1 - value`` for Frobenius.

    In the paper Spearman's coefficient compares scores with human labels over a whole data set.
    Here it is a summary of one prompt's answers.
    """
    if of == "images":
        images = record.need_images(response=judged == "response")
        count = _enough(len(images) - (judged == "response"), judged)
        places = (place.partition(".")[0] for place in images)
        order = [place.replace("samples[", "sample ").rstrip("]") for place in places]
        vectors = await evidence.embed_images(images)
    else:
        order, count, texts = _texts(record, judged)
        vectors = await _embed(texts, evidence)
    cosine, pearson = similarity_matrices(vectors)
    first = int(order[0] == "response")
    answers = slice(first, first + count)
    rule = count > 1 and _follows_rule(off_diagonal(cosine[answers, answers]))
    if rebase is not None:
        cosine = rebased(cosine, LOWEST_COSINE[rebase] if isinstance(rebase, str) else rebase)
    matrices = {"cosine": cosine, "pearson": pearson, "spearman": spearman_matrix(vectors)}
    chosen = matrices[measure]
    row = chosen[0, answers] if first else None
    summarise = {"mean": lambda x: float(x.mean()), "frobenius": frobenius}[stat]
    parts = [] if count < 2 else [summarise(off_diagonal(chosen[answers, answers]))]
    if judged == "response" and row is not None:
        parts.append(summarise(row))
    value = sum(parts) / len(parts)
    raw: dict[str, Any] = {
        "value": value,
        **{name: _summary(x[answers, answers]) for name, x in matrices.items()},
        "response": None if row is None else float(row.mean()),
        "outlier": outliers(chosen[: answers.stop, : answers.stop]).round(6).tolist(),
        "rule": rule,
        "order": order,
        "matrix": chosen.round(4).tolist(),
    }
    risk = (1 - value) / 2 if stat == "mean" else 1 - value
    return Score.of(min(1.0, max(0.0, risk)), raw=raw)


def _texts(record: Record, judged: str) -> tuple[list[str], int, list[str]]:
    """Return the row names, the number of samples, and the texts: response, samples, references."""
    record.need_answer()
    samples = [(i, s.text) for i, s in enumerate(record.samples) if s.text is not None]
    if not samples and record.samples:
        raise NotApplicable("the samples are images; of=images compares them")
    count = _enough(len(samples), judged)
    order = [
        "response",
        *(f"sample {i}" for i, _ in samples),
        *(f"reference {i}" for i in range(len(record.reference))),
    ]
    return order, count, [record.answer, *(t for _, t in samples), *record.reference]


def _enough(samples: int, judged: str) -> int:
    if samples < (2 if judged == "samples" else 1):
        raise NotApplicable(f"judging the {judged} needs more samples than {samples}")
    return samples


async def _embed(texts: list[str], evidence: Evidence) -> NDArray[np.float32]:
    """Return the embeddings of ``texts``, with zero rows for empty texts."""
    full = [i for i, t in enumerate(texts) if t.strip()]
    embeddings = await evidence.embed([texts[i] for i in full])
    vectors = np.zeros((len(texts), embeddings.shape[1]), np.float32)
    vectors[full] = embeddings
    return vectors


def _summary(pairs: Matrix) -> dict[str, float] | None:
    """Return mean, population standard deviation and Frobenius norm off the diagonal."""
    if len(pairs) < 2:
        return None
    entries = off_diagonal(pairs)
    return {
        "mean": float(entries.mean()),
        "std": float(entries.std()),
        "frobenius": frobenius(entries),
    }


def _follows_rule(cosines: Matrix) -> bool:
    return bool(cosines.mean().round(6) > 0.9 and cosines.std().round(6) < 0.05)


def _normalised(products: Matrix, gram: Matrix) -> Matrix:
    """Divide inner products by the lengths; apply the convention for texts without a direction.

    Centring leaves rounding noise in constant rows, so a norm tiny relative to the row counts as 0.
    """
    squares = products.diagonal()
    empty = squares <= 1e-12 * np.maximum(gram.diagonal(), 1e-300)
    lengths = np.sqrt(np.where(empty, 1.0, squares))
    matrix: Matrix = np.clip(products / np.outer(lengths, lengths), -1, 1)
    matrix[empty, :] = -1
    matrix[:, empty] = -1
    matrix[np.ix_(empty, empty)] = 1
    np.fill_diagonal(matrix, 1)
    return matrix


def _ranks(rows: Matrix) -> Matrix:
    """Rank within each row; equal values share their mean rank."""
    order = rows.argsort(axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    place = np.arange(rows.shape[1])
    differs = np.diff(ordered, axis=1) != 0
    edge = np.ones((len(rows), 1), bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, differs]), place, 0), axis=1)
    ends = np.where(np.hstack([differs, edge]), place, place[-1:])
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty_like(rows)
    np.put_along_axis(ranks, order, (first + last) / 2, axis=1)
    return ranks
