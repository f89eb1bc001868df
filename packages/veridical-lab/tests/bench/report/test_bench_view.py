"""How a benchmark is arranged for reading, and its flags."""

from __future__ import annotations

import pytest
from bench_builders import bench, row, split

from veridical.report.formats import broken, interval, number, p_cell, share
from veridical.stats.tables import Comparison
from veridical_lab.bench.report.flags import FLAGS, explained, ordered, shown
from veridical_lab.bench.report.view import Pairing, overview, views
from veridical_lab.bench.result import Baselines


def test_best_first_unknown_last_and_baselines_apart() -> None:
    rows = [
        row("length", value=0.99),
        row("low", value=0.3),
        row("none", value=None),
        row("high", value=0.9),
    ]
    (view,) = views(bench(rows=rows, splits=[split(scorers=["low", "none", "high", "silent"])]))
    assert [x.scorer for x in view.lines] == ["high", "low", "none", "silent"]
    assert [x.scorer for x in view.baselines] == ["length"]
    assert view.lines[-1].counts("average_precision") is None


def test_a_metric_of_errors_has_its_lowest_first() -> None:
    rows = [row("bad", "brier", value=0.4), row("good", "brier", value=0.1)]
    (view,) = views(bench(rows=rows, splits=[split(headline="brier", scorers=["bad", "good"])]))
    assert [x.scorer for x in view.lines] == ["good", "bad"]


def test_baselines_given_beside_the_figures_become_lines() -> None:
    beside = Baselines(constant=0.73, length=0.8)
    rows = [row(), row("length", value=0.81)]
    rows[0].baselines = beside
    (view,) = views(bench(rows=rows, splits=[split()]))
    values = {x.scorer: x.cells["average_precision"].value for x in view.baselines}
    assert values == {"constant": 0.73, "length": 0.81}  # a row of its own goes before


def test_rows_of_a_class_have_a_column_of_their_own() -> None:
    rows = [
        row("a", "macro_f1", value=0.5),
        row("a", "f1", positive="neutral", value=0.2),
        row("a", "f1", positive="entailment", value=0.7),
    ]
    (view,) = views(bench(rows=rows, splits=[split(kind="classes", headline="macro_f1")]))
    assert view.main == ["macro_f1"]
    assert view.others == ["f1 (neutral)", "f1 (entailment)"]


def test_levels_of_a_split_are_kept_apart() -> None:
    rows = [row(level="response", value=0.1), row(level="span", value=0.2)]
    found = views(bench(rows=rows, splits=[split(level="span"), split(level="response")]))
    assert [v.lines[0].cells["average_precision"].value for v in found] == [0.2, 0.1]


def test_rows_without_a_split_are_shown_too() -> None:
    (view,) = views(bench(rows=[row(prevalence=0.25, n_total=8)]))
    assert (view.split.n_positive, view.split.headline) == (2, "average_precision")


def test_of_several_sample_counts_the_most_stands_for_the_scorer() -> None:
    rows = [row(value=0.9, samples=20), row(value=0.5, samples=2)]
    (view,) = views(bench(rows=rows, splits=[split()]))
    assert view.lines[0].cells["average_precision"].value == 0.9


def test_pairings_are_seen_from_the_best() -> None:
    pair = Comparison(
        a="low",
        b="high",
        metric="average_precision",
        difference=-0.2,
        ci_low=-0.3,
        ci_high=-0.1,
        p_bootstrap=0.01,
        p_holm=0.02,
    )
    other = pair.model_copy(update={"metric": "auroc", "difference": 5.0})
    rows = [row("low", value=0.5), row("high", value=0.7)]
    one = split(scorers=["low", "high"], comparisons=[other, pair])
    (pairing,) = views(bench(rows=rows, splits=[one]))[0].pairings
    assert (pairing.other, pairing.difference, pairing.low, pairing.high) == ("low", 0.2, 0.1, 0.3)
    assert pairing.verdict == "better than"


@pytest.mark.parametrize(
    ("p", "verdict"),
    [(0.05, "better than"), (0.051, "not distinguishable from"), (None, "not tested against")],
)
def test_verdicts(p: float | None, verdict: str) -> None:
    assert Pairing("other", 0.1, None, None, p).verdict == verdict


def test_notes_say_once_whom_they_are_about() -> None:
    rows = [row("a", notes=["turned", "shared"]), row("a", "auroc", notes=["turned"])]
    rows.append(row("b", notes=["shared", "of the split"]))
    one = split(scorers=["a", "b"], notes=["of the split"])
    (view,) = views(bench(rows=rows, splits=[one]))
    assert view.notes == ["of the split", "a: turned", "a, b: shared"]


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (number(None), "-"),
        (number(-0.0001), "0.000"),
        (number(-0.5), "-0.500"),
        (interval(None, 1), ""),
        (interval(-0.1, 0.25), "[-0.100, 0.250]"),
        (share(0.9999), ">99.9%"),
        (share(0.00001), "<0.1%"),
        (share(1.0), "100%"),
        (p_cell(0.0004), "<0.001"),
        (p_cell(0.0312), "0.031"),
        (p_cell(None), "-"),
        (broken("ngram(n=1,stat=max)", 10), "ngram(n=1,\n stat=max)"),
    ],
)
def test_figures_for_print(made: str, wanted: str) -> None:
    assert made == wanted


def test_flags_keep_values_and_unknown_flags_are_shown_as_they_are() -> None:
    assert shown("length_proxy:0.97").label == "follows length (0.97)"
    assert shown("brand_new:7") == ("brand_new:7", "brand_new:7", "", "warn")
    names = [s.name for s in ordered(["odd", "small_n", "inverted", "inverted:2"])]
    assert names == ["inverted", "small_n", "odd"]
    assert [label for label, _, _ in explained(["odd", "small_n", "small_n"])] == ["small n"]


def test_every_flag_is_one_short_sentence() -> None:
    wanted = (
        "inverted constant length_proxy not_better_than_length not_better_than_constant "
        "ties_inflate_trapezoid one_class small_n few_groups threshold_fitted_on_test in_domain "
        "failures low_coverage"
    )
    assert set(FLAGS) == set(wanted.split())
    for flag in FLAGS.values():
        assert len(flag.label) <= 26
        assert flag.explanation.endswith(".") and ". " not in flag.explanation


def test_the_overview_tells_best_level_and_worse_apart() -> None:
    def compared(other: str, p: float) -> Comparison:
        return Comparison(a="first", b=other, metric="average_precision", difference=0.1,
                          ci_low=0.0, ci_high=0.2, p_bootstrap=p, p_holm=p)  # fmt: skip

    rows = [row("first", value=0.9), row("near", value=0.89), row("far", value=0.5)]
    rows += [row("random", value=0.4), row("near", value=0.7, split="other")]
    comparisons = [compared("near", 0.4), compared("far", 0.001)]
    splits = [
        split(scorers=["first", "near", "far"], comparisons=comparisons),
        split(split="other", scorers=["near"]),
    ]
    made = overview(views(bench(rows=rows, splits=splits)))
    told = {x.scorer: [(r.value if r else None, mark) for r, mark in x.cells] for x in made}
    assert told == {
        "first": [(0.9, "best"), (None, "")],
        "near": [(0.89, "level"), (0.7, "best")],
        "far": [(0.5, ""), (None, "")],
        "random": [(0.4, ""), (None, "")],
    }
    assert [x.baseline for x in made] == [False, False, False, True]


def test_flags_of_a_split_are_said_of_the_split() -> None:
    (view,) = views(bench(rows=[row(flags=["small_n", "in_domain"])], splits=[split()]))
    assert [f.name for f in view.flags] == ["small_n"]
    assert [f.name for f in view.lines[0].flags] == ["in_domain"]
