"""The scorer in real evaluations of Inspect, whose model is its own mock."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")
SOURCE = "The tower is 57 m tall."
WRONG = "The tower is 70 m tall."


def evaluate(answer: str, tmp_path: Path, **sample: Any) -> Any:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from veridical.integrations.inspect_ai import risk

    output = ModelOutput.from_content("mockllm/model", answer)
    output.usage = ModelUsage()  # else a vocabulary is fetched to count tokens
    task = Task(dataset=[Sample("How tall is the tower?", **sample)], scorer=risk(store=None))
    model = get_model("mockllm/model", custom_outputs=[output])
    (log,) = eval(task, model=model, log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    (scored,) = log.samples[0].scores.values()
    return log, scored


@pytest.mark.parametrize(("answer", "verdict"), [(SOURCE, "supported"), (WRONG, "contradicted")])
def test_sources_in_the_metadata(answer: str, verdict: str, tmp_path: Path) -> None:
    log, scored = evaluate(answer, tmp_path, metadata={"context": SOURCE})
    assert scored.metadata["verdict"] == verdict
    assert (scored.value > 0.5) == (verdict == "contradicted")
    assert scored.explanation.startswith(verdict)
    metrics = log.results.scores[0].metrics
    assert metrics["mean"].value == pytest.approx(scored.value)
    assert log.results.scores[0].name in ("risk", "veridical/risk")


def test_the_target_is_a_reference(tmp_path: Path) -> None:
    _, scored = evaluate("Nobody knows its height.", tmp_path, target=SOURCE)
    assert scored.metadata["verdict"] in ("contradicted", "unsupported")


def test_what_was_not_checked_counts_in_no_mean(tmp_path: Path) -> None:
    log, scored = evaluate(WRONG, tmp_path)
    assert math.isnan(scored.value) and scored.metadata["verdict"] == "unchecked"
    assert log.results.scores[0].unscored_samples == 1


async def test_what_tools_said_are_sources() -> None:
    from inspect_ai.model import ChatMessageTool, ChatMessageUser, ModelName, ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    from veridical.integrations.inspect_ai import risk

    messages = [ChatMessageUser(content="How tall?"), ChatMessageTool(content=SOURCE)]
    output = ModelOutput.from_content("mockllm/model", WRONG)
    state = TaskState(ModelName("mockllm/model"), 1, 0, "How tall?", messages, output=output)
    scored = await risk(store=None)(state, Target(""))
    assert scored.metadata["verdict"] == "contradicted"
