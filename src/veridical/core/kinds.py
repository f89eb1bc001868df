"""Table of model kinds, one row each.

Scorer costs, the methods of :class:`~veridical.core.evidence.Evidence` and the assumed memory of a
record in flight follow from this table. The code that runs a kind is in
:mod:`veridical.engine.back_ends`; its stand-in for dry runs is in :mod:`veridical.run.counting`.
Scorers with a kind's cost request it by ``evidence.ask``.
"""

from __future__ import annotations

from dataclasses import dataclass

from veridical.errors import unknown_name


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of model.

    Attributes:
        name: role of such a model in a run; also its name in errors.
        cost: cost of scorers that use it; several kinds may share one.
        bytes_a_char: assumed memory of a record in flight whose scorers use it, per character.
        of_run: True if a run has its own model of this kind, set by an engine option.
        signed: True if the run's own model is in the signature of every scorer of its cost; others
            are included when they were used.
        serves: another kind whose requests it answers if both are the same model.
        batched: True if requests are batched; LLM calls are scheduled by
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
#: All kinds by name, cheapest first.
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}


def costs() -> list[str]:
    """Return the possible costs of scorers, cheapest first."""
    return ["free", *dict.fromkeys(kind.cost for kind in KINDS.values())]


def kind_of(name: str) -> Kind:
    """Return the kind called ``name``.

    Raises:
        UsageError: there is no such kind.
    """
    if name not in KINDS:
        raise unknown_name("kind of model", name, KINDS)
    return KINDS[name]
