"""``rank --scorers people``: rates of models by what people said of their claims, and no model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veridical.errors import UsageError
from veridical_lab.rank import Ranking, rank
from veridical_lab.rank.rank_text import ranking_markdown

E, N, C = 0.0, 0.5, 1.0
ANSWERS: dict[str, list[list[float] | None]] = {
    "good": [[E, E], [E, N], []],
    "bad": [[C, E, N, C], [C], [E]],
}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rows = []
    for model, labels in ANSWERS.items():
        for i, of_units in enumerate(labels):
            units = [{"start": k, "end": k + 1, "label": y} for k, y in enumerate(of_units or ())]
            rows.append(
                {"id": i, "model": model, "response": "a b c d e", "claims": [["x"]] * len(units)}
                | ({"unit_labels": units} if units else {})
            )
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return path


def people(path: Path, **more: Any) -> Ranking:
    return rank(path, scorer="people", three_way=True, bootstrap=20, **more)


def test_rates_by_hand(answers: Path) -> None:
    (part,) = people(answers).parts
    by_model = {m.model: {n: r.value for n, r in m.rates.items()} for m in part.models}
    assert by_model["good"] == pytest.approx(
        {"hallucination": 0.25, "contradiction": 0, "neutral": 0.25, "entailment": 0.75,
         "abstain": 1 / 3}
    )  # fmt: skip
    assert by_model["bad"] == pytest.approx(
        {"hallucination": (3 / 4 + 1) / 3, "contradiction": (1 / 2 + 1) / 3, "neutral": 1 / 12,
         "entailment": (1 / 4 + 1) / 3, "abstain": 0}
    )  # fmt: skip
    assert part.mean["abstain"] == pytest.approx(1 / 6)
    assert part.mean["contradiction"] == pytest.approx(1 / 4)
    assert part.agreement == [] and "human" not in ranking_markdown(people(answers))
    assert "their mean: hallucination 0.417, contradiction 0.250" in ranking_markdown(
        people(answers)
    )


def test_an_answer_that_nobody_judged_is_counted_apart(answers: Path) -> None:
    unjudged = {"id": 2, "model": "bad", "response": "text"}
    with answers.open("a", encoding="utf-8") as file:
        file.write(json.dumps(unjudged) + "\n")
    (part,) = people(answers).parts
    (bad,) = (m for m in part.models if m.model == "bad")
    assert (bad.n_not_applicable, bad.reasons) == (1, {"no unit_labels": 1})


def test_what_is_refused(answers: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="three grades"):
        rank(answers, scorer="people")
    with pytest.raises(UsageError, match="'claims', or by 'people'"):
        rank(answers, scorer="ngram")
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"model": "a", "response": "x"}\n{"model": "b", "response": "x"}\n')
    with pytest.raises(UsageError, match="no answer has any"):
        people(bare)


@pytest.mark.data
def test_refcheckers_figures_11_and_12(shared_data: Path) -> None:
    found = rank(
        shared_data / "refchecker",
        scorer="people",
        suite="refchecker_responses",
        split_by="part",
        order="contradiction",
        every_prompt=True,
        bootstrap=0,
    )
    means = {p.name: p.mean for p in found.parts}
    for split, contradiction, abstain in (
        ("zero_context", 25.17, 12.43),
        ("noisy_context", 12.81, 10.71),
        ("accurate_context", 5.83, 4.71),
    ):
        assert round(100 * (means[split]["contradiction"] or 0), 2) == contradiction
        assert round(100 * (means[split]["abstain"] or 0), 2) == abstain
    everything = next(p for p in found.parts if p.name == "all")
    assert sum(m.n_responses for m in everything.models) == 2100
    assert sum(m.n_abstained for m in everything.models) == 195
    # appendix A.4: Llama 2 outperforms ChatGPT throughout, and Claude 2 in noisy context
    for part in found.parts:
        order = [m.model for m in part.models]
        assert order.index("llama2_70b_chat") < order.index("chatgpt")
        if part.name == "noisy_context":
            assert order.index("llama2_70b_chat") < order.index("claude2")
