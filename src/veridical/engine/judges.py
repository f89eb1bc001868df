"""Language models that are asked to judge, and are known to be too small for it."""

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
    """Warn of each model that a scorer of ``task`` asks for verdicts, or that is in the place of
    the NLI model, if it is too small for that."""
    leaves = [s for s in task.asked() if not s.parts and _asks_for_verdicts(s)]
    specs = [spec for scorer in leaves for spec in scorer.models("llm")]
    judges = [engine.nli_judge(spec) for spec in task.named("nli")]
    for spec in dict.fromkeys([*specs, *(judge.llm for judge in judges if judge is not None)]):
        if spec is not None or engine.llms.default is not None:
            warn_if_small(engine.llms.endpoint(spec))


def warn_of_idle_budget(engine: Models, task: Task) -> None:
    """Warn of the budget of a run in which no scorer asks an LLM."""
    if engine.llms.default is None and not any("llm" in s.costs for s in task.asked()):
        warn_once(
            f"{option_named('budget')} limits nothing: no LLM is named "
            f"({option_named('llm', 'NAME')}), so nothing is spent"
        )


def warn_if_small(endpoint: Endpoint) -> None:
    """Warn, once, if the model of ``endpoint`` runs here and is too small to judge."""
    from veridical.weights.download import named_by

    weights = named_by(endpoint.base_url)
    if weights is not None and "judge" not in weights.tasks:
        warn_once(
            f"{weights.name} is too small to judge: between answers that differ in meaning alone "
            f"its verdicts are chance; {option_named('llm', 'local:qwen-1.5b')} can judge"
        )


def _asks_for_verdicts(scorer: BoundScorer) -> bool:
    """Whether it asks an LLM by a template that states what may be answered."""
    if "llm" not in scorer.costs:
        return False
    from veridical.prompts import load_prompt

    return any(load_prompt(p.rpartition("@")[0]).scale is not None for p in scorer.prompts)
