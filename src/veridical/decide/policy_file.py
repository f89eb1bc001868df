"""What a policy file may say. It may come from anywhere, so everything in it is checked."""

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
#: Of units by the scorers of this package; those of others may have any.
_LABELS = (
    *("entailment", "neutral", "contradiction", "supported", "unsupported"),
    *("consistent", "inconsistent", "unclear"),
)

Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=4096)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Thresholds(_Part):
    """Two cuts of one risk; a cut that is not there is never reached.

    Attributes:
        accept: a risk at or under it is accepted.
        reject: a risk at or over it is rejected. What is between the two is reviewed.
    """

    accept: Share | None = None
    reject: Share | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Thresholds:
        if self.accept is not None and self.reject is not None and self.accept > self.reject:
            raise ValueError(f"accept ({self.accept:g}) is over reject ({self.reject:g})")
        return self


class UnitRule(_Part):
    """Holds for a unit of that ``label`` and ``level`` (any where not given) whose risk is larger
    than ``over``."""

    label: Name | None = None
    level: Level | None = None
    over: Share | None = None

    @model_validator(mode="after")
    def _says_something(self) -> UnitRule:
        if self.label is None and self.over is None:
            raise ValueError("needs a label, or over")
        # a slip of the pen would be a rule that never holds, and so be found out too late
        close = difflib.get_close_matches(self.label or "", _LABELS, n=1, cutoff=0.85)
        if close and self.label not in _LABELS:
            raise ValueError(f"label {shown(self.label)}: did you mean {close[0]!r}?")
        return self


class Rule(_Part):
    """A reason to look again, or to reject, whatever the thresholds say. It makes no decision
    milder.

    Attributes:
        then: the decision where it holds.
        scorer: whose score is looked at, as ``--scorers`` names it. Without one, ``over`` is of
            the record's own risk, and ``unit`` and ``status`` of any score.
        over: the risk is larger.
        unit: it holds for any unit.
        status: of the score.
        rule: whether CheckEmbed's rule of thumb for a good answer (mean cosine > 0.9, standard
            deviation < 0.05, section 4.2) holds, by the score of ``checkembed``.
        verdict: of the record.
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
            raise ValueError("needs exactly one of over, unit, status, rule and verdict")
        if self.rule is not None and (self.scorer or "").partition("(")[0] != "checkembed":
            raise ValueError('rule is CheckEmbed\'s: name scorer = "checkembed"')
        if self.verdict is not None and self.scorer is not None:
            raise ValueError("verdict is of the record: leave out scorer")
        return self


OnReject = Literal["block", "drop", "replace", "repair", "retry"]


class GuardRules(_Part):
    """The table ``[guard]``: what ``veridical guard`` does about answers in flight.

    Attributes:
        on_reject: what becomes of a rejected sentence: ``block`` ends the answer before it,
            ``drop`` leaves it out, ``replace`` puts ``replacement`` in its place, ``repair`` has
            the upstream rewrite it by the evidence, ``retry`` has the upstream write the rest
            anew.
        replacement: see ``on_reject``.
        retries: answers that are asked for anew, at most.
        samples: other answers that are asked for beside each, where a scorer that the policy
            names compares with samples.
        system_prompt: whether the system prompt is evidence too.
        prompt_sources: whether sources are looked for in the text of messages where a request
            has no others.
        source_pattern: the text around the sources in messages, with ``{sources}`` in their
            place; without it, tags and headings are looked for.
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
            raise ValueError("source_pattern needs {sources} once, with text before or after it")
        return self


class PolicyFile(Thresholds):
    """A policy as it is written.

    Attributes:
        on: what ``accept`` and ``reject`` cut: the record's own ``risk``, or a scorer's.
        unscored: the decision where that risk is null.
        by: field of the records' ``meta`` that names their stratum.
        strata: thresholds of a stratum; what is not given there is as above.
        ensemble: file of ``veridical tune``, beside this one unless absolute. Its risk is cut,
            and accepted is what its guarantee covers.
        strictness: operating point of the verdicts, unless the run names one.
        guard: what ``veridical guard`` does; other commands do not read it.
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
            raise ValueError("strata need by, the field that names them")
        if self.ensemble is not None:
            if self.on is not None:
                raise ValueError("ensemble says which risk is cut: leave out on")
            if any(t.accept is not None for t in (self, *self.strata.values())):
                raise ValueError("accept comes from the guarantee of ensemble: leave one out")
        elif all(t.accept is None and t.reject is None for t in (self, *self.strata.values())):
            raise ValueError("needs accept, reject or ensemble (accept = 1 accepts all but rules)")
        return self


_TABLES: dict[str, type[BaseModel]] = {
    "strata": Thresholds,
    "rules": Rule,
    "unit": UnitRule,
    "guard": GuardRules,
}


def read_policy(path: str | Path) -> PolicyFile:
    """The policy in a TOML file.

    Raises:
        UsageError: it cannot be read, or is no policy; the message names the field.
    """
    where = display(path)
    try:
        table = read_toml(path)
    except OSError as e:
        raise UsageError(f"cannot read policy {where}: {e.strerror}") from None
    except ValueError as e:
        raise UsageError(f"policy {where} is no TOML file: {visible(str(e))}") from None
    return policy_of(table, f"policy {where}")


def policy_of(table: Mapping[str, Any], where: str) -> PolicyFile:
    """The policy that a table says; files that it names are not opened.

    Args:
        where: what messages call the table.

    Raises:
        UsageError: it is no policy; the message names the field.
    """
    try:
        return PolicyFile.model_validate(table)
    except ValidationError as e:
        faults = itertools.islice(e.errors(include_url=False), 3)
        raise UsageError(f"{where}: {'; '.join(map(_fault, faults))}") from None


def _fault(error: ErrorDetails) -> str:
    place, table = _place(error["loc"])
    if error["type"] == "extra_forbidden":
        text = str(unknown_name("field", visible(str(error["loc"][-1])), table.model_fields))
        inside = place.rpartition(".")[0]
        return f"{inside}: {text}" if inside else text
    message = str(error["msg"]).removeprefix("Value error, ")
    plain = isinstance(error["input"], (str, int, float))
    value = f", not {shown(error['input'])}" if plain else ""
    return f"{place}: {message}{value}" if place else f"{message}{value}"


def _place(loc: tuple[int | str, ...]) -> tuple[str, type[BaseModel]]:
    """The place in the file, as ``rules[0].unit.over``, and the table that it is in."""
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
