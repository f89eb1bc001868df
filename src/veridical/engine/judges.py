"""Warnings about LLMs that are too small to judge, and idle budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.errors import option_named
from veridical.notices import warn_once

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.engine.run import Task
    from veridical.engine.run_evidence import Models
    from veridical.llm.endpoints import Endpoint


def warn_of_small_judges(engine: Models, task: Task) -> None:
    """Warn of each model that is too small for the verdicts requested of it.

    Checked are the models that give verdicts to a scorer of ``task``, or serve as the NLI model.
    """
    leaves = [s for s in task.asked() if not s.parts and _asks_for_verdicts(s)]
    specs = [spec for scorer in leaves for spec in scorer.models("llm")]
    judges = [engine.nli_judge(spec) for spec in task.named("nli")]
    for spec in dict.fromkeys([*specs, *(judge.llm for judge in judges if judge is not None)]):
        if spec is not None or engine.llms.default is not None:
            warn_if_small(engine.llms.endpoint(spec))


def warn_of_idle_budget(engine: Models, task: Task) -> None:
    """Warn of a budget in a run in which no scorer uses an LLM."""
    if engine.llms.default is None and not any("llm" in s.costs for s in task.asked()):
        warn_once(
            f"{option_named('budget')} has no effect without an LLM; name one "
            f"({option_named('llm', 'NAME')}), or leave it out"
        )


def warn_if_small(endpoint: Endpoint) -> None:
    """Warn once if the model of ``endpoint`` runs locally and is too small to judge."""
    from veridical.weights.download import named_by

    weights = named_by(endpoint.base_url)
    if weights is not None and "judge" not in weights.tasks:
        warn_once(
            f"{weights.name} is too small to judge: on answers that differ in meaning only, its "
            f"verdicts are random; use {option_named('llm', 'local:qwen-1.5b')}"
        )


def _asks_for_verdicts(scorer: BoundScorer) -> bool:
    """Return True if the scorer requests a verdict from an LLM."""
    if "llm" not in scorer.costs:
        return False
    from veridical.prompts import load_prompt

    return any(load_prompt(p.rpartition("@")[0]).scale is not None for p in scorer.prompts)
