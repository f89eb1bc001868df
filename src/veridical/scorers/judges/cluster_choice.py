"""Clustered Self-Assessment: choice among clustered answers (Cao et al. 2026)."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from veridical.core.evidence import Evidence
from veridical.core.messages import LlmError
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.llm.asking import Form, ask_all, failed, parts_of, request
from veridical.llm.verdicts import JudgeVerdict
from veridical.prompts import Prompt, load_prompt
from veridical.prompts.scales import Choice, Choices
from veridical.scorers.consistency._clusters import Cluster, semantic_clusters

_TEMPLATE = "cluster_choice"
_LETTERS = string.ascii_uppercase
_MOST_MEANINGS = len(_LETTERS) - 1  # the last letter means "none of the above"


@scorer(
    "cluster_choice",
    level="response",
    needs={"samples"},
    source="Cao 2026 (Clustered Self-Assessment, arXiv 2606.03846)",
    cost="llm",
    uses={"nli"},
    raw_is="confidence",
    raw_key="confidence",
    prompts=(_TEMPLATE,),
)
async def cluster_choice(
    record: Record,
    evidence: Evidence,
    *,
    llm: str | None = None,
    cluster: Cluster = "mutual",
    fences: bool = True,
) -> Score:
    """Compute the probability that a model chooses the response's meaning among all.

    The response and the samples are clustered by meaning, as in ``semantic_sets``. The first answer
    of each cluster is a lettered option; the last option is "None of the above". The model chooses
    the correct one, in this order and in reverse, which cancels a position bias. The published code
    uses the first order only. Two samples are enough.

    Args:
        llm: endpoint to call, in the method the model that answered; the run's default if None.
        cluster: answers are equivalent if they entail each other (``mutual``), or if one entails
            the other in ``either`` direction.
        fences: put unforgeable delimiters around quoted text.

    ``raw`` has the ``confidence``: the mean over both orders of P(letter of the response's
    meaning), as a share of all letters' probability. The published code does not normalise.
    Without token probabilities the answered letter counts as 1. ``raw`` also has the probability of
    ``none``, computed the same way, and the number of ``meanings``. Of more than 25 meanings, the
    response's and the most frequent ones are options. ``risk = 1 - confidence``. One or two calls.
    A reply that is not a letter is requested once more. If that fails too, or the reply is cut or
    refused, the score is failed and keeps the text.

    Raises:
        NotApplicable: the response is blank, no sample has a text, or the record has no prompt.
    """
    template = load_prompt(_TEMPLATE)
    parts = parts_of(record, template, frozenset({"options", "none"}))
    clusters = await semantic_clusters(record, evidence, cluster)
    texts = [record.answer, *(source.text for source in record.against("samples"))]
    others = sorted(clusters[1:], key=len, reverse=True)[: _MOST_MEANINGS - 1]
    kept = [clusters[0], *(c for c in clusters[1:] if c in others)]
    options = [" ".join(texts[members[0]].split()) for members in kept]
    # the response is in the first cluster, so its letter is first, then last
    orders = [(options, 0), (options[::-1], len(options) - 1)][: min(len(options), 2)]
    prompts = [_lettered(template, len(options), own) for _, own in orders]
    form: Form = "token" if evidence.tells_tokens(llm) else "text"
    asked = [
        request(
            prompt,
            parts | {"options": _listed(listed), "none": _LETTERS[len(listed)]},
            record,
            fenced=fences,
            form=form,
        )
        for prompt, (listed, _) in zip(prompts, orders, strict=True)
    ]
    try:
        verdicts = await ask_all(lambda calls: evidence.chat(calls, llm), asked, prompts)
    except LlmError as e:
        return await failed(evidence, e)
    confidence = fmean(v.value for v in verdicts)
    raw = {
        "confidence": confidence,
        "none": fmean(_share(v, _LETTERS[len(options)]) for v in verdicts),
        "meanings": len(clusters),
    }
    return Score.of(1 - confidence, raw=raw)


def _listed(options: Sequence[str]) -> str:
    return "\n".join(f"({_LETTERS[i]}) {option}" for i, option in enumerate(options))


def _lettered(template: Prompt, count: int, own: int) -> Prompt:
    """Return the template for ``count`` options plus "none"; the letter ``own`` has value 1."""
    letters = _LETTERS[: count + 1]
    choices = tuple(Choice(x, float(i == own), (x,)) for i, x in enumerate(letters))
    return replace(template, scale=Choices(choices, best=1.0, worst=0.0))


def _share(verdict: JudgeVerdict, letter: str) -> float:
    if verdict.probabilities is None:
        return float(verdict.answer == letter)
    return verdict.probabilities.get(letter, 0.0)
