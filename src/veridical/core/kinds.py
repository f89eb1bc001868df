"""The kinds of models there are, one row each.

Costs of scorers, what :class:`~veridical.core.evidence.Evidence` answers, and the memory that a
record in flight is taken to need follow from this table. What runs a kind stands in
:mod:`veridical.engine.back_ends`, and what stands for it in a dry run in
:mod:`veridical.run.counting`. Scorers of a kind's cost ask it by ``evidence.ask``.
"""

from __future__ import annotations

from dataclasses import dataclass

from veridical.errors import unknown_name


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of model.

    Attributes:
        name: the role of such a model in a run, and what errors call it.
        cost: of scorers that ask it; several kinds may share one.
        bytes_a_char: memory of a record in flight whose scorers ask it, for each character.
        of_run: whether a run has one of its own, by an option of the engine, besides those that
            scorers name.
        signed: whether the run's own is in the signature of every scorer of its cost; others are
            where they were asked.
        serves: the kind whose requests it answers too where both are one model.
        batched: whether requests leave in batches; LLM calls are paced instead, by
            :mod:`veridical.llm.service`.
    """

    name: str
    cost: str
    bytes_a_char: int = 60
    of_run: bool = False
    signed: bool = False
    serves: str = ""
    batched: bool = True


_ROWS = (
    Kind(name="embedder", cost="embed", bytes_a_char=16, of_run=True, signed=True),
    Kind(name="image_embedder", cost="images", of_run=True, signed=True),
    Kind(
        name="token_encoder",
        cost="tokens",
        bytes_a_char=900,
        of_run=True,
        signed=True,
        serves="embedder",
    ),
    Kind(name="nli", cost="nli", bytes_a_char=200, of_run=True, signed=True),
    Kind(name="proxy", cost="probabilities", of_run=True),
    Kind(name="detector", cost="detector", of_run=True),
    *(
        Kind(name=name, cost="seq2seq")
        for name in ("seq2seq", "reader", "choice", "answerability", "regressor")
    ),
    Kind(name="llm", cost="llm", bytes_a_char=16, of_run=True, batched=False),
)
#: Every kind by its name, the cheaper to ask first.
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}


def costs() -> list[str]:
    """What scorers may cost, the cheapest first."""
    return ["free", *dict.fromkeys(kind.cost for kind in KINDS.values())]


def kind_of(name: str) -> Kind:
    """The row called ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in KINDS:
        raise unknown_name("kind of model", name, KINDS)
    return KINDS[name]
