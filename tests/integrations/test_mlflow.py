"""The scorer by MLflow's own interface, and in its evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mlflow.genai")
SOURCE = "The tower is 57 m tall."
WRONG = "The tower is 70 m tall."


def scorer(**options: Any) -> Any:
    from veridical.integrations.mlflow import mlflow_scorer

    return mlflow_scorer(store=None, **options)


@pytest.mark.parametrize(
    ("outputs", "passed", "verdict"),
    [
        (SOURCE, True, "supported"),
        (WRONG, False, "contradicted"),
        ({"response": WRONG}, False, "contradicted"),
    ],
)
def test_two_feedbacks(outputs: Any, passed: bool, verdict: str) -> None:
    found = scorer().run(inputs={"question": "How tall?", "context": [SOURCE]}, outputs=outputs)
    good, risk = found
    assert (good.name, good.value, good.metadata) == ("veridical", passed, {"verdict": verdict})
    assert good.rationale.startswith(verdict) and good.source.source_type == "CODE"
    assert risk.name == "veridical_risk" and (risk.value < 0.5) == passed


def test_the_expected_response_is_a_reference() -> None:
    found = scorer(name="fact").run(
        inputs={"question": "Who built it?"},
        outputs="Nobody knows who built it.",
        expectations={"expected_response": "Gustave Eiffel's company built it."},
    )
    assert [f.name for f in found] == ["fact", "fact_risk"]
    assert found[0].metadata == {"verdict": "contradicted"}


def test_what_was_not_checked_is_an_error_and_does_not_pass() -> None:
    good, risk = scorer().run(inputs={"question": "How tall?"}, outputs=WRONG)
    assert good.value is False and good.metadata == {"verdict": "unchecked"}
    assert risk.value is None and "nothing to check" in str(risk.error)


def test_an_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy", reason="a tracking store on disk needs the whole mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    rows = [
        {"inputs": {"question": "How tall?", "context": SOURCE}, "outputs": answer}
        for answer in (SOURCE, WRONG)
    ]
    found = mlflow.genai.evaluate(data=rows, scorers=[scorer()])
    assert found.metrics["veridical/mean"] == 0.5
