"""The suite of verdicts: what is read, and its figures at the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veridical import bench
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, Scorer
from veridical.core.scores import Score
from veridical.core.verdict_cuts import Cuts
from veridical.errors import UsageError
from veridical_lab.bench.datasets.grounded import SUITE
from veridical_lab.bench.datasets.suite import Item, Labelled
from veridical_lab.bench.published import aggrefact
from veridical_lab.bench.suite_options import GroundedOptions

DOC = "The tower was built in 1912. It is 57 m tall."


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_published_columns_are_turned_round(tmp_path: Path) -> None:
    rows = [
        {"doc": DOC, "claim": "It is 57 m tall.", "label": 1, "dataset": "A"},
        {"doc": DOC, "claim": "It is 75 m tall.", "label": 0, "dataset": "B"},
    ]
    data = written(tmp_path / "rows.jsonl", *rows)
    items = list(SUITE.load(data, GroundedOptions(reader="aggrefact", by="set")))
    assert all(isinstance(item, Item) for item in items)
    read = [(i.part, i.record.label, i.record.contexts[0].text) for i in items]  # type: ignore
    assert read == [("A", 0.0, DOC), ("B", 1.0, DOC)]
    assert len({i.group for i in items}) == 1  # type: ignore


def test_a_split_for_each_file_and_one_for_all(tmp_path: Path) -> None:
    for name, label in (("one", 0), ("two", 1)):
        row = {"response": "It is tall.", "contexts": [DOC], "label": label}
        written(tmp_path / f"{name}.jsonl", row)
    items = [i for i in SUITE.load(tmp_path, GroundedOptions(by="set")) if isinstance(i, Item)]
    assert [i.part for i in items] == ["one", "two"]
    assert [task.split for task in SUITE.tasks(Labelled.of(items))] == ["one", "two", "all"]
    pooled = [i for i in SUITE.load(tmp_path, GroundedOptions()) if isinstance(i, Item)]
    assert [task.split for task in SUITE.tasks(Labelled.of(pooled))] == ["all"]


def test_only_sets_are_split_by() -> None:
    with pytest.raises(UsageError, match="way to split"):
        GroundedOptions(by="file")  # type: ignore[arg-type]


def test_figures_at_the_verdict(tmp_path: Path) -> None:
    """Risks 0.1, 0.5, 0.9 (right) and 0.3, 0.5, 0.8 (wrong), cut at 0.4 and 0.6."""

    risks = {"a": 0.1, "b": 0.5, "c": 0.9, "d": 0.3, "e": 0.5, "f": 0.8}

    def cuts(raw: object, strictness: str) -> Cuts:
        return Cuts(0.4, 0.6) if strictness == "balanced" else Cuts(0.2, 0.25)

    async def fixed(record: Record, evidence: object) -> Score:
        return Score.of(risks[record.response.split()[0]])

    name = "fixed_for_grounded"
    fixed.__qualname__ = fixed.__name__ = name
    REGISTRY.register(
        Scorer.of(name, fixed, level="response", source="test", judges=True, cuts=cuts)
    )
    rows = [
        {"response": f"{x} is so.", "contexts": [f"{x} is."], "label": int(x in "def")}
        for x in risks
    ]
    data = written(tmp_path / "rows.jsonl", *rows)

    def figures(**options: Any) -> dict[str, float | None]:
        found = bench("grounded", data, name, out=None, bootstrap=50, store=None, **options)
        return {r.metric: r.value for r in found.rows if r.scorer == name}

    at = figures()
    assert at["right_flagged"] == pytest.approx(1 / 3)  # c
    assert at["wrong_missed"] == pytest.approx(2 / 3)  # d, e
    assert at["balanced_accuracy"] == pytest.approx(1 / 2)
    assert at["unclear"] == pytest.approx(2 / 6)  # b, e
    assert at["auroc"] == pytest.approx(4.5 / 9)  # d > a; e > a, e = b; f > a, f > b
    assert at["balanced_accuracy_best"] == pytest.approx(2 / 3)  # from 0.3 on: 3 caught, 1 passed
    assert at["balanced_accuracy_half"] == pytest.approx((2 / 3 + 1 / 3) / 2)  # b, c, e, f flagged
    strict = figures(strictness="high")
    assert strict["right_flagged"] == pytest.approx(2 / 3) and strict["wrong_missed"] == 0
    assert strict["auroc"] == at["auroc"]


def test_a_threshold_of_other_folds_and_the_share_of_known_words(tmp_path: Path) -> None:
    """All risks are over one half, and .7 parts them; words part them wholly."""

    async def high(record: Record, evidence: object) -> Score:
        return Score.of(0.8 if "moon" in record.response else 0.6)

    high.__qualname__ = high.__name__ = "high_for_grounded"
    REGISTRY.register(Scorer.of(high.__name__, high, level="response", source="test", judges=True))
    rows = [
        {"response": said, "contexts": [f"{n}. {DOC}"], "label": int("moon" in said)}
        for n in range(20)
        for said in ("It is 57 m tall.", "A moon landed there.")
    ]
    data = written(tmp_path / "rows.jsonl", *rows)
    found = bench(
        "grounded", data, [high.__name__, "knowledge_precision"], out=None, bootstrap=20, store=None
    )
    value = {(r.scorer, r.metric): r.value for r in found.rows}
    assert value[high.__name__, "balanced_accuracy_half"] == 0.5
    assert value[high.__name__, "balanced_accuracy_cross_fitted"] == 1.0
    assert value["knowledge_precision", "auroc"] == 1.0


def test_figures_of_several_sets_have_their_mean(tmp_path: Path) -> None:
    """Two of three sets are of both classes; the third has no figure of its own."""

    async def own(record: Record, evidence: object) -> Score:
        return Score.of(float(record.response.split()[-1].rstrip(".")))

    own.__qualname__ = own.__name__ = "own_for_grounded"
    REGISTRY.register(Scorer.of(own.__name__, own, level="response", source="test", judges=True))
    risks = {"right": [(0.1, 0), (0.9, 1)], "half": [(0.6, 0), (0.3, 1)], "one": [(0.2, 0)]}
    rows = [
        {"response": f"It is {r}.", "contexts": [f"{name} {n}"], "label": y, "dataset": name}
        for name, both in risks.items()
        for n, (r, y) in enumerate(both * 12)
    ]
    data = written(tmp_path / "rows.jsonl", *rows)
    found = bench("grounded", data, "own_for_grounded", by="set", bootstrap=50, store=None)
    at = {(r.split, r.metric): r for r in found.rows if r.scorer == "own_for_grounded"}
    assert at["right", "auroc"].value == 1 and at["half", "auroc"].value == 0
    assert at["all", "auroc_macro"].value == pytest.approx(1 / 2)
    assert at["all", "balanced_accuracy_half_macro"].value == pytest.approx(1 / 2)
    assert at["all", "auroc"].value == pytest.approx(45 / 54)  # 0.9 > all 9, 0.3 > 6 of 9
    low, high = at["all", "auroc_macro"].ci_low, at["all", "auroc_macro"].ci_high
    assert low is not None and high is not None and low <= 1 / 2 <= high
    length = {(r.split, r.metric): r.value for r in found.rows if r.scorer == "length"}
    assert length["all", "auroc_macro"] == pytest.approx(1 / 2)
    assert ("all", "balanced_accuracy_half") not in length  # it claims no probability


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ("AggreFact-XSum", "Bespoke-MiniCheck (7B) 77.8"),
        ("Wice", "HHEM-2.1-Open (0.1B) 75.9"),
        ("factcheck-gpt", "AlignScore-L (0.4B) 74.3"),
    ],
)
def test_sets_of_the_leaderboard_have_the_published_figures(split: str, told: str) -> None:
    (note,) = aggrefact.notes(split)
    assert told in note and "2025-09-08" in note


def test_published_averages_stand_beside_all_eleven_sets_alone() -> None:
    (note,) = aggrefact.notes_of_all(aggrefact.SETS)
    assert "Bespoke-MiniCheck (7B) 77.4" in note and "MiniCheck-Flan-T5-L (0.8B) 75.0" in note
    assert aggrefact.notes_of_all(aggrefact.SETS[1:]) == ()
    assert aggrefact.notes_of_all([*aggrefact.SETS, "mine"]) == ()
    assert aggrefact.notes("mine") == ()


def test_a_failed_record_leaves_every_figure_with_its_bounds(tmp_path: Path) -> None:
    """Of two sets of 10 right and 10 wrong answers, all told apart, one wrong one each fails."""

    async def own(record: Record, evidence: object) -> Score:
        risk = float(record.response.split()[-1].rstrip("."))
        if risk == 1:
            raise ValueError("broken")
        return Score.of(risk)

    own.__qualname__ = own.__name__ = "failing_for_grounded"
    REGISTRY.register(
        Scorer.of(
            *(own.__name__, own),
            level="response",
            source="test",
            judges=True,
            cuts=lambda raw, strictness: Cuts(0.4, 0.6),
        )
    )
    rows = [
        {"response": f"It is {r}.", "contexts": [f"{name} {n}"], "label": y, "dataset": name}
        for name in ("a", "b")
        for n, (r, y) in enumerate([(0.1, 0)] * 10 + [(0.9, 1)] * 9 + [(1, 1)])
    ]
    data = written(tmp_path / "rows.jsonl", *rows)
    found = bench("grounded", data, own.__name__, by="set", bootstrap=20, store=None)
    at = {r.metric: r for r in found.rows if r.scorer == own.__name__ and r.split == "all"}
    assert {r.n_failed for r in at.values()} == {2}
    for name in ("balanced_accuracy", "balanced_accuracy_half", "balanced_accuracy_half_macro"):
        bounds = at[name].value, at[name].best, at[name].worst
        assert bounds == pytest.approx((1, 1, (1 + 9 / 10) / 2)), name
    assert (at["unclear"].best, at["unclear"].worst) == (0, 0)
