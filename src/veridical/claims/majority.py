"""Several checkers on the same claims, and the verdict of most of them.

Checkers are named in one text, ``"nli, nli_words"``, each with ``|MODEL`` where it is to ask
another model than the rest: ``"nli|mini, nli|base, llm"``.

Source: none of its own. Hu et al. 2024 (RefChecker) judge by one checker at a time, in the paper
and in the released code. The vote is the rule by which that code joins the claims of a response
(``major``), taken over checkers: the most common label, of equally common ones the first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from veridical.claims import checkers
from veridical.claims.attribution import ReadingOptions, Verdict, Vote, judge
from veridical.core.protocols import LABELS
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.claims.claim import Checker, Claim
    from veridical.core.evidence import Evidence
    from veridical.core.records import Source
    from veridical.core.registry import Cost

#: Options of checkers that name the model asked, of which each has at most one.
_MODELS = ("nli", "llm")


class CheckerSeat(NamedTuple):
    """A checker by its name, and the model it asks instead of the one that the others do."""

    name: str
    model: str | None = None

    def __str__(self) -> str:
        return self.name if self.model is None else f"{self.name}|{self.model}"

    @property
    def asks(self) -> str | None:
        """The option that names its model; None if it asks none that can be named here."""
        return next((o for o in checkers.options_of(self.name) if o in _MODELS), None)

    @property
    def options(self) -> set[str]:
        """Names of the options that are still open."""
        return {*checkers.options_of(self.name)} - ({self.asks} if self.model else set())

    def checker(self, options: Mapping[str, Any]) -> Checker:
        """The checker with ``options``, all of which it must take."""
        own = {str(self.asks): self.model} if self.model else {}
        return checkers.find_checker(self.name, **options, **own)


class CheckerNames(str):
    """Annotation of a parameter that names checkers: read when the scorer is bound."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(_read, core_schema.str_schema())


def _read(text: str) -> str:
    return ", ".join(map(str, seats(text)))


def seats(text: str) -> list[CheckerSeat]:
    """The checkers that ``"NAME, NAME|MODEL"`` names, in order.

    Raises:
        UsageError: there is none, none of that name, one is named twice, or one with a model
            that asks none.
    """
    named: list[CheckerSeat] = []
    for part in text.split(","):
        name, bar, model = (piece.strip() for piece in part.partition("|"))
        if not name or (bar and not model):
            raise UsageError(
                f"checker must be names parted by commas, each a name or NAME|MODEL, not {text!r}"
            )
        seat = CheckerSeat(name, model or None)
        if seat.model and seat.asks is None:
            raise UsageError(f"checker {name} asks no NLI model and no LLM: leave |{model} out")
        checkers.costs_of(name)  # there is such a checker
        if seat in named:
            raise UsageError(f"the checker {seat} is named twice")
        named.append(seat)
    return named


def costs_of(text: str) -> set[Cost]:
    """What the checkers ask of the evidence layer."""
    return {cost for seat in seats(text) for cost in checkers.costs_of(seat.name)}


def prompts_of(text: str) -> tuple[str, ...]:
    """Templates by which the checkers may ask an LLM."""
    names = (prompt for seat in seats(text) for prompt in checkers.prompts_of(seat.name))
    return tuple(dict.fromkeys(names))


def options_of(text: str) -> set[str]:
    """Names of the options that at least one of the checkers takes."""
    return {option for seat in seats(text) for option in seat.options}


def models_of(text: str, **own: str | None) -> dict[str, list[str | None]]:
    """The models that the checkers ask, by the option that names them (``nli``, ``llm``).

    Args:
        own: of the checkers that name none; None is the run's.
    """
    found: dict[str, list[str | None]] = {kind: [] for kind in _MODELS}
    for seat in seats(text):
        if seat.asks is not None:
            found[seat.asks].append(seat.model or own.get(seat.asks))
    return found


def find_checkers(text: str, **options: Any) -> dict[str, Checker]:
    """The checkers by what they are called, each with those of the options that it takes. An
    option that is None is not given.

    Raises:
        UsageError: one is named wrongly, none of them takes an option, or an option's value does
            not fit.
    """
    given = {key: value for key, value in options.items() if value is not None}
    named, takes = seats(text), options_of(text)
    for key in given:
        if key not in takes:
            known = ", ".join(sorted(takes)) or "none"
            raise UsageError(f"checker={text!r} leaves no option {key!r} open; it takes: {known}")
    return {
        str(seat): seat.checker({k: v for k, v in given.items() if k in seat.options})
        for seat in named
    }


async def judge_by(
    named: Mapping[str, Checker],
    claims: Sequence[Claim],
    sources: Sequence[Source],
    evidence: Evidence,
    reading: ReadingOptions,
) -> list[Verdict]:
    """A verdict on each claim, of one checker or of most of several. They are asked at the same
    time, and each of them joins the passages for itself before it votes.

    Raises:
        NotApplicable, ModelError: a checker could not judge. The others do not stand in for it.
    """
    each = await asyncio.gather(
        *(judge(claims, sources, evidence, checker, reading) for checker in named.values())
    )
    if len(each) == 1:
        return each[0]
    return [majority(dict(zip(named, row, strict=True))) for row in zip(*each, strict=True)]


def majority(verdicts: Mapping[str, Verdict]) -> Verdict:
    """The verdict of most checkers on one claim.

    The label is the most common one, of equally common ones that of the checker named first, as
    the released ``major`` rule of RefChecker settles ties among claims. Probabilities are the
    mean of the checkers that say it, so that the label has the largest; evidence, category and
    conflict are of the first of them. ``votes`` has what each checker says.

    Args:
        verdicts: by what the checkers are called, in the order named; at least one.
    """
    counts = Counter(v.label for v in verdicts.values())  # in the order of first sight
    label = max(counts, key=counts.__getitem__)
    agreeing = [v for v in verdicts.values() if v.label == label]
    mean = np.mean([[v.probabilities[x] for x in LABELS] for v in agreeing], axis=0).round(9)
    return replace(
        agreeing[0],
        probabilities=dict(zip(LABELS, mean.tolist(), strict=True)),
        votes=tuple(Vote(name, v.label, v.probabilities) for name, v in verdicts.items()),
    )
