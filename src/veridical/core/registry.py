"""Scorer registry: names, parameters, needs, costs and sources.

The CLI table, the docs page, the dry run and the web form are generated from it.
"""

from __future__ import annotations

import inspect
import threading
import types
import typing
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from veridical import plugins
from veridical.core.identity import Identity, Signature, shown
from veridical.core.kinds import KINDS, costs
from veridical.core.records import Against
from veridical.core.scorer_calls import read_calls, refuse_duplicates
from veridical.core.scores import Level
from veridical.core.verdict_cuts import Cuts, Strictness
from veridical.errors import UsageError, unknown_name
from veridical.plugins import import_string

if TYPE_CHECKING:
    from typing_extensions import Required, Unpack

    from veridical.core.records import Record
    from veridical.core.scores import Score

#: Most expensive request of a scorer: ``free``, or the cost of a kind of model.
Cost: TypeAlias = str
ScorerFunction = Callable[..., Coroutine[Any, Any, "Score"]]

RawIs = Literal["risk", "confidence"]
#: Basis of a risk: statements judged by contexts or references, agreement with samples or the
#: model's own probabilities, or words alone.
Basis = Literal["sources", "agreement", "words"]
Prompts = Iterable[str] | Callable[..., Iterable[str]]
Models = Mapping[str, str] | Callable[..., Mapping[str, Iterable[str | None]]]
Parts = Callable[..., Iterable[Iterable["BoundScorer"]]]
CutsOf = Callable[..., Cuts | None]
#: A built-in scorer: ``"module:function"``, its presets, and True if it always requires an LLM.
Builtin: TypeAlias = tuple[str, frozenset[str], bool]

_LAB = plugins.LAB[plugins.SCORERS]
DECLARED = "__veridical_scorer__"  # attribute of a registered function


class Declaration(TypedDict, total=False):
    """Options of :func:`scorer`; see :class:`Scorer` for their meaning."""

    level: Required[Level]
    source: Required[str]
    judges: bool
    auxiliary: bool
    apart: bool  # the name of ``auxiliary`` in version 0.2; goes away in 0.4
    needs: Iterable[str]
    cost: Cost
    uses: Iterable[Cost]
    costs_by: Callable[..., Iterable[Cost]] | None
    raw_is: RawIs
    raw_key: str | None
    presets: Iterable[str]
    version: int
    added: Iterable[str]
    tuned_on: Mapping[str, tuple[str, ...]]
    prompts: Prompts
    check: Callable[..., object] | None
    models: Models
    checkpoints: Mapping[str, str]
    parts: Parts | None
    stages: Callable[..., Iterable[str]] | None
    cuts: CutsOf | None


@dataclass(frozen=True)
class Scorer:
    """A registered method.

    Attributes:
        judges: True if it judges every statement of the response by contexts or references, so that
            a verdict may rest on it.
        auxiliary: the score does not measure factual support of all statements (e.g. answer
            relevancy). No verdict rests on it, and its risk is the record's risk only in a run of
            auxiliary scorers alone.
        needs: record fields (``samples``, ``contexts``, ``reference``, ``logprobs``) without
            which it is not applicable. ``against`` stands for whichever field its ``against``
            parameter names; a named proxy replaces ``logprobs``.
        cost: the most expensive kind of request that it makes. ``free`` scorers are pure functions
            of the record and may run in worker processes. Those of cost ``llm`` are in a preset
            only where an LLM is named.
        uses: costs of its other requests.
        costs_by: function of its arguments (defaults included) that returns all costs, if the
            arguments decide them; ``cost`` and ``uses`` are then upper bounds.
        raw_is: ``risk`` if a larger raw value means more risk, else ``confidence``.
        raw_key: the entry of a raw object that is the method's main value.
        version: raised whenever the same input would get a different value.
        added: parameters added after the first release. At their defaults they are not in the
            signature, so that earlier scores and ensembles stay valid.
        tuned_on: data set -> parameters whose defaults were chosen on it; an empty tuple means that
            the method itself was. Figures on it are "in-domain".
        prompts: LLM templates that it may use, except those that its parameters name; or a function
            of its parameters that returns them.
        check: called with all parameters before a run; raises :class:`UsageError` if they cannot be
            combined. The annotations give the valid values of each.
        models: parameters that name a further model, by its kind: ``llm``, ``proxy`` or ``nli``.
            Parameters named like a kind need no entry. Or a function of all its parameters that
            returns the models of each kind; None is the run's own.
        checkpoints: parameters that name a checkpoint, by its kind (see
            :data:`veridical.core.kinds.KINDS`); those of a scorer of cost ``seq2seq``. The
            name of another parameter in braces stands for its value.
        parts: for a scorer over scores: function of all its parameters that returns the scorers it
            uses, by round. A record may not need the later rounds. Their costs and models are then
            its own too.
        cuts: function of a score's raw object, the strictness and all its parameters that returns
            the risks at which the verdict changes, or None. Without it, the shipped table applies;
            a scorer that is not in it gives a risk and no verdict.
        stages: function of all its parameters that returns the names of stages at which scoring a
            record may end. It is empty if there is only one path.
    """

    name: str
    function: ScorerFunction
    level: Level
    source: str
    judges: bool = False
    auxiliary: bool = False
    needs: frozenset[str] = frozenset()
    cost: Cost = "free"
    uses: frozenset[Cost] = frozenset()
    costs_by: Callable[..., Iterable[Cost]] | None = None
    raw_is: RawIs = "risk"
    raw_key: str | None = None
    presets: frozenset[str] = frozenset()
    version: int = 1
    added: frozenset[str] = frozenset()
    tuned_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prompts: tuple[str, ...] | Callable[..., Iterable[str]] = ()
    check: Callable[..., object] | None = None
    models: Models = field(default_factory=dict)
    checkpoints: Mapping[str, str] = field(default_factory=dict)
    parts: Parts | None = None
    stages: Callable[..., Iterable[str]] | None = None
    cuts: CutsOf | None = None

    @classmethod
    def of(cls, name: str, function: ScorerFunction, **declared: Unpack[Declaration]) -> Scorer:
        """Make the scorer of a declaration, whose iterables may be of any type."""
        options: dict[str, Any] = dict(declared)
        if "apart" in options:
            warning = (
                f"scorer {name!r}: apart is auxiliary now; the old name goes away in version 0.4"
            )
            warnings.warn(warning, DeprecationWarning, stacklevel=3)
            options["auxiliary"] = options.pop("apart")
        known = Declaration.__annotations__
        for option in options:
            if option not in known:
                raise unknown_name("option of a scorer", option, known)
        for option in ("level", "source"):
            if option not in options:
                raise UsageError(f"scorer {name!r} has no {option}")
        if options["level"] not in get_args(Level):
            raise unknown_name("level", str(options["level"]), get_args(Level))
        for option in ("needs", "uses", "presets", "added"):
            options[option] = frozenset(options.get(option, ()))
        if not callable(prompts := options.get("prompts", ())):
            options["prompts"] = tuple(prompts)
        return cls(name, function, **options)

    @property
    def costs(self) -> frozenset[Cost]:
        """All costs of its requests."""
        return self.uses | {self.cost}

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Keyword-only parameters of the function, with resolved annotations, limits included."""
        parameters = {
            p.name: p
            for p in inspect.signature(self.function).parameters.values()
            if p.kind is inspect.Parameter.KEYWORD_ONLY
        }
        # only these: the others' types may be imported for type checkers alone
        annotated = types.SimpleNamespace(
            __annotations__={n: p.annotation for n, p in parameters.items()}
        )
        hints = typing.get_type_hints(
            annotated, globalns=self.function.__globals__, include_extras=True
        )
        return {n: p.replace(annotation=hints.get(n, Any)) for n, p in parameters.items()}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Default values of the parameters, by name."""
        return {n: p.default for n, p in self.parameters.items()}

    @cached_property
    def validators(self) -> dict[str, Callable[[Any], Any]]:
        """Validators that check and coerce a value of each parameter; infinity and NaN are
        refused."""
        from pydantic import ConfigDict, TypeAdapter

        finite = ConfigDict(allow_inf_nan=False)
        return {
            n: TypeAdapter(p.annotation, config=finite).validate_python
            for n, p in self.parameters.items()
        }

    @property
    def comparisons(self) -> tuple[str, ...]:
        """Valid values of ``against``; empty if the scorer has no such parameter."""
        parameter = self.parameters.get("against")
        return () if parameter is None else get_args(parameter.annotation)

    def signed_raw(self, score: Score) -> float | None:
        """Return the main raw value, signed so that larger means riskier (contract section 4)."""
        return self.signed(score.raw) if score.status == "scored" else None

    def signed(self, raw: float | dict[str, Any] | None) -> float | None:
        """Return the main value of ``raw``, signed so that larger means riskier."""
        if isinstance(raw, dict):
            raw = raw.get(self.raw_key or "")
        if raw is None:
            return None
        return float(raw) if self.raw_is == "risk" else -float(raw)


@dataclass(frozen=True)
class BoundScorer:
    """A scorer with its parameters, written ``name(p=value)``."""

    scorer: Scorer
    arguments: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def identity(self) -> Identity:
        """Name, and the parameters that differ from their defaults, sorted."""
        defaults = self.scorer.defaults
        changed = sorted((n, v) for n, v in self.arguments.items() if v != defaults.get(n))
        return Identity(self.scorer.name, tuple((n, shown(v)) for n, v in changed))

    @cached_property
    def key(self) -> str:
        """Text of :attr:`identity`, the key of the score in results."""
        return str(self.identity)

    @property
    def spec(self) -> str:
        """Text that :meth:`Registry.parse` reads back to this scorer."""
        arguments = ",".join(f"{n}={v!r}" for n, v in self.arguments.items())
        return f"{self.scorer.name}({arguments})"

    @property
    def call(self) -> str:
        """:attr:`spec` in its usual notation: ``ngram``, ``ngram(n=2)``."""
        return self.spec.removesuffix("()")

    def in_domain(self, data_set: str) -> bool:
        """Return True if this scorer, or one that it uses, was tuned on ``data_set``."""
        if any(part.in_domain(data_set) for part in self.parts):
            return True
        chosen = self.scorer.tuned_on.get(data_set)
        if chosen is None:
            return False
        return all(self.values[n] == self.scorer.defaults[n] for n in chosen)

    @property
    def portable(self) -> bool:
        """True if other processes find the same scorer: it is built in or installed."""
        return REGISTRY.installed(self.scorer.name)

    @cached_property
    def values(self) -> dict[str, Any]:
        """All parameters, defaults included."""
        return self.scorer.defaults | self.arguments

    @cached_property
    def rounds(self) -> tuple[tuple[BoundScorer, ...], ...]:
        """Scorers that it uses, by round; empty unless it is a scorer over scores.

        Raises:
            UsageError: an argument names something that does not exist.
        """
        if self.scorer.parts is None:
            return ()
        return tuple(tuple(scorers) for scorers in self.scorer.parts(**self.values))

    @property
    def parts(self) -> tuple[BoundScorer, ...]:
        """Scorers that it uses, in any round."""
        return tuple(part for scorers in self.rounds for part in scorers)

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages at which scoring a record may end, in order; usually empty."""
        return () if self.scorer.stages is None else tuple(self.scorer.stages(**self.values))

    @cached_property
    def costs(self) -> frozenset[Cost]:
        """All costs of its requests.

        Raises:
            UsageError: an argument names something that does not exist.
        """
        if self.scorer.parts is not None:
            return frozenset(cost for part in self.parts for cost in part.costs)
        if self.scorer.costs_by is None:
            return self.scorer.costs
        return frozenset(self.scorer.costs_by(**self.values))

    @cached_property
    def cost(self) -> Cost:
        """The highest of the costs."""
        return max(self.costs, key=costs().index, default=self.scorer.cost)

    @cached_property
    def needs(self) -> frozenset[str]:
        """Required record fields, with ``against`` and proxies resolved."""
        needs = set(self.scorer.needs)
        if "against" in needs:
            needs.discard("against")
            if (field := self.values["against"]) in get_args(Against):  # "auto" takes what is there
                needs.add(field)
        if any(self.models("proxy")):  # the proxy reads text that is not in the record
            needs.discard("logprobs")
        return frozenset(needs)

    def models(self, kind: str) -> tuple[str | None, ...]:
        """Return the models of a ``kind`` (``llm``, ``proxy``, ``nli``) named by its parameters;
        None is the run's own."""
        if self.scorer.parts is not None:
            cost = KINDS[kind].cost
            by_part = [part.models(kind) for part in self.parts if cost in part.costs]
            return tuple(dict.fromkeys(name for names in by_part for name in names))
        declared = self.scorer.models
        if callable(declared):
            return tuple(dict.fromkeys(declared(**self.values).get(kind, ()))) or (None,)
        names: list[str | None] = []
        for name, parameter in self.scorer.parameters.items():
            value = self.values[name]
            if (tell := getattr(parameter.annotation, "models", None)) is not None:
                names += tell(value).get(kind, ())
            elif name == kind:
                names.insert(0, value or None)
            elif declared.get(name) == kind and value:
                names.append(value)
        return tuple(dict.fromkeys(names)) or (None,)

    def basis(self, record: Record) -> Basis:
        """Return the basis of a scored risk of ``record``."""
        if self.scorer.auxiliary:
            return "words"
        if "against" in self.values:
            field = self.values["against"]
            if field == "auto":
                field = next((f for f in ("contexts", "reference") if record.has(f)), "samples")
            if field != "samples":
                return "sources" if self.scorer.judges else "words"
        elif self.scorer.judges:
            return "sources" if record.has("contexts") or record.has("reference") else "words"
        elif self.scorer.needs & {"contexts", "reference"}:
            return "words"
        if "probabilities" in self.scorer.costs or "logprobs" in self.scorer.needs:
            return "agreement"
        return "agreement" if self.cost != "free" and record.samples else "words"

    def cuts(self, raw: object, strictness: Strictness) -> Cuts | None:
        """Return the risks at which the verdict of a score changes, as the scorer declares them."""
        declared = self.scorer.cuts
        if declared is None:
            return None
        return declared(raw if isinstance(raw, Mapping) else {}, strictness, **self.values)

    def check(self) -> None:
        """Raise :class:`UsageError` if the parameters cannot be combined."""
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
        """``name@version`` of the LLM templates that it may use, sorted: those named by parameters
        whose type has ``prompts``, and those that the scorer declares."""
        names: list[str] = []
        for name, parameter in self.scorer.parameters.items():
            if (tell := getattr(parameter.annotation, "prompts", None)) is not None:
                names += tell(self.values[name])
        if "llm" in self.costs or "llm" not in self.scorer.costs:
            declared = self.scorer.prompts
            names += declared(**self.values) if callable(declared) else declared
        prompts = {prompt for part in self.parts for prompt in part.prompts}
        if names:
            from veridical.prompts import prompt_identity

            prompts.update(map(prompt_identity, names))
        return tuple(sorted(prompts))

    @cached_property
    def checkpoints(self) -> tuple[tuple[str, str, bool], ...]:
        """Kind and name of each checkpoint that it uses, and True if its arguments name another
        than the scorer's own."""
        if self.scorer.parts is not None:
            return tuple(dict.fromkeys(c for part in self.parts for c in part.checkpoints))
        checkpoints = []
        for parameter, kind in self.scorer.checkpoints.items():
            if KINDS[kind].cost in self.costs:
                changed = self.values[parameter] != self.scorer.defaults[parameter]
                checkpoints.append((kind, self.checkpoint(parameter), changed))
        return tuple(dict.fromkeys(checkpoints))

    def checkpoint(self, parameter: str) -> str:
        """Return the name of the checkpoint in ``parameter``, with braces filled in."""
        name = str(self.values[parameter])
        for other, value in self.values.items():
            name = name.replace(f"{{{other}}}", str(value))
        return name

    @cached_property
    def _signature(self) -> Signature:
        values, scorer = self.values, self.scorer
        left = {n for n in scorer.added if values[n] == scorer.defaults[n]}
        parameters = tuple((n, shown(values[n])) for n in scorer.parameters if n not in left)
        return Signature(self.scorer.name, self.scorer.version, self.prompts, parameters)

    def signature(self, models: str = "") -> str:
        """Return ``name|vN|models|prompts|parameters``: enough to reproduce the score."""
        return self._signature.text(models)

    def may_sign(self, signature: str) -> bool:
        """Return True if ``signature`` may be one of its own, with any models."""
        return self._signature.may_be(signature)

    async def __call__(self, record: Record, evidence: object) -> Score:
        return await self.scorer.function(record, evidence, **self.arguments)


class Registry:
    """Thread-safe map of names to scorers.

    A scorer is imported on first use, by the ``table`` or, if it belongs to veridical-lab, by its
    entry point. Other entry points are loaded when a name is unknown, or when all scorers are
    listed.
    """

    def __init__(self, table: Callable[[], Mapping[str, Builtin]] = dict) -> None:
        self._table = table
        self._scorers: dict[str, Scorer] = {}
        self._lock = threading.RLock()
        self._plugged = False
        self._installed: frozenset[str] = frozenset()

    @cached_property
    def _builtin(self) -> Mapping[str, Builtin]:
        return self._table()

    def register(self, scorer: Scorer) -> None:
        """Add a scorer. A second function with the same name is an error; a reload is not."""
        place = _place(scorer.function)
        with self._lock:
            known = self._scorers.get(scorer.name)
            builtin = self._builtin.get(scorer.name)
            registered = (
                builtin[0] if builtin else place if known is None else _place(known.function)
            )
            if registered != place:
                raise UsageError(
                    f"scorer {scorer.name!r} is registered twice: {registered} and {place}"
                )
            self._scorers[scorer.name] = scorer

    def _load_plug_ins(self) -> None:
        with self._lock:
            if self._plugged:
                return
            self._plugged = True
            before = frozenset(self._scorers)
            for point in plugins.points(plugins.SCORERS).values():
                if point.name in _LAB:  # not in any preset, and known by name
                    continue
                try:
                    point.load()
                except Exception as e:
                    raise UsageError(
                        f"scorer plug-in {point.name!r} ({point.value}) failed to load: {e}"
                    ) from e
            self._installed = frozenset(self._scorers) - before

    def installed(self, name: str) -> bool:
        """Return True if ``name`` belongs to this package or an entry point."""
        if name in self._builtin or name in _LAB:
            return True
        self._load_plug_ins()
        return name in self._installed

    def names(self) -> list[str]:
        self._load_plug_ins()
        added = _LAB.intersection(plugins.points(plugins.SCORERS))
        return sorted({*self._builtin, *added, *self._scorers})

    def all(self) -> list[Scorer]:
        return [self.get(n) for n in self.names()]

    def get(self, name: str) -> Scorer:
        """Return the scorer called ``name``.

        Raises:
            UsageError: the name is unknown; the message has suggestions.
            MissingDistribution: the scorer's distribution is not installed.
        """
        builtin = self._builtin.get(name)
        if name not in self._scorers and (builtin is not None or name in _LAB):
            # outside the lock: an import waits for imports in other threads
            function = import_string(builtin[0]) if builtin else plugins.load(plugins.SCORERS, name)
            declared: Scorer = getattr(function, DECLARED)
            return self._scorers.setdefault(name, declared)
        if name not in self._scorers:
            self._load_plug_ins()
        if name not in self._scorers:
            raise unknown_name("scorer", name, self.names())
        return self._scorers[name]

    def bind(self, name: str, arguments: dict[str, Any]) -> BoundScorer:
        """Validate and coerce ``arguments`` by the scorer's own annotations."""
        from pydantic import ValidationError

        from veridical.text.display import shown as displayed

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
                raise UsageError(f"{name}({key}={displayed(value)}): {why}") from None
        return BoundScorer(scorer, bound)

    def parse(self, text: str) -> list[BoundScorer]:
        """Parse scorers such as ``"a, b(p=1, q=word)"``. Duplicates are an error."""
        scorers = [self.bind(name, arguments) for name, arguments in read_calls(text)]
        refuse_duplicates(s.key for s in scorers)
        return scorers

    def preset(self, name: str, llm: bool = False) -> list[BoundScorer]:
        """Return the scorers of a preset, in the order of the table, then of registration; without
        ``llm``, none that calls an LLM."""
        self._load_plug_ins()
        others = {n: s.presets for n, s in self._scorers.items() if n not in self._builtin}
        presets = {n: included for n, (_, included, _) in self._builtin.items()} | others
        asking = {n for n, (_, _, asks) in self._builtin.items() if asks and not llm}
        named = [n for n, included in presets.items() if name in included and n not in asking]
        members = [BoundScorer(self.get(n)) for n in named]
        scorers = [b for b in members if llm or "llm" not in b.costs]
        if not scorers:
            raise unknown_name("preset", name, frozenset().union(*presets.values()))
        return scorers


REGISTRY = Registry(lambda: plugins.OWN[plugins.SCORERS]())


def scorer(
    name: str, **declared: Unpack[Declaration]
) -> Callable[[ScorerFunction], ScorerFunction]:
    """Register ``async (record, evidence, *, parameters) -> Score`` under ``name``."""

    def register(function: ScorerFunction) -> ScorerFunction:
        if not inspect.iscoroutinefunction(function):
            raise UsageError(f"scorer {name!r} must be an async function")
        declaration = Scorer.of(name, function, **declared)
        for cost in (declaration.cost, *declaration.uses):
            if cost not in costs():
                raise unknown_name("cost", cost, costs())
        setattr(function, DECLARED, declaration)
        REGISTRY.register(declaration)
        return function

    return register


def _place(function: ScorerFunction) -> str:
    return f"{function.__module__}:{function.__qualname__}"
