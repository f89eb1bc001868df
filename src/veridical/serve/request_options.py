"""Validation of a request's scorers, policy and records before anything runs.

Clients' texts may name only what the server offers. A scorer's parameter may name a file, a hub
model, an endpoint or an address, and parsing the scorers would open some of them. So their text is
checked before parsing, and their models afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from veridical.core.records import Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scorer_calls import read_calls
from veridical.core.scores import ResultSummary
from veridical.decide.policy import Policy
from veridical.decide.policy_file import policy_of
from veridical.engine.run import Task
from veridical.errors import RowError, UsageError
from veridical.io.columns import Columns
from veridical.io.memory import MemoryPart
from veridical.io.source import InputSource
from veridical.io.unused import LOOKED_AT, unused_columns
from veridical.run.request import Request
from veridical.serve.problems import Problem, place
from veridical.text.display import shown

if TYPE_CHECKING:
    from veridical.core.verdict_cuts import Strictness
    from veridical.engine.engine import Engine

#: Text parameters that name nothing outside of the package.
_PLAIN = frozenset({"criteria", "language", "aggregate", "extractor", "checker", "weights"})
_MOST_SCORERS = 64
_LONGEST = 4096
_MOST_UNUSED = 5  # maximum unused columns that an answer lists


@dataclass(frozen=True)
class ScoringRequest:
    """Scoring of a request's records."""

    scorers: Sequence[BoundScorer]
    policy: Policy | None = None
    strictness: Strictness | None = None

    @property
    def task(self) -> Task:
        of_policy = None if self.policy is None else self.policy.strictness
        return Task(self.scorers, self.strictness or of_policy or "balanced")


@dataclass(frozen=True)
class Offers:
    """Resources that clients' texts may name.

    Attributes:
        names: files, models and LLMs, each as scorers name it.
    """

    names: frozenset[str] = field(default_factory=frozenset)

    def wanted(
        self,
        engine: Engine,
        scorers: str | None,
        preset: str = "auto",
        *,
        claims: bool = False,
        policy: Mapping[str, Any] | None = None,
        strictness: Strictness | None = None,
    ) -> ScoringRequest:
        """Validate a request's scoring options.

        Raises:
            Problem: a part is unknown, or not offered.
        """
        try:
            if scorers is not None:
                self.check_text(scorers)
            run = Request.of(scorers, {"preset": preset, "claims": claims, "engine": engine})
            self._check_models(engine, run.scorers)
        except UsageError as e:
            raise Problem(422, str(e), errors=[{"field": "scorers", "error": str(e)}]) from None
        decides = None if policy is None else _policy(policy, run.scorers)
        return ScoringRequest(tuple(run.scorers), decides, strictness)

    def check_text(self, scorers: str) -> None:
        """Refuse scorers whose parameters name a resource that is not offered. Nothing is opened.

        Raises:
            UsageError: a parameter does.
        """
        if len(scorers) > _LONGEST:
            raise UsageError(f"scorers: longer than {_LONGEST} characters; name fewer")
        calls = read_calls(scorers)
        if len(calls) > _MOST_SCORERS:
            raise UsageError(f"scorers: more than {_MOST_SCORERS}; name fewer")
        for name, arguments in calls:
            for parameter, value in arguments.items():
                if (name, parameter) in _plain_parameters() and not _names_file(parameter, value):
                    continue
                for text in _texts(value):
                    self._check_name(name, parameter, text)

    def _check_name(self, scorer: str, parameter: str, text: str) -> None:
        if text in self.names or not text:
            return
        if parameter == "answer" and not text.startswith("regex:"):
            return  # a pattern could take unlimited time
        known = REGISTRY.get(scorer).parameters.get(parameter)
        if known is not None and text == known.default:
            return
        if parameter == "template" and text in _templates():
            return
        raise UsageError(
            f"{scorer}: {parameter} names {shown(text)}, which this server does not offer"
        )

    def _check_models(self, engine: Engine, scorers: Sequence[BoundScorer]) -> None:
        """Refuse scorers that need a model of their own that is not offered."""
        task = Task(scorers)
        needs = [(need.kind, need.spec) for need in task.needs() if need.spec is not None]
        needs += [("llm", spec) for spec in engine.llms_of(task) if spec is not None]
        for kind, spec in needs:
            if spec not in self.names and spec != engine.own(kind):
                default = engine.llms.default
                if kind == "llm" and default is not None and spec == default.name:
                    continue
                raise UsageError(f"the {kind} {shown(str(spec))} is not offered by this server")
        if None in engine.llms_of(task) and engine.llms.default is None:
            raise UsageError(
                "a scorer requires an LLM, and this server has no LLM; name other scorers"
            )


def records_of(
    rows: Sequence[Mapping[str, Any]], names: Mapping[str, str] | None = None
) -> list[Record]:
    """Read the records of a request's rows, as :func:`veridical.check` does.

    Args:
        names: other names of record fields, in requests of another format.

    Raises:
        Problem: some records are invalid; ``errors`` lists index and field of each.
    """
    records: list[Record] = []
    errors: list[dict[str, Any]] = []
    try:
        part = MemoryPart([dict(r) for r in rows])
        for row in InputSource([part], Columns(fixed=True), None).rows():
            if isinstance(row, RowError):
                errors.append({"index": row.row, "field": row.field, "error": row.error})
            else:
                records.append(row)
    except UsageError as e:
        raise Problem(422, f"records: {e}") from None
    if errors:
        first = errors[0]
        if names is None:
            parts = ["records", first["index"], *([first["field"]] if first["field"] else [])]
            where = place(parts)
        else:
            name, bracket, item = (first["field"] or "").partition(".")[0].partition("[")
            where = names[name] + bracket + item if name in names else "the request"
            errors = [{"field": where, "error": first["error"]}]
        raise Problem(422, f"{where}: {first['error']}", errors=errors[:20])
    return records


def unused_in(rows: Sequence[Mapping[str, Any]], lines: Sequence[bytes]) -> list[str]:
    """Return notices of a request's unused columns, as on the command line.

    These are columns with a likely meaning, and the others too if nothing was scored.

    Args:
        lines: the result lines of the rows.
    """
    found = unused_columns(rows[:LOOKED_AT], Columns(fixed=True))
    if any(ResultSummary.model_validate_json(line).risk is not None for line in lines):
        found = [column for column in found if column.meaning is not None]
    return [
        f"column {shown(c.column)} is not used"
        + ("" if c.meaning is None else f"; did you mean {c.meaning}? Call it {c.meaning}")
        for c in found[:_MOST_UNUSED]
    ]


def _policy(table: Mapping[str, Any], scorers: Sequence[BoundScorer]) -> Policy:
    """Read a policy object.

    Raises:
        Problem: it is not a policy, names a file, or refers to a missing score.
    """
    try:
        if table.get("ensemble") is not None:
            raise UsageError(
                "policy: ensemble names a file, which a request may not do; leave it out"
            )
        return Policy.of(policy_of(table, "policy"), scorers)
    except UsageError as e:
        raise Problem(422, str(e), errors=[{"field": "policy", "error": str(e)}]) from None


def _names_file(parameter: str, value: Any) -> bool:
    """Return True if an extractor is named with its trained file."""
    return parameter == "extractor" and "|" in str(value)


def _texts(value: Any) -> Collection[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [t for pair in value.items() for v in pair for t in _texts(v)]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [t for v in value for t in _texts(v)]
    return []


@lru_cache(maxsize=1)
def _plain_parameters() -> frozenset[tuple[str, str]]:
    """Return (scorer, parameter) pairs whose texts name nothing outside of the package.

    Such a text is one of a few words, or free text.
    """
    return frozenset(
        (scorer.name, name)
        for scorer in REGISTRY.all()
        for name, parameter in scorer.parameters.items()
        if name in _PLAIN or not _names(parameter.annotation)
    )


def _names(annotation: Any) -> bool:
    """Return True if a value of this type may be any text."""
    if annotation in (int, float, bool, type(None)) or get_origin(annotation) is Literal:
        return False
    parts = [part for part in get_args(annotation) if not isinstance(part, FieldInfo)]
    if parts:
        return any(_names(part) for part in parts)
    return annotation is not Ellipsis


@lru_cache(maxsize=1)
def _templates() -> frozenset[str]:
    from veridical.prompts import prompt_names

    return frozenset(prompt_names())
