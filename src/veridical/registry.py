"""The scorer registry: names, parameters, needs, costs and sources, kept in one place.

The CLI table, the docs page, the dry run and the web form are generated from it.
"""

from __future__ import annotations

import importlib
import inspect
import threading
import types
import typing
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal, get_args

from veridical.errors import UsageError, unknown_name
from veridical.records import Against
from veridical.scorer_calls import read_calls

if TYPE_CHECKING:
    from veridical.evidence import Evidence
    from veridical.records import Record
    from veridical.scores import Level, Score

ScorerFunction = Callable[..., Coroutine[Any, Any, "Score"]]
Cost = Literal["free", "embed", "tokens", "nli", "probabilities", "seq2seq", "llm"]

#: Modules whose import registers the built-in scorers.
BUILTIN_MODULES = (
    "veridical.scorers.consistency",
    "veridical.scorers.grounding",
    "veridical.scorers.probability",
    "veridical.scorers.judges",
    "veridical.scorers.ensembles",
)
ENTRY_POINT_GROUP = "veridical.scorers"


@dataclass(frozen=True)
class Scorer:
    """A registered method.

    Attributes:
        needs: record fields (``samples``, ``contexts``, ``reference``, ``logprobs``) without
            which it is not applicable. ``against`` stands for whichever field its ``against``
            parameter names.
        cost: the dearest thing it asks of the evidence layer. ``free`` scorers are pure functions
            of the record and may run in worker processes. Those of cost ``llm`` are in a preset
            only where an LLM is named.
        uses: what else it asks for, by cost.
        costs_by: where its arguments decide what it asks for, all of it, of the arguments by
            name, those not given at their defaults; ``cost`` and ``uses`` then say what it asks
            for at most.
        checkpoints: parameters that name a checkpoint, by its kind (see
            :data:`veridical.models.seq2seq.KINDS`); those of a scorer of cost ``seq2seq``. The
            name of another parameter in braces stands for its value.
        raw_is: whether a larger raw value means more ``risk`` or more ``confidence``.
        raw_key: which entry of a raw object is the method's headline number.
        version: raised whenever the same input would get another number.
        tuned_on: data set -> the parameters whose default values were chosen on it; none named
            means that the method itself was. Figures on it are "in-domain".
        prompts: templates it may ask an LLM by, besides those that its parameters name; or a
            function of its parameters that tells them.
        check: called with all parameters before a run; a :class:`UsageError` where they do not go
            together. What each may be its annotation says.
        parts: of a scorer over scores: the scorers it asks, by round, of all its parameters. A
            record may do without the later rounds. What they cost and name is then its own too.
    """

    name: str
    function: ScorerFunction
    level: Level
    needs: frozenset[str]
    cost: Cost
    source: str
    raw_is: Literal["risk", "confidence"]
    raw_key: str | None
    presets: frozenset[str]
    version: int
    tuned_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uses: frozenset[Cost] = frozenset()
    prompts: tuple[str, ...] | Callable[..., Iterable[str]] = ()
    check: Callable[..., object] | None = None
    costs_by: Callable[..., Iterable[Cost]] | None = None
    checkpoints: Mapping[str, str] = field(default_factory=dict)
    parts: Callable[..., Iterable[Iterable[BoundScorer]]] | None = None

    @property
    def costs(self) -> frozenset[Cost]:
        """All that it may ask of the evidence layer."""
        return self.uses | {self.cost}

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Keyword-only parameters of the function, with resolved annotations, limits included."""
        found = {
            p.name: p
            for p in inspect.signature(self.function).parameters.values()
            if p.kind is inspect.Parameter.KEYWORD_ONLY
        }
        # only these: the others' types may be imported for type checkers alone
        own = types.SimpleNamespace(__annotations__={n: p.annotation for n, p in found.items()})
        hints = typing.get_type_hints(own, globalns=self.function.__globals__, include_extras=True)
        return {n: p.replace(annotation=hints.get(n, Any)) for n, p in found.items()}

    @cached_property
    def validators(self) -> dict[str, Callable[[Any], Any]]:
        """What checks and coerces a value of each parameter; no number may be infinite or NaN."""
        from pydantic import ConfigDict, TypeAdapter

        finite = ConfigDict(allow_inf_nan=False)
        return {
            n: TypeAdapter(p.annotation, config=finite).validate_python
            for n, p in self.parameters.items()
        }

    @property
    def comparisons(self) -> tuple[str, ...]:
        """What the scorer can be set ``against``; empty where it has no choice."""
        parameter = self.parameters.get("against")
        return () if parameter is None else get_args(parameter.annotation)

    def signed_raw(self, score: Score) -> float | None:
        """The raw headline number, signed so that larger means riskier (contract section 4)."""
        return self.signed(score.raw) if score.status == "scored" else None

    def signed(self, raw: float | dict[str, Any] | None) -> float | None:
        """The headline number of a raw value, signed so that larger means riskier."""
        if isinstance(raw, dict):
            raw = raw.get(self.raw_key or "")
        if raw is None:
            return None
        return float(raw) if self.raw_is == "risk" else -float(raw)


@dataclass(frozen=True)
class BoundScorer:
    """A scorer with its parameters: what ``name(p=value)`` denotes."""

    scorer: Scorer
    arguments: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """Canonical text: the name, and the parameters that differ from their defaults, sorted."""
        defaults = {n: p.default for n, p in self.scorer.parameters.items()}
        given = [
            f"{n}={_show(v)}" for n, v in sorted(self.arguments.items()) if v != defaults.get(n)
        ]
        return f"{self.scorer.name}({','.join(given)})" if given else self.scorer.name

    @property
    def spec(self) -> str:
        """Text that :meth:`Registry.parse` reads back to this very scorer."""
        given = ",".join(f"{n}={v!r}" for n, v in self.arguments.items())
        return f"{self.scorer.name}({given})"

    @property
    def call(self) -> str:
        """:attr:`spec` as one would write it: ``ngram``, ``ngram(n=2)``."""
        return self.spec.removesuffix("()")

    def in_domain(self, data_set: str) -> bool:
        """Whether the scorer as bound, or one that it asks, was tuned on ``data_set``."""
        if any(part.in_domain(data_set) for part in self.parts):
            return True
        chosen = self.scorer.tuned_on.get(data_set)
        if chosen is None:
            return False
        defaults = {n: self.scorer.parameters[n].default for n in chosen}
        return all(self.arguments.get(n, d) == d for n, d in defaults.items())

    @property
    def portable(self) -> bool:
        """Whether another process would find the same scorer: it is built in or installed."""
        return REGISTRY.installed(self.scorer.name)

    @cached_property
    def values(self) -> dict[str, Any]:
        """All its parameters, those left at their defaults included."""
        return {n: p.default for n, p in self.scorer.parameters.items()} | self.arguments

    @cached_property
    def rounds(self) -> tuple[tuple[BoundScorer, ...], ...]:
        """The scorers that it asks, by round; none unless it is a scorer over scores.

        Raises:
            UsageError: its arguments name something that does not exist.
        """
        if self.scorer.parts is None:
            return ()
        return tuple(tuple(asked) for asked in self.scorer.parts(**self.values))

    @property
    def parts(self) -> tuple[BoundScorer, ...]:
        """Those of all rounds."""
        return tuple(part for asked in self.rounds for part in asked)

    @cached_property
    def costs(self) -> frozenset[Cost]:
        """All that it asks of the evidence layer.

        Raises:
            UsageError: its arguments name something that does not exist.
        """
        if self.scorer.parts is not None:
            return frozenset(cost for part in self.parts for cost in part.costs)
        if self.scorer.costs_by is None:
            return self.scorer.costs
        return frozenset(self.scorer.costs_by(**self.values))

    @property
    def cost(self) -> Cost:
        """The dearest of them."""
        order = get_args(Cost)
        return max(self.costs, key=order.index, default=self.scorer.cost)

    @cached_property
    def needs(self) -> frozenset[str]:
        """Needed record fields, with ``against`` and ``proxy`` resolved."""
        needs = set(self.scorer.needs)
        if "against" in needs:
            needs.discard("against")
            if (chosen := self.values["against"]) in get_args(
                Against
            ):  # "auto" takes what there is
                needs.add(chosen)
        if self.arguments.get("proxy") is not None:  # the proxy reads what is not on record
            needs.discard("logprobs")
        return frozenset(needs)

    def models(self, kind: str) -> tuple[str | None, ...]:
        """The LLMs (``kind`` ``llm``) or language models (``proxy``) that the scorer's parameter
        of that name, or ``judges``, names: with commas between them, ``self`` for the run's own,
        and what they are asked by after ``|``; or its one NLI model (``nli``), and the one that
        ranks passages (``ranker``) if given. None stands for the run's own."""
        if self.scorer.parts is not None:
            cost = "probabilities" if kind == "proxy" else kind
            asked = [part.models(kind) for part in self.parts if cost in part.costs]
            return tuple(dict.fromkeys(name for names in asked for name in names))
        if kind == "nli":  # commas and bars belong to a name
            names = [self.values.get("nli") or None, *filter(None, [self.values.get("ranker")])]
            return tuple(dict.fromkeys(names))
        given = self.values.get("judges" if kind == "llm" and "judges" in self.values else kind)
        if not isinstance(given, str):
            return (None,)
        names = [part.partition("|")[0].strip() for part in given.split(",")]
        return tuple(dict.fromkeys(None if n in ("", "self") else n for n in names))

    def check(self) -> None:
        """
        Raises:
            UsageError: the parameters do not go together.
        """
        for part in self.parts:
            part.check()
        if self.scorer.check is None:
            return
        try:
            self.scorer.check(**self.values)
        except UsageError as e:
            raise UsageError(f"{self.key}: {e}") from None

    @cached_property
    def prompts(self) -> tuple[str, ...]:
        """``name@version`` of the templates it may ask by, sorted: those that a parameter names
        whose type can tell them (``prompts``), and those the scorer declares."""
        names: list[str] = []
        for name, parameter in self.scorer.parameters.items():
            told = getattr(parameter.annotation, "prompts", None)
            if told is not None:
                names += told(self.values[name])
        if "llm" in self.costs or "llm" not in self.scorer.costs:
            own = self.scorer.prompts
            names += own(**self.values) if callable(own) else own
        found = {prompt for part in self.parts for prompt in part.prompts}
        if names:
            from veridical.llm.prompts import prompt_identity

            found.update(map(prompt_identity, names))
        return tuple(sorted(found))

    @cached_property
    def checkpoints(self) -> tuple[tuple[str, str, bool], ...]:
        """Kind and name of each checkpoint it asks, and whether its arguments name another than
        the scorer's own."""
        if self.scorer.parts is not None:
            return tuple(dict.fromkeys(c for part in self.parts for c in part.checkpoints))
        if "seq2seq" not in self.costs:
            return ()
        found = []
        for parameter, kind in self.scorer.checkpoints.items():
            given = self.values[parameter] != self.scorer.parameters[parameter].default
            found.append((kind, self.checkpoint(parameter), given))
        return tuple(dict.fromkeys(found))

    def checkpoint(self, parameter: str) -> str:
        """The name of the checkpoint in ``parameter``, braces filled."""
        name = str(self.values[parameter])
        for other, value in self.values.items():
            name = name.replace(f"{{{other}}}", str(value))
        return name

    def signature(self, models: str = "") -> str:
        """``name|vN|model|prompts|parameters``: enough to repeat the number."""
        return "|".join(filter(None, [self._head, models, self._tail]))

    def may_sign(self, signature: str) -> bool:
        """Whether ``signature`` may be one of its own, with whatever models."""
        begins = f"{signature}|".startswith(f"{self._head}|")
        return begins and signature.endswith(f"|{self._tail}" if self._tail else "")

    @cached_property
    def _head(self) -> str:
        return f"{self.scorer.name}|v{self.scorer.version}"

    @cached_property
    def _tail(self) -> str:
        shown = (f"{n}:{_show(self.values[n])}" for n in self.scorer.parameters)
        return "|".join([*(f"prompt:{p}" for p in self.prompts), *shown])

    async def __call__(self, record: Record, evidence: Evidence) -> Score:
        return await self.scorer.function(record, evidence, **self.arguments)


class Registry:
    """Thread-safe map of names to scorers. Built-ins and entry points load on first use."""

    def __init__(self) -> None:
        self._scorers: dict[str, Scorer] = {}
        self._lock = threading.RLock()
        self._loaded = False
        self._installed: frozenset[str] = frozenset()

    def register(self, scorer: Scorer) -> None:
        """Add a scorer. A second function under a taken name is an error; a reload is not."""
        with self._lock:
            old = self._scorers.get(scorer.name)
            if old is not None and _place(old.function) != _place(scorer.function):
                raise UsageError(
                    f"scorer {scorer.name!r} is registered twice: "
                    f"{_place(old.function)} and {_place(scorer.function)}"
                )
            self._scorers[scorer.name] = scorer

    def _load(self) -> None:
        with self._lock:
            if self._loaded:
                return
            self._loaded = True
            before = frozenset(self._scorers)
            for module in BUILTIN_MODULES:
                importlib.import_module(module)
            for point in entry_points(group=ENTRY_POINT_GROUP):
                try:
                    point.load()
                except Exception as e:
                    raise UsageError(
                        f"scorer plug-in {point.name!r} ({point.value}) failed to load: {e}"
                    ) from e
            self._installed = frozenset(
                name
                for name, s in self._scorers.items()
                if name not in before or s.function.__module__.startswith("veridical.")
            )

    def installed(self, name: str) -> bool:
        """Whether ``name`` came from this package or an entry point."""
        self._load()
        return name in self._installed

    def names(self) -> list[str]:
        self._load()
        return sorted(self._scorers)

    def all(self) -> list[Scorer]:
        return [self._scorers[n] for n in self.names()]

    def get(self, name: str) -> Scorer:
        """The scorer called ``name``; an unknown one is a :class:`UsageError` with suggestions."""
        self._load()
        if name not in self._scorers:
            raise unknown_name("scorer", name, self._scorers)
        return self._scorers[name]

    def bind(self, name: str, arguments: dict[str, Any]) -> BoundScorer:
        """Check and coerce ``arguments`` by the scorer's own annotations."""
        from pydantic import ValidationError

        from veridical.io.problems import shown

        scorer = self.get(name)
        bound: dict[str, Any] = {}
        for key, value in arguments.items():
            if key not in scorer.parameters:
                known = ", ".join(scorer.parameters) or "none"
                raise UsageError(f"{name} has no parameter {key!r}; it takes: {known}")
            try:
                bound[key] = scorer.validators[key](value)
            except ValidationError as e:
                why = "; ".join(str(x["msg"]) for x in e.errors())
                raise UsageError(f"{name}({key}={shown(value)}): {why}") from None
        return BoundScorer(scorer, bound)

    def parse(self, text: str) -> list[BoundScorer]:
        """Scorers from ``"a, b(p=1, q=word)"``. Duplicates are an error."""
        found = [self.bind(name, arguments) for name, arguments in read_calls(text)]
        _refuse_duplicates(found)
        return found

    def preset(self, name: str, llm: bool = False) -> list[BoundScorer]:
        """Scorers of a preset, in registration order of their modules; without ``llm`` none that
        would call one."""
        self._load()
        members = [BoundScorer(s) for s in self._scorers.values() if name in s.presets]
        found = [b for b in members if llm or "llm" not in b.costs]
        if not found:
            raise unknown_name(
                "preset", name, {p for s in self._scorers.values() for p in s.presets}
            )
        return found


REGISTRY = Registry()


def scorer(
    name: str,
    *,
    level: Level,
    needs: Iterable[str] = (),
    source: str,
    cost: Cost = "free",
    raw_is: Literal["risk", "confidence"] = "risk",
    raw_key: str | None = None,
    presets: Iterable[str] = (),
    version: int = 1,
    tuned_on: Mapping[str, tuple[str, ...]] | None = None,
    uses: Iterable[Cost] = (),
    prompts: Iterable[str] | Callable[..., Iterable[str]] = (),
    check: Callable[..., object] | None = None,
    costs_by: Callable[..., Iterable[Cost]] | None = None,
    checkpoints: Mapping[str, str] | None = None,
    parts: Callable[..., Iterable[Iterable[BoundScorer]]] | None = None,
) -> Callable[[ScorerFunction], ScorerFunction]:
    """Register ``async (record, evidence, *, parameters) -> Score`` under ``name``."""

    def register(function: ScorerFunction) -> ScorerFunction:
        if not inspect.iscoroutinefunction(function):
            raise UsageError(f"scorer {name!r} must be an async function")
        REGISTRY.register(
            Scorer(
                name=name,
                function=function,
                level=level,
                needs=frozenset(needs),
                cost=cost,
                source=source,
                raw_is=raw_is,
                raw_key=raw_key,
                presets=frozenset(presets),
                version=version,
                tuned_on=dict(tuned_on or {}),
                uses=frozenset(uses),
                prompts=prompts if callable(prompts) else tuple(prompts),
                check=check,
                costs_by=costs_by,
                checkpoints=dict(checkpoints or {}),
                parts=parts,
            )
        )
        return function

    return register


def resolve(
    scorers: str | Iterable[str | BoundScorer] | None,
    preset: str = "auto",
    against: str | None = None,
    llm: bool = False,
    proxy: str | None = None,
    claims: bool = False,
) -> list[BoundScorer]:
    """The scorers a run will use: named ones, else a preset; ``against`` and ``proxy`` applied
    where taken.

    ``llm`` tells whether the run has an LLM, so that a preset may hold scorers that call one.
    ``claims`` adds the scorer of that name unless it is among them, with whatever parameters.
    """
    if scorers is None:
        bound = REGISTRY.preset(preset, llm)
    elif isinstance(scorers, str):
        bound = REGISTRY.parse(scorers)
    else:
        bound = [
            b for s in scorers for b in ([s] if isinstance(s, BoundScorer) else REGISTRY.parse(s))
        ]
        _refuse_duplicates(bound)
    if claims and not any(b.scorer.name == "claims" for b in bound):
        bound.append(REGISTRY.bind("claims", {}))
        if scorers is None:  # the shipped ensemble counts them
            bound = [
                REGISTRY.bind("ensemble", {"claims": True}) if b.key == "ensemble" else b
                for b in bound
            ]
    if not bound:
        raise UsageError("no scorers were asked for")
    if against is not None:
        bound = [
            REGISTRY.bind(b.scorer.name, {"against": against, **b.arguments})
            if against in b.scorer.comparisons
            else b
            for b in bound
        ]
        _refuse_duplicates(bound)
    if proxy is not None:
        bound = [
            REGISTRY.bind(b.scorer.name, {"proxy": proxy, **b.arguments})
            if "proxy" in b.scorer.parameters
            else b
            for b in bound
        ]
        _refuse_duplicates(bound)
    for b in bound:
        b.check()
    return bound


def _place(function: ScorerFunction) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _refuse_duplicates(scorers: list[BoundScorer]) -> None:
    seen: set[str] = set()
    for s in scorers:
        if s.key in seen:
            raise UsageError(f"scorer {s.key!r} is asked for twice")
        seen.add(s.key)


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
