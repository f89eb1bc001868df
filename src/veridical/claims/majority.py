"""Majority vote of several checkers on the same claims.

Checkers are named in one text, ``"nli, nli_words"``, each optionally with ``|MODEL`` for its own
model: ``"nli|mini, nli|base, llm"``.

Source: ours. Hu et al. 2024 (RefChecker) use one checker at a time, in the paper and the released
code. The vote applies the code's rule for the claims of a response (``major``) to checkers: the
most common label, in a tie the first.
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

#: Options of checkers that name their model; each checker has at most one.
_MODELS = ("nli", "llm")


class CheckerChoice(NamedTuple):
    """A checker by name, with the model that replaces the common one."""

    name: str
    model: str | None = None

    def __str__(self) -> str:
        return self.name if self.model is None else f"{self.name}|{self.model}"

    @property
    def asks(self) -> str | None:
        """Return the option that names its model, or None."""
        return next((o for o in checkers.options_of(self.name) if o in _MODELS), None)

    @property
    def options(self) -> set[str]:
        """Return the names of the options that are still open."""
        return {*checkers.options_of(self.name)} - ({self.asks} if self.model else set())

    def checker(self, options: Mapping[str, Any]) -> Checker:
        """Build the checker with ``options``, all of which it must accept."""
        own = {str(self.asks): self.model} if self.model else {}
        return checkers.find_checker(self.name, **options, **own)


class CheckerNames(str):
    """Annotation of a parameter that names checkers, parsed when the scorer is bound."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(_read, core_schema.str_schema())


def _read(text: str) -> str:
    return ", ".join(map(str, choices(text)))


def choices(text: str) -> list[CheckerChoice]:
    """Parse the checkers in ``"NAME, NAME|MODEL"``, in order.

    Raises:
        UsageError: the list is empty, a name is unknown or repeated, or a checker without a model
            has one.
    """
    named: list[CheckerChoice] = []
    for part in text.split(","):
        name, bar, model = (piece.strip() for piece in part.partition("|"))
        if not name or (bar and not model):
            raise UsageError(
                f"checker must be names separated by commas, each NAME or NAME|MODEL, not {text!r}"
            )
        choice = CheckerChoice(name, model or None)
        if choice.model and choice.asks is None:
            raise UsageError(f"checker {name} uses no NLI model and no LLM; remove |{model}")
        checkers.costs_of(name)  # raises for an unknown checker
        if choice in named:
            raise UsageError(f"the checker {choice} is named twice")
        named.append(choice)
    return named


def costs_of(text: str) -> set[Cost]:
    """Return the costs of the checkers."""
    return {cost for choice in choices(text) for cost in checkers.costs_of(choice.name)}


def prompts_of(text: str) -> tuple[str, ...]:
    """Return the templates that the checkers may send to an LLM."""
    names = (prompt for choice in choices(text) for prompt in checkers.prompts_of(choice.name))
    return tuple(dict.fromkeys(names))


def options_of(text: str) -> set[str]:
    """Return the names of the options that at least one checker accepts."""
    return {option for choice in choices(text) for option in choice.options}


def models_of(text: str, **own: str | None) -> dict[str, list[str | None]]:
    """Return the models of the checkers, by the option that names them (``nli``, ``llm``).

    Args:
        own: models of the checkers that name none; None is the run's default.
    """
    found: dict[str, list[str | None]] = {kind: [] for kind in _MODELS}
    for choice in choices(text):
        if choice.asks is not None:
            found[choice.asks].append(choice.model or own.get(choice.asks))
    return found


def find_checkers(text: str, **options: Any) -> dict[str, Checker]:
    """Build the checkers by name, each with the options it accepts.

    Options that are None are ignored.

    Raises:
        UsageError: a name is unknown, no checker accepts an option, or an option's value is
            invalid.
    """
    given = {key: value for key, value in options.items() if value is not None}
    named, takes = choices(text), options_of(text)
    for key in given:
        if key not in takes:
            known = ", ".join(sorted(takes)) or "none"
            raise UsageError(f"checker={text!r} has no open option {key!r}; it takes: {known}")
    return {
        str(choice): choice.checker({k: v for k, v in given.items() if k in choice.options})
        for choice in named
    }


async def judge_by(
    named: Mapping[str, Checker],
    claims: Sequence[Claim],
    sources: Sequence[Source],
    evidence: Evidence,
    reading: ReadingOptions,
) -> list[Verdict]:
    """Return a verdict on each claim by one checker, or by the majority of several.

    Checkers run in parallel, and each merges the passages itself before it votes.

    Raises:
        NotApplicable, ModelError: a checker failed. The others do not replace it.
    """
    each = await asyncio.gather(
        *(judge(claims, sources, evidence, checker, reading) for checker in named.values())
    )
    if len(each) == 1:
        return each[0]
    return [majority(dict(zip(named, row, strict=True))) for row in zip(*each, strict=True)]


def majority(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return the majority verdict of the checkers on one claim.

    The label is the most common one; in a tie, that of the checker named first, as in RefChecker's
    released ``major`` rule. Probabilities are the mean over the checkers with that label, so the
    label has the largest. Evidence, category and conflict come from the first of them. ``votes``
    has each checker's vote.

    Args:
        verdicts: verdicts by checker name, in the order named; at least one.
    """
    counts = Counter(v.label for v in verdicts.values())  # in the order of first occurrence
    label = max(counts, key=counts.__getitem__)
    agreeing = [v for v in verdicts.values() if v.label == label]
    mean = np.mean([[v.probabilities[x] for x in LABELS] for v in agreeing], axis=0).round(9)
    return replace(
        agreeing[0],
        probabilities=dict(zip(LABELS, mean.tolist(), strict=True)),
        votes=tuple(Vote(name, v.label, v.probabilities) for name, v in verdicts.items()),
    )
