"""Mean cosine similarity of response and samples (Bouchard 2025, eq. 13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from veridical.arrays import Floats
from veridical.core.answer_parts import AnswerPart, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import UsageError

#: Part of the answers that is compared: their texts, or their images.
Of = Literal["text", "images"]


def costs_of(**arguments: Any) -> tuple[str, ...]:
    """Return the costs of comparing texts or images."""
    return ("images",) if arguments["of"] == "images" else ("embed",)


def _check(**arguments: Any) -> None:
    """Check the parameters against ``of``.

    Raises:
        UsageError: ``of=images`` is combined with parts of answers or with sources other than
            samples.
    """
    if arguments["of"] == "images":
        for name, default in (("against", "samples"), ("answer", None)):
            if arguments[name] != default:
                raise UsageError(f"{name} applies to texts only; remove it or of=images")


@scorer(
    "cosine",
    level="response",
    needs={"against"},
    source="Bouchard 2025, eq. 13",
    cost="embed",
    uses={"images"},
    costs_by=costs_of,
    raw_is="confidence",
    added={"answer", "of"},
    check=_check,
    presets={"all"},
)
async def cosine(
    record: Record,
    evidence: Evidence,
    *,
    rescale: bool = False,
    against: Against = "samples",
    answer: AnswerPart | None = None,
    of: Of = "text",
) -> Score:
    """Compute the mean cosine between the embeddings of the response and of each sample.

    Args:
        rescale: average ``0.5 + cos / 2``, in [0, 1], as the UQLM package does. The paper's
            equation is the plain cosine, in [-1, 1].
        against: source that the response is compared with. Values are averaged over samples; for
            several contexts or references the maximum counts.
        answer: compare only a part of each text, as ``exact_match`` does; a sample without it has
            cosine -1.
        of: ``images``: the response and its samples are images, and the image embedder's vectors
            are compared.

    ``raw`` is that value (confidence). The risk is ``(1 - cos) / 2`` in either form.
    """
    if of == "images":
        images = await evidence.embed_images(record.need_images(response=True))
        return _score(images[1:].astype(np.float64) @ images[0], np.mean, rescale)
    parts = answer_parts(record, against, answer)
    texts = [text for text in parts.others if text is not None]
    vectors = await evidence.embed([parts.response, *texts])
    similarity = np.full(len(parts.others), -1.0)
    similarity[parts.found] = vectors[1:].astype(np.float64) @ vectors[0].astype(np.float64)
    return _score(similarity, np.mean if against == "samples" else np.max, rescale)


def _score(similarity: Floats, join: Callable[[Floats], Any], rescale: bool) -> Score:
    value = float(join(np.clip(similarity, -1, 1)))
    return Score.of((1 - value) / 2, raw=0.5 + value / 2 if rescale else value)
