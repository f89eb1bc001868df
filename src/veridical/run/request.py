"""Resolution of options into scorers, policy, steps and input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.options import split
from veridical.core.registry import BoundScorer
from veridical.core.resolving import resolve
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError, option_named
from veridical.run.options import RunOptions

if TYPE_CHECKING:
    from veridical.core.verdict_cuts import Strictness
    from veridical.decide.policy import Policy
    from veridical.decide.steps import Step
    from veridical.io.source import InputSource
    from veridical.run.options import CheckKeywords


@dataclass(frozen=True)
class Request:
    """A requested run, with nothing opened.

    Attributes:
        scorers: scorers of the run, including the ensemble of its policy.
        engine: a warm engine; None if one is to be made from ``engine_options``.
    """

    scorers: Sequence[BoundScorer]
    policy: Policy | None
    options: RunOptions
    engine_options: EngineOptions
    engine: Engine | None

    @classmethod
    def of(
        cls, scorers: str | Iterable[str | BoundScorer] | None, keywords: CheckKeywords
    ) -> Request:
        """Resolve the keywords of :func:`veridical.check`.

        Raises:
            UsageError: a name is unknown, or values are invalid or cannot be combined.
        """
        remaining: dict[str, Any] = {**keywords}
        engine: Engine | None = remaining.pop("engine", None)
        run, of_engine = split(remaining, RunOptions, EngineOptions, also=["engine"])
        if engine is not None:
            if not isinstance(engine, Engine):
                raise UsageError(f"engine must be an Engine, not {engine!r}")
            engine.check_usable()
        options, engine_options = RunOptions(**run), EngineOptions(**of_engine)
        engine_options.refuse_with(engine)
        corpus = options.corpus
        if not (corpus is None or isinstance(corpus, (str, Path)) or hasattr(corpus, "identity")):
            raise UsageError(f"corpus must be a path or a retriever, not {corpus!r}")
        llm = engine_options.llm if engine is None else engine.llms.default
        if llm is None and options.sampling is not None:
            raise UsageError(
                f"answering prompts requires an LLM; name one ({option_named('llm', 'NAME')})"
            )
        if llm is None and options.corpus_query == "llm":
            raise UsageError(
                f"writing queries requires an LLM; name one ({option_named('llm', 'NAME')})"
            )
        proxy = engine_options.proxy if engine is None else engine.proxy
        bound = resolve(
            scorers,
            options.preset,
            options.against,
            llm is not None,
            proxy,
            options.claims,
            options.prior,
            engine_options.spans if engine is None else engine.spans,
            options.answer,
            options.select == "cluster",
            options.paper_forms,
        )
        policy = None
        if options.policy is not None:
            from veridical.decide.policy import Policy

            policy, bound = Policy.read(options.policy, bound)
        return cls(bound, policy, options, engine_options, engine)

    @property
    def strictness(self) -> Strictness:
        """The operating point: the given one, else the policy's, else balanced."""
        of_policy = None if self.policy is None else self.policy.strictness
        return self.options.strictness or of_policy or "balanced"

    @property
    def mapping(self) -> dict[str, str]:
        """Field -> column; empty if the usual names apply."""
        return dict(self.options.mapping or {})

    def open(self, inputs: Any) -> InputSource:
        """Open the rows of ``inputs``, including prompts if there is an LLM to answer them. An open
        source is returned unaltered.

        Raises:
            UsageError: there is no such input, or it cannot be read.
        """
        from veridical.io.source import InputSource, open_source

        if isinstance(inputs, InputSource):
            return inputs
        llm = self.engine_options.llm if self.engine is None else self.engine.llms.default
        return open_source(
            inputs,
            mapping=self.mapping or None,
            reader=self.options.reader,
            prompts=llm is not None,
        )

    def steps(self, engine: Engine) -> list[Step]:
        """Return the steps after scoring.

        Raises:
            UsageError: a rewrite needs an LLM, and no LLM was named.
        """
        best = None
        if self.options.select is not None:
            from veridical.decide.selection import Best

            best = Best(self.options.select)
        steps: list[Step] = [] if best is None else [best]
        repair = self.options.repair
        if repair is not None:
            from veridical.decide.repair import Repairing

            llm = engine.llms.identity() if repair == "rewrite" else ""
            steps.append(Repairing(repair, llm, best))
        return steps
