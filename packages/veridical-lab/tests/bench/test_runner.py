"""``bench`` from end to end: real scorers on real data, and planted faults."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import graded_data
import numpy as np
import pytest
from fake_models import FakeNli
from sklearn.metrics import average_precision_score, roc_auc_score

import veridical
from veridical.errors import UsageError
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.result import Row


def row(made: Bench, scorer: str, metric: str, split: str | None = None, **others: Any) -> Row:
    """The one row with these marks."""
    found = [
        r
        for r in made.rows
        if (r.scorer, r.metric) == (scorer, metric)
        and (split is None or r.split == split)
        and all(getattr(r, k) == v for k, v in others.items())
    ]
    assert len(found) == 1, f"{len(found)} rows for {scorer}, {metric}, {split}"
    return found[0]


pytestmark = pytest.mark.usefixtures("test_scorers")


@pytest.fixture(scope="module")
def graded(
    test_scorers: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Bench, list[dict[str, Any]]]:
    """Scorers with known faults on a data set with known labels."""
    data = graded_data.rows()
    path = graded_data.write(tmp_path_factory.mktemp("graded"), data)
    names = "t_good, t_inverted, t_constant, t_length, t_failing, t_timid, t_tied"
    return veridical.bench("graded", path, names, bootstrap=300), data


def test_rows_of_one_prompt_and_contexts_are_one_unit(tmp_path: Path) -> None:
    """Three copies of each answer tell no more than one; about other contexts they tell more."""
    data = graded_data.rows(120, 120)
    copies = [{**r, "id": f"{r['id']} {i}"} for r in data for i in range(3)]
    instruction = [
        {**r, "prompt": "Summarise.", "contexts": [f"Text {i}."]} for i, r in enumerate(copies)
    ]
    once, thrice, texts = (
        row(
            veridical.bench("graded", graded_data.write(tmp_path, rows, name), "t_good"),
            "t_good",
            "auroc",
        )
        for name, rows in (("a.jsonl", data), ("b.jsonl", copies), ("c.jsonl", instruction))
    )
    assert once.value == pytest.approx(thrice.value) == pytest.approx(texts.value)
    assert (thrice.ci_low, thrice.ci_high) == pytest.approx((once.ci_low, once.ci_high))
    assert texts.ci_high - texts.ci_low < 0.75 * (once.ci_high - once.ci_low)


def test_a_threshold_is_suggested_with_what_other_folds_say_of_it(
    graded: tuple[Bench, list[dict[str, Any]]],
) -> None:
    made, _ = graded
    (split,) = (s for s in made.splits if s.kind == "binary" and s.level == "response")
    suggested = {s.scorer: s for s in split.suggested}
    good = suggested["t_good"]
    assert 0 <= good.threshold < 1
    recall = row(made, "t_good", "recall").value
    assert recall == pytest.approx(good.caught)
    (table,) = (c.matrix for c in split.confusions if c.scorer == "t_good")
    assert good.false_alarms == pytest.approx(table[0][1] / sum(table[0]))
    assert Bench.model_validate_json(made.model_dump_json()) == made


def flags(made: Bench, scorer: str) -> list[str]:
    return row(made, scorer, "average_precision").flags


def test_figures_are_those_of_an_independent_library(
    graded: tuple[Bench, list[dict[str, Any]]],
) -> None:
    made, data = graded
    labels = [r["label"] for r in data]
    signal = [r["signal"] for r in data]
    good = row(made, "t_good", "average_precision")
    assert good.value == pytest.approx(average_precision_score(labels, signal))
    assert row(made, "t_good", "auroc").value == pytest.approx(roc_auc_score(labels, signal))
    assert good.ci_low is not None and good.ci_high is not None
    assert good.ci_low < good.value < good.ci_high  # type: ignore[operator]
    assert good.prevalence == pytest.approx(np.mean(labels))
    assert (good.n_total, good.n_scored, good.n_failed, good.coverage) == (400, 400, 0, 1.0)
    length = [len(r["response"].split()) for r in data]
    assert good.baselines.length == pytest.approx(average_precision_score(labels, length))
    assert good.baselines.constant == good.baselines.random == pytest.approx(np.mean(labels))


def test_each_planted_fault_is_flagged(graded: tuple[Bench, list[dict[str, Any]]]) -> None:
    made, _ = graded
    assert flags(made, "t_good") == []
    assert "inverted" in flags(made, "t_inverted")
    assert "constant" in flags(made, "t_constant")
    assert "length_proxy" in flags(made, "t_length")
    assert {"failures:20", "low_coverage"} <= set(flags(made, "t_failing"))
    assert "one_class" in flags(made, "t_timid")
    assert "not_better_than_length" in flags(made, "t_timid")
    assert "ties_inflate_trapezoid" in flags(made, "t_tied")
    assert "ties_inflate_trapezoid" in row(made, "constant", "trapezoid_pr").flags


def test_failures_stay_in_the_denominator(graded: tuple[Bench, list[dict[str, Any]]]) -> None:
    made, data = graded
    failing = row(made, "t_failing", "average_precision")
    assert (failing.n_total, failing.n_scored, failing.n_failed) == (400, 380, 20)
    assert failing.coverage == pytest.approx(0.95)
    (reason,) = failing.failed_reasons
    assert "the model is away" in reason and failing.failed_reasons[reason] == 20
    # bounds by hand: failed ones put on top or at the bottom, as their labels say or against
    labels = np.array([r["label"] for r in data])
    signal = np.array([r["signal"] for r in data])
    away = np.array([r["number"] % 20 == 0 for r in data])
    best = np.where(away, np.where(labels == 1, 9.0, -9.0), signal)
    worst = np.where(away, np.where(labels == 1, -9.0, 9.0), signal)
    assert failing.best == pytest.approx(average_precision_score(labels, best))
    assert failing.worst == pytest.approx(average_precision_score(labels, worst))
    assert failing.worst < failing.value < failing.best  # type: ignore[operator]


def test_scorers_are_compared_in_pairs(graded: tuple[Bench, list[dict[str, Any]]]) -> None:
    made, _ = graded
    (split,) = made.splits
    pairs = {(c.a, c.b): c for c in split.comparisons}
    assert len(pairs) == 8 * 7 / 2  # the seven, and the one risk
    best = pairs["t_good", "t_inverted"]
    assert best.difference is not None and best.difference > 0.3
    assert best.p_holm is not None and best.p_holm < 0.05
    assert best.p_delong is not None and best.p_delong < 1e-6
    assert split.ranks[0].scorer in {"t_good", "t_failing"}
    assert ["t_good", "t_inverted"] not in [c for c in split.cliques if len(c) == 2]


def test_as_published_fits_on_the_test_set_and_says_so(tmp_path: Path) -> None:
    path = graded_data.write(tmp_path, graded_data.rows(120, 60))
    honest = veridical.bench("graded", path, "t_good", bootstrap=50)
    shown = veridical.bench("graded", path, "t_good", bootstrap=50, as_published=True)
    fitted = row(shown, "t_good", "weighted_f1")
    assert "threshold_fitted_on_test" in fitted.flags
    assert isinstance(fitted.threshold, float)
    assert row(honest, "t_good", "weighted_f1").threshold == "cross-fitted"
    assert "threshold_fitted_on_test" not in row(honest, "t_good", "weighted_f1").flags
    assert fitted.value >= row(honest, "t_good", "weighted_f1").value  # type: ignore[operator]


def test_a_figure_that_does_not_exist_has_no_interval(tmp_path: Path) -> None:
    """Where no answer is called right there is no precision, whatever resamples come to."""
    data = [{**row, "label": 1, "task": "all"} for row in graded_data.rows()]
    path = graded_data.write(tmp_path, data)
    made = veridical.bench("qa", path, "t_good, t_constant, t_tied", bootstrap=100)
    unknown = [r for r in made.rows if r.value is None]
    assert {"auroc", "precision"} <= {r.metric for r in unknown}
    assert [r for r in unknown if r.ci_low is not None] == []


def test_bad_rows_count_as_failed(tmp_path: Path) -> None:
    data = graded_data.rows(60, 60)
    data[7]["label"] = "maybe"
    made = veridical.bench("graded", graded_data.write(tmp_path, data), "t_good", bootstrap=20)
    good = row(made, "t_good", "auroc")
    assert (good.n_total, good.n_scored, good.n_failed) == (60, 59, 1)
    assert made.n_row_errors == 1 and made.row_errors[0]["row"] == 7
    assert any("label" in why for why in good.failed_reasons)


def test_a_second_run_scores_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = graded_data.write(tmp_path, graded_data.rows(60, 60))
    first = veridical.bench("graded", path, "t_good, t_tied", bootstrap=50, out=tmp_path / "b")
    stored = Bench.read(tmp_path / "b" / "bench.json")
    assert stored.rows == first.rows and stored.splits == first.splits

    async def never(*_: Any, **__: Any) -> None:
        raise AssertionError("scored again")

    monkeypatch.setattr("veridical.core.registry.BoundScorer.__call__", never)
    again = veridical.bench("graded", path, "t_good, t_tied", bootstrap=50, out=tmp_path / "b")
    assert again.rows == first.rows and again.signature == first.signature


def test_quick_draws_whole_groups_by_seed(tmp_path: Path) -> None:
    path = graded_data.write(tmp_path, graded_data.rows(2600, 1300))
    quick = veridical.bench("graded", path, "t_good", bootstrap=0)
    assert row(quick, "t_good", "auroc").n_total == 2000
    assert any("1000 of 1300" in note for note in quick.splits[0].notes)
    same = veridical.bench("graded", path, "t_good", bootstrap=0)
    assert same.rows == quick.rows
    other = veridical.bench("graded", path, "t_good", bootstrap=0, seed=1)
    assert row(other, "t_good", "auroc").value != row(quick, "t_good", "auroc").value
    full = veridical.bench("graded", path, "t_good", bootstrap=0, protocol="full")
    assert row(full, "t_good", "auroc").n_total == 2600


def test_bad_rows_are_drawn_and_limited_like_others(tmp_path: Path) -> None:
    """A sample of the rows has their share of bad ones, not all of them."""
    data = graded_data.rows(3000, 3000)
    for r in data[::10]:
        r["label"] = "maybe"
    path = graded_data.write(tmp_path, data)
    quick = row(veridical.bench("graded", path, "t_good", bootstrap=0), "t_good", "auroc")
    assert quick.n_total == 1000 and 60 < quick.n_failed < 140
    first = veridical.bench("graded", path, "t_good", bootstrap=0, limit=20)
    few = row(first, "t_good", "auroc")
    assert (few.n_total, few.n_scored, few.n_failed) == (20, 18, 2)
    assert not any("drawn" in note for note in first.splits[0].notes)
    with pytest.raises(UsageError, match=r"among the first 1.*row 0"):
        veridical.bench("graded", path, "t_good", bootstrap=0, limit=1)


def test_a_note_on_the_whole_set_says_so_beside_a_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veridical_lab.bench.figures.paper_figure", lambda *_: (None, ("0.9",)))
    path = graded_data.write(tmp_path, graded_data.rows(60, 60))
    for limit, said in ((None, "0.9"), (20, "on the whole set, not this part of it: 0.9")):
        made = veridical.bench("graded", path, "t_good", bootstrap=0, limit=limit)
        assert row(made, "t_good", "auroc").notes == [said]


def test_bad_rows_before_the_held_out_ones_do_not_count_there(tmp_path: Path) -> None:
    data: list[dict[str, Any]] = [
        {"knowledge": "k", "question": f"q{i}", "right_answer": "a", "hallucinated_answer": "b"}
        for i in range(50)
    ]
    data[3] = data[44] = {"knowledge": "k", "question": "q", "right_answer": 1}
    path = graded_data.write(tmp_path, data, "qa_data.json")
    made = veridical.bench("halueval", path, "t_constant", bootstrap=0, split="heldout")
    found = row(made, "t_constant", "auroc")
    assert (found.n_total, found.n_scored, found.n_failed) == (19, 18, 1)


def test_rows_without_a_label_take_no_place_in_the_draw(tmp_path: Path) -> None:
    data = graded_data.rows(3000, 3000)
    for r in data[40:]:
        del r["label"]
    path = graded_data.write(tmp_path, data)
    made = veridical.bench("graded", path, "t_good", bootstrap=0)
    assert row(made, "t_good", "auroc").n_total == 40
    assert any("2960 rows of all have no label" in note for note in made.splits[0].notes)


def test_runs_that_differ_in_bad_rows_differ_in_name(tmp_path: Path) -> None:
    data = graded_data.rows(30, 30)
    names = set()
    for wrong in (None, "maybe", 7):
        bad = [] if wrong is None else [{**data[0], "label": wrong}]
        path = graded_data.write(tmp_path, [*data, *bad], f"{wrong}.jsonl")
        names.add(veridical.bench("graded", path, "t_good", bootstrap=0).run)
    assert len(names) == 3


def test_scorers_that_say_nothing_are_told_of(tmp_path: Path) -> None:
    data = [
        {"response": f"One {i}. Two.", "label": i % 2, "contexts": "One.",
         "unit_labels": [{"start": 0, "end": 5, "label": i % 2}]}
        for i in range(40)
    ]  # fmt: skip
    path = graded_data.write(tmp_path, data)
    made = veridical.bench("graded", path, "knowledge_f1, ngram", bootstrap=0)
    notes = {s.split: s.notes for s in made.splits}
    assert "ngram applies to no item: the record has no samples" in notes["all"]
    assert "knowledge_f1 judges whole responses, not parts of them" in notes["units"]
    assert not any("ngram" in n or "knowledge" in n
                   for s in veridical.bench("graded", path, bootstrap=0).splits
                   for n in s.notes)  # fmt: skip


def test_samples_that_no_record_has_make_no_point_of_a_curve(tmp_path: Path) -> None:
    data = [
        {"response": f"It is {i}.", "label": i % 2, "samples": [f"It is {i + i % 2}."] * 3}
        for i in range(40)
    ]
    path = graded_data.write(tmp_path, data)
    made = veridical.bench("graded", path, "ngram", bootstrap=0, samples=[2, 5, 9])
    (split,) = made.splits
    assert [p[0] for p in split.samples[0].points] == [2, 3]
    assert "no record has more than 3 samples" in split.notes
    none = graded_data.write(tmp_path, graded_data.rows(20, 20), "none.jsonl")
    made = veridical.bench("graded", none, "t_good", bootstrap=0, samples=3)
    assert "no record has samples" in made.splits[0].notes


def test_settings_out_of_range(tmp_path: Path) -> None:
    path = graded_data.write(tmp_path, graded_data.rows(20, 20))
    for wrong in ({"seed": -1}, {"bootstrap": -1}, {"beta": 0.0}, {"beta": float("inf")},
                  {"limit": 0}):  # fmt: skip
        (name,) = wrong
        with pytest.raises(UsageError, match=name):
            veridical.bench("graded", path, "t_good", **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="study"):
        veridical.bench("graded", path, "t_good, t_tied", famd=["t_good", "t_tied"])
    with pytest.raises(UsageError, match="'t_length'"):
        veridical.bench("graded", path, "t_good, t_tied", study=True, famd=["t_good", "t_length"])


def test_usage_errors_name_what_is_wrong(tmp_path: Path) -> None:
    path = graded_data.write(tmp_path, graded_data.rows(20, 20))
    with pytest.raises(UsageError, match="did you mean 'graded'"):
        veridical.bench("grade", path)
    with pytest.raises(UsageError, match="needs data=PATH"):
        veridical.bench("wikibio", None)
    with pytest.raises(UsageError, match="no split 'nope'"):
        veridical.bench("graded", path, "t_good", split="nope")
    with pytest.raises(UsageError, match="several suites"):
        veridical.bench(["graded", "begin"], path)
    with pytest.raises(UsageError, match="quick or full"):
        veridical.bench("graded", path, "t_good", protocol="slow")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="held-out"):
        veridical.bench("graded", path, "t_good", split="heldout")
    with pytest.raises(UsageError, match="gradde"):
        veridical.bench("graded", tmp_path / "gradde.jsonl", "t_good")


def test_unit_labels_take_the_riskiest_overlapping_unit(tmp_path: Path) -> None:
    """Two labelled units over three predicted sentences: the worse one counts for both parts."""
    data = []
    for i in range(40):
        bad = i % 2
        first, second = ("It is red.", "Red it is.") if not bad else ("It is 41.", "Red it is.")
        text = f"{first} {second} All agree."
        cut = len(first) + len(second) + 1
        data.append(
            {
                "response": text,
                "samples": ["It is red. Red it is. All agree."] * 3,
                "unit_labels": [
                    {"start": 0, "end": cut, "label": bad},
                    {"start": cut + 1, "end": len(text), "label": 0},
                ],
            }
        )
    made = veridical.bench("graded", graded_data.write(tmp_path, data), "ngram", bootstrap=0)
    (auroc,) = [r for r in made.rows if (r.scorer, r.metric) == ("ngram", "auroc")]
    assert (auroc.level, auroc.n_total, auroc.value) == ("sentence", 80, 1.0)


def test_annotators_agreement_is_reported(tmp_path: Path) -> None:
    data = graded_data.rows(40, 40)
    for r in data:
        r["annotators"] = {"a": r["label"], "b": r["label"], "c": 1 - r["label"]}
    made = veridical.bench("graded", graded_data.write(tmp_path, data), "t_good", bootstrap=0)
    labels = np.array([r["label"] for r in data])
    from sklearn.metrics import cohen_kappa_score

    pairs = [(labels, labels), (labels, 1 - labels), (labels, 1 - labels)]
    expected = np.mean([cohen_kappa_score(a, b) for a, b in pairs])
    assert row(made, "annotators", "cohen_kappa").value == pytest.approx(expected)
    assert row(made, "annotators", "krippendorff_alpha").value is not None


@pytest.mark.data
def test_wikibio_gives_the_published_figures_beside_average_precision(shared_data: Path) -> None:
    """SelfCheckGPT table 7, 1-gram max; tolerance of the built-in tokenizer (0.23 of the print)."""
    made = veridical.bench(
        "wikibio",
        shared_data / "wikibio_gpt3",
        "ngram(n=1,stat=max,counting=paper)",
        bootstrap=200,
    )
    name = "ngram(counting=paper)"
    for split, n, paper in (
        ("nonfact", 1908, 0.8563),
        ("nonfact_star", 1632, 0.4104),
        ("factual", 1908, 0.5847),
    ):
        found = row(made, name, "trapezoid_pr", split)
        assert found.value == pytest.approx(paper, abs=0.0025)
        assert found.paper == paper and found.n_total == found.n_scored == n
        assert row(made, name, "average_precision", split).ci_low is not None
    assert row(made, name, "pearson", "passage").value == pytest.approx(0.6471, abs=0.0025)
    assert row(made, name, "spearman", "passage").value == pytest.approx(0.6491, abs=0.0025)
    nonfact = row(made, name, "trapezoid_pr", "nonfact")
    star = row(made, name, "trapezoid_pr", "nonfact_star")
    assert nonfact.baselines.constant == pytest.approx(0.8648, abs=5e-5)  # spec: 86.48
    assert star.baselines.constant == pytest.approx(0.6486, abs=5e-5)  # spec: 64.86
    notes = {s.split: " ".join(s.notes) for s in made.splits}
    assert "0.8648" in notes["nonfact"] and "0.6486" in notes["nonfact_star"]


@pytest.mark.data
def test_begin_knowledge_f1_is_the_right_way_up(shared_data: Path) -> None:
    made = veridical.bench("begin", shared_data / "begin", "knowledge_f1", bootstrap=100)
    expected = {"wow/test": (0.895, 3601), "cmu/dev": (0.930, 337), "tc/dev": (0.907, 381)}
    for split, (value, n) in expected.items():
        found = row(made, "knowledge_f1", "average_precision", split)
        assert found.value == pytest.approx(value, abs=0.0015)
        assert (found.n_total, found.n_scored) == (n, n)
        assert found.baselines.length is not None
    notes = row(made, "knowledge_f1", "average_precision", "wow/test").notes
    assert any("0.434" in note for note in notes)
    for split, area in (("tc/dev", 0.914), ("wow/test", 0.755)):  # measured independently, spec
        assert row(made, "length", "trapezoid_pr", split).value == pytest.approx(area, abs=5e-4)


@pytest.mark.data
def test_begin_flags_a_truly_inverted_use(shared_data: Path) -> None:
    """The error in Mirage's table 9: a faithfulness score ranked as if it were risk."""
    made = veridical.bench("begin", shared_data / "begin", "knowledge_f1", split="wow/test",
                           study=True, as_published=True, bootstrap=50)  # fmt: skip
    assert made.study is not None
    (aligned,) = made.study.alignment
    (scorer,) = aligned.scorers
    assert scorer.area_inverted == pytest.approx(0.434, abs=0.001)
    assert scorer.threshold_on == "test" and "threshold_fitted_on_test" in scorer.flags


@pytest.mark.data
def test_refchecker_majority_rows(shared_data: Path) -> None:
    """RefChecker's labels, spec section 0.7: 54.8 % Neutral, 81.3 and 83.9 % Entailment."""
    made = veridical.bench("refchecker", shared_data / "refchecker", "exact_match", bootstrap=0)
    for split, share in (
        ("zero_context", 0.548),
        ("noisy_context", 0.813),
        ("accurate_context", 0.839),
    ):
        found = row(made, "majority", "accuracy", split)
        assert found.value == pytest.approx(share, abs=0.0005)
        assert found.baselines.majority == found.value
    per_class = [
        r for r in made.rows if (r.scorer, r.metric, r.split) == ("majority", "f1", "zero_context")
    ]
    assert {r.positive for r in per_class} == {"Entailment", "Neutral", "Contradiction"}
    confusion = next(s for s in made.splits if s.split == "zero_context").confusions
    assert sum(map(sum, confusion[0].matrix)) == 3319


@pytest.mark.data
def test_ragtruth_prevalence_and_always_positive(shared_data: Path) -> None:
    made = veridical.bench("ragtruth", shared_data / "ragtruth_test", "exact_match", bootstrap=0)
    p = 943 / 2700
    found = row(made, "always_positive", "f1", "all")
    assert found.prevalence == pytest.approx(p)
    assert found.value == pytest.approx(2 * p / (1 + p))
    per_model = [r for r in made.rows if r.split.startswith("model:")
                 and (r.scorer, r.metric) == ("always_positive", "recall")]  # fmt: skip
    assert len(per_model) == 6 and all(r.n_total == 450 and r.value == 1 for r in per_model)


@pytest.mark.data
def test_ragtruth_by_task_where_the_sources_are_there(shared_data: Path, tmp_path: Path) -> None:
    """With the sources, whose file carries the task: CheckEmbed table 7's always-positive F1."""
    lines = (shared_data / "ragtruth_test" / "response.jsonl").read_text("utf-8").splitlines()[::6]
    responses = [json.loads(line) for line in lines]
    sources = list(dict.fromkeys(r["source_id"] for r in responses))
    kinds = ("QA", "Summary", "Data2txt")
    with (tmp_path / "source_info.jsonl").open("w", encoding="utf-8") as out:
        for i, source in enumerate(sources):
            info = {"source_id": source, "task_type": kinds[i % 3], "source_info": f"Text {i}.",
                    "prompt": f"Task {i}"}  # fmt: skip
            out.write(json.dumps(info) + "\n")
    (tmp_path / "response.jsonl").write_text("\n".join(lines), encoding="utf-8")
    made = veridical.bench("ragtruth", tmp_path, "knowledge_f1", bootstrap=0)
    task = {s: kinds[i % 3] for i, s in enumerate(sources)}
    for kind in kinds:
        right = [not r["labels"] for r in responses if task[r["source_id"]] == kind]
        q = sum(right) / len(right)
        found = row(made, "always_positive", "f1", f"task:{kind}-right")
        assert found.value == pytest.approx(2 * q / (1 + q))


@pytest.mark.data
def test_halueval_held_out_rows(shared_data: Path) -> None:
    made = veridical.bench("halueval", shared_data / "halueval", "knowledge_f1", split="heldout,qa",
                           bootstrap=0)  # fmt: skip
    assert row(made, "knowledge_f1", "auroc", "qa").n_total == 2000
    assert {r.split for r in made.rows} == {"qa"}


def test_several_suites_in_one_call(tmp_path: Path) -> None:
    graded_data.write(tmp_path, graded_data.rows(40, 40))
    header = ["model_name", "data_source", "knowledge", "message", "response", "begin_label"]
    with (tmp_path / "dev_cmu.tsv").open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, delimiter="\t", quoting=csv.QUOTE_NONE, escapechar="\\")
        table.writerow(header)
        for i in range(8):
            label = "Fully attributable" if i % 2 else "Not fully attributable"
            response = "The film is old." if i % 2 else "A cat sat there."
            table.writerow(["t5", "cmu", "The film is old.", f"Question {i}", response, label])
    data = {"graded": tmp_path / "graded.jsonl", "begin": tmp_path / "dev_cmu.tsv"}
    made = veridical.bench(["graded", "begin"], data, "knowledge_f1, t_constant", bootstrap=0)
    assert {(s.suite, s.split) for s in made.splits} == {("graded", "all"), ("begin", "cmu/dev")}
    begin = row(made, "knowledge_f1", "auroc", "cmu/dev", suite="begin")
    assert begin.value == 1.0
    assert "small_n" in begin.flags and "few_groups" in begin.flags


def test_a_curve_over_samples_embeds_each_text_once(tmp_path: Path) -> None:
    """Even without a store: the records of one item stand side by side in one run."""
    rows = [
        {"response": f"Answer {i}.", "samples": [f"Sample {i} {k}." for k in range(8)],
         "label": i % 2}
        for i in range(12)
    ]  # fmt: skip
    path = graded_data.write(tmp_path, rows)
    sent = {}
    for samples in (8, [2, 4, 8]):
        with veridical.Engine(store=None, processes=0) as engine:
            made = veridical.bench("graded", path, "checkembed", samples=samples, bootstrap=0,
                                   engine=engine)  # fmt: skip
            (work,) = engine.work().values()
            sent[str(samples)] = work.tokens
    assert sent["8"] == sent["[2, 4, 8]"] > 0
    assert [p[0] for p in made.splits[0].samples[0].points] == [2, 4, 8]


def test_a_model_is_in_domain_where_it_was_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded NLI model has seen HaluEval qa: its scorers are marked there, others not."""
    words = ["river", "tower", "bridge", "market", "school", "temple"]
    for part in ("qa", "dialogue"):
        answer, asked = ("answer", "question") if part == "qa" else ("response", "dialogue_history")
        lines = [
            {
                "knowledge": f"The {words[i % 6]} was built in {1900 + i}.",
                asked: f"When was building {i} built?",
                f"right_{answer}": f"It was built in {1900 + i}.",
                f"hallucinated_{answer}": f"It was built in {1800 + i}.",
            }
            for i in range(30)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{part}_data.json").write_text(text, encoding="utf-8")

    def flagged(name: str) -> set[tuple[str, str]]:
        model = FakeNli()
        model.name = name
        monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)
        made = veridical.bench("halueval", tmp_path, "nli_grounding, knowledge_f1", bootstrap=0)
        return {(r.split, r.scorer) for r in made.rows if "in_domain" in r.flags}

    assert flagged("veridical-nli-mini") == {("qa", "nli_grounding"), ("qa", "risk")}
    assert flagged("another") == set()
