"""Format of policy files, validated completely as they may come from anywhere."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from veridical.core.scores import Decision, Level
from veridical.core.verdict_cuts import Strictness, Verdict
from veridical.errors import UsageError, unknown_name
from veridical.files.toml import read_toml
from veridical.text.display import display, shown, visible

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_MOST_STRATA = 1000
_MOST_RULES = 200
#: Unit labels of this package's scorers; other scorers may have any.
_LABELS = (
    *("entailment", "neutral", "contradiction", "supported", "unsupported"),
    *("consistent", "inconsistent", "unclear"),
)

Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=4096)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Thresholds(_Part):
    """Two thresholds of one risk; a missing threshold never applies.

    Attributes:
        accept: a risk of at most this value is accepted.
        reject: a risk of at least this value is rejected. Risks between the two are reviewed.
    """

    accept: Share | None = None
    reject: Share | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Thresholds:
        if self.accept is not None and self.reject is not None and self.accept > self.reject:
            raise ValueError(f"accept ({self.accept:g}) must not exceed reject ({self.reject:g})")
        return self


class UnitRule(_Part):
    """Condition on a unit with this ``label`` and ``level`` (any if not given) and a risk above
    ``over``."""

    label: Name | None = None
    level: Level | None = None
    over: Share | None = None

    @model_validator(mode="after")
    def _says_something(self) -> UnitRule:
        if self.label is None and self.over is None:
            raise ValueError("requires label or over")
        # a misspelt label would make a rule that never applies, found too late
        close = difflib.get_close_matches(self.label or "", _LABELS, n=1, cutoff=0.85)
        if close and self.label not in _LABELS:
            raise ValueError(f"label {shown(self.label)}: did you mean {close[0]!r}?")
        return self


class Rule(_Part):
    """A condition that forces a review or rejection, whatever the thresholds say. It makes no
    decision milder.

    Attributes:
        then: the decision if the condition holds.
        scorer: the scorer, as in ``--scorers``. Without it, ``over`` applies to the record's own
            risk, and ``unit`` and ``status`` to any score.
        over: lower limit of the risk.
        unit: condition on at least one unit.
        status: status of the score.
        rule: result of CheckEmbed's rule of thumb for a good answer (mean cosine > 0.9, standard
            deviation < 0.05, section 4.2), from the score of ``checkembed``.
        verdict: verdict on the record.
    """

    then: Literal["review", "reject"]
    scorer: Name | None = None
    over: Share | None = None
    unit: UnitRule | None = None
    status: Literal["failed", "not_applicable"] | None = None
    rule: bool | None = None
    verdict: Verdict | None = None

    @model_validator(mode="after")
    def _one_condition(self) -> Rule:
        given = (self.over, self.unit, self.status, self.rule, self.verdict)
        if sum(x is not None for x in given) != 1:
            raise ValueError("requires exactly one of over, unit, status, rule and verdict")
        if self.rule is not None and (self.scorer or "").partition("(")[0] != "checkembed":
            raise ValueError('rule requires scorer = "checkembed"')
        if self.verdict is not None and self.scorer is not None:
            raise ValueError("verdict applies to the record; leave out scorer")
        return self


OnReject = Literal["block", "drop", "replace", "repair", "retry"]


class GuardRules(_Part):
    """The table ``[guard]``, which configures ``veridical guard``.

    Attributes:
        on_reject: handling of a rejected sentence. ``block`` ends the answer before it, ``drop``
            omits it, ``replace`` substitutes ``replacement``. ``repair`` lets the upstream
            rewrite it by the evidence, ``retry`` lets the upstream write the rest again.
        replacement: see ``on_reject``.
        retries: maximum retries of an answer.
        samples: number of further answers requested, if a scorer of the policy compares with
            samples.
        system_prompt: True if the system prompt is evidence too.
        prompt_sources: True to search messages for sources if a request has no others.
        source_pattern: the text around the sources in messages, with the placeholder
            ``{sources}``; without it, tags and headings are recognised.
    """

    on_reject: OnReject = "block"
    replacement: Annotated[str, Field(max_length=4096)] = "[withheld: not supported by the sources]"
    retries: Annotated[int, Field(ge=1, le=5)] = 1
    samples: Annotated[int, Field(ge=1, le=20)] = 3
    system_prompt: bool = False
    prompt_sources: bool = True
    source_pattern: Annotated[str, Field(max_length=4096)] | None = None

    @model_validator(mode="after")
    def _has_place(self) -> GuardRules:
        pattern = self.source_pattern
        if pattern is not None and (
            pattern.count("{sources}") != 1 or not pattern.replace("{sources}", "").strip()
        ):
            raise ValueError(
                "source_pattern must contain {sources} once, with text before or after it"
            )
        return self


class PolicyFile(Thresholds):
    """A policy in its file format.

    Attributes:
        on: risk compared with ``accept`` and ``reject``: the record's own ``risk``, or a scorer's.
        unscored: the decision if that risk is null.
        by: field of the records' ``meta`` with their stratum.
        strata: thresholds of strata; missing ones are as above.
        ensemble: file of ``veridical tune``, relative to this file unless absolute. Its risk is
            compared, and answers covered by its guarantee are accepted.
        strictness: operating point of the verdicts, unless the run names one.
        guard: configuration of ``veridical guard``; ignored by other commands.
    """

    veridical_policy: Literal[1] = 1
    on: Name | None = None
    unscored: Decision = "review"
    by: Name | None = None
    ensemble: Name | None = None
    strata: Annotated[dict[str, Thresholds], Field(max_length=_MOST_STRATA)] = {}
    strictness: Strictness | None = None
    rules: Annotated[list[Rule], Field(max_length=_MOST_RULES)] = []
    guard: GuardRules = GuardRules()

    @model_validator(mode="after")
    def _fits_together(self) -> PolicyFile:
        if self.strata and self.by is None and self.ensemble is None:
            raise ValueError("strata require by, the field with their names")
        if self.ensemble is not None:
            if self.on is not None:
                raise ValueError("ensemble determines the risk; leave out on")
            if any(t.accept is not None for t in (self, *self.strata.values())):
                raise ValueError("ensemble's guarantee determines accept; leave out one of them")
        elif all(t.accept is None and t.reject is None for t in (self, *self.strata.values())):
            raise ValueError(
                "requires accept, reject or ensemble "
                "(accept = 1 accepts everything that no rule catches)"
            )
        return self


_TABLES: dict[str, type[BaseModel]] = {
    "strata": Thresholds,
    "rules": Rule,
    "unit": UnitRule,
    "guard": GuardRules,
}


def read_policy(path: str | Path) -> PolicyFile:
    """Read the policy in a TOML file.

    Raises:
        UsageError: it cannot be read, or is not a policy; the message names the field.
    """
    where = display(path)
    try:
        table = read_toml(path)
    except OSError as e:
        raise UsageError(f"cannot read policy {where}: {e.strerror}") from None
    except ValueError as e:
        raise UsageError(f"policy {where} is not a TOML file: {visible(str(e))}") from None
    return policy_of(table, f"policy {where}")


def policy_of(table: Mapping[str, Any], where: str) -> PolicyFile:
    """Validate a policy given as a table; files that it names are not opened.

    Args:
        where: name of the table in messages.

    Raises:
        UsageError: it is not a policy; the message names the field.
    """
    try:
        return PolicyFile.model_validate(table)
    except ValidationError as e:
        faults = itertools.islice(e.errors(include_url=False), 3)
        raise UsageError(f"{where}: {'; '.join(map(_fault, faults))}") from None


def _fault(error: ErrorDetails) -> str:
    place, table = _place(error["loc"])
    if error["type"] == "extra_forbidden":
        text = str(unknown_name("field", str(error["loc"][-1]), table.model_fields))
        inside = place.rpartition(".")[0]
        return f"{inside}: {text}" if inside else text
    message = str(error["msg"]).removeprefix("Value error, ")
    plain = isinstance(error["input"], (str, int, float))
    value = f", not {shown(error['input'])}" if plain else ""
    return f"{place}: {message}{value}" if place else f"{message}{value}"


def _place(loc: tuple[int | str, ...]) -> tuple[str, type[BaseModel]]:
    """Return the location in the file, such as ``rules[0].unit.over``, and its table."""
    place = ""
    table: type[BaseModel] = PolicyFile
    for i, part in enumerate(loc):
        if isinstance(part, int):
            place += f"[{part}]"
            continue
        place += ("." if place else "") + visible(part)
        if i < len(loc) - 1 and part in _TABLES and not (i and loc[i - 1] == "strata"):
            table = _TABLES[part]
    return place, table
