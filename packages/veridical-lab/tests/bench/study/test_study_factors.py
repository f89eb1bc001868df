"""The factor tests as a whole: planted findings, pairing, degenerate tables."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from veridical.errors import UsageError
from veridical_lab.bench.result import FactorTest, Study
from veridical_lab.bench.study import factors

VERSIONS = {
    "opt": ("350M 1.3B 6.7B 30B", {"": "pretrained"}),
    "llama": ("7B 13B 70B", {"": "base", "-chat": "chat"}),
    "olmo": ("1B 7B", {"": "base", "-instruct": "it"}),
}
MODELS = [
    (f"{family}-{size}{suffix}", size, tuning)
    for family, (sizes, tunings) in VERSIONS.items()
    for size in sizes.split()
    for suffix, tuning in tunings.items()
]
DECODINGS = ("greedy", "beam", "top-p", "top-k", "ancestral")


def planted(items: int = 30, seed: int = 0) -> list[dict[str, Any]]:
    """A wide table of two data sets: on "one" all three factors matter to ``sees``, tuning and
    decoding down, size up; nothing matters to ``blind``, nor to either on "two"."""
    rng = np.random.default_rng(seed)
    rows = []
    for dataset, effect in (("one", 1.0), ("two", 0.0)):
        hard = rng.normal(size=items)
        for model, size, tuning in MODELS:
            billions = float(size[:-1]) / (1000 if size.endswith("M") else 1)
            for decoding in DECODINGS:
                shift = 0.8 * (decoding not in ("greedy", "beam"))
                shift += -0.6 * (tuning in ("chat", "it")) + 0.5 * (billions >= 20)
                for i in range(items):
                    rows.append(
                        {
                            "dataset": dataset,
                            "model": model,
                            "size": size,
                            "tuning": tuning,
                            "decoding": decoding,
                            "item": i,
                            "sees": effect * (shift + hard[i]) + rng.normal(),
                            "blind": rng.exponential() ** 2,
                        }
                    )
    return rows


@pytest.fixture(scope="module")
def study() -> Study:
    return factors(planted())


def of(study: Study, dataset: str, scorer: str, factor: str) -> FactorTest:
    (found,) = (
        t for t in study.tests if (t.dataset, t.scorer, t.factor) == (dataset, scorer, factor)
    )
    return found


def test_planted_effects_are_found_and_no_others(study: Study) -> None:
    assert len(study.tests) == 12
    found = {(t.dataset, t.scorer, t.factor) for t in study.tests if t.p_holm and t.p_holm < 0.05}
    assert {f for f in found if f[:2] != ("one", "sees")} == set()
    assert of(study, "one", "sees", "tuning").p_holm < 1e-6  # type: ignore[operator]
    assert of(study, "one", "sees", "decoding").p_holm < 1e-6  # type: ignore[operator]
    assert of(study, "one", "sees", "size").p_holm < 1e-6  # type: ignore[operator]
    tuning = of(study, "one", "sees", "tuning")
    # differences are -0.6 with variance 2
    assert (tuning.test, tuning.effect) == ("paired t", "Cohen's d_z")
    assert tuning.effect_size == pytest.approx(-0.6 / 2**0.5, abs=0.1)
    assert of(study, "one", "blind", "tuning").test == "Wilcoxon signed-rank"
    assert of(study, "one", "blind", "decoding").test == "Friedman"
    assert of(study, "one", "blind", "size").test == "Kruskal-Wallis"


def test_holm_is_over_the_whole_table(study: Study) -> None:
    import statsmodels.stats.multitest as multi

    wanted = multi.multipletests([t.p for t in study.tests], method="holm")[1]
    assert [t.p_holm for t in study.tests] == pytest.approx(wanted.tolist())


def test_counts_and_levels(study: Study) -> None:
    tuning = of(study, "one", "sees", "tuning")  # 5 pairs of models, 5 decodings, 30 items
    assert (tuning.n, tuning.groups) == (750, {"pretrained": 750, "instruct": 750})
    assert tuning.note is not None and "paired by item" in tuning.note
    decoding = of(study, "one", "sees", "decoding")
    assert (decoding.n, decoding.groups) == (14 * 30, dict.fromkeys(DECODINGS, 420))
    ours = [row for row in planted() if row["dataset"] == "one"]
    for name, mean in decoding.means.items():
        assert mean == pytest.approx(np.mean([r["sees"] for r in ours if r["decoding"] == name]))
    size = of(study, "one", "sees", "size")
    per_model = 5 * 30
    wanted = {"<0.5B": 1, "0.5-4B": 3, "4-20B": 7, "20-70B": 1, ">=70B": 2}
    assert size.groups == {b: k * per_model for b, k in wanted.items()}
    assert size.n == 14 * per_model


def test_sizes_are_told_apart_by_the_bins_that_are_asked_for() -> None:
    rows = planted(5)
    size = of(factors(rows, size_bins=[5, 30]), "one", "sees", "size")
    assert size.groups == {"<5B": 4 * 25, "5-30B": 7 * 25, ">=30B": 3 * 25}
    groups: list[list[float]] = [[], [], []]
    for row in rows:
        if row["dataset"] == "one":
            billions = float(row["size"][:-1]) / (1000 if row["size"].endswith("M") else 1)
            groups[(billions >= 5) + (billions >= 30)].append(row["sees"])
    assert size.test == "one-way ANOVA"
    assert size.p == pytest.approx(stats.f_oneway(*groups).pvalue)
    assert list(size.means.values()) == pytest.approx([float(np.mean(g)) for g in groups])
    with pytest.raises(UsageError, match="size bins must be positive and increasing"):
        factors(rows, size_bins=[4, 1])


def test_scorers_agree_as_far_as_scipy_says(study: Study) -> None:
    assert [(a.dataset, a.scorers, a.n) for a in study.agreement] == [
        (name, ["sees", "blind"], 14 * 5 * 30) for name in ("one", "two")
    ]
    rows = [row for row in planted() if row["dataset"] == "one"]
    wanted = stats.spearmanr(*([row[name] for row in rows] for name in ("sees", "blind")))[0]
    ((own, other), (same, _)) = study.agreement[0].spearman
    assert own == 1 and other == same == pytest.approx(wanted)


def test_scorers_are_compared_where_both_have_a_value() -> None:
    rows = [row for row in planted(3) if row["dataset"] == "one"]
    for number, row in enumerate(rows):
        del row["blind" if number % 3 else "sees"]
    assert [a.spearman[0][1] for a in factors(rows).agreement] == [None]
    alone = factors([{k: v for k, v in row.items() if k != "blind"} for row in planted(3)])
    assert alone.agreement == []


def test_posthoc_tells_mode_seeking_from_sampling(study: Study) -> None:
    (pairs,) = (
        p for p in study.pairwise if (p.dataset, p.scorer, p.factor) == ("one", "sees", "decoding")
    )
    assert tuple(pairs.levels) == DECODINGS
    for i, a in enumerate(DECODINGS):
        for j, b in enumerate(DECODINGS):
            p = pairs.p[i][j]
            if i == j:
                assert p is None
                continue
            assert p is not None and p == pairs.p[j][i]
            apart = (a in ("greedy", "beam")) != (b in ("greedy", "beam"))
            assert p < 1e-4 if apart else p > 0.05


def test_tuning_is_the_test_of_the_paired_values(study: Study) -> None:
    import pandas

    frame = pandas.DataFrame(planted()).query("dataset == 'one'")
    frame["family"] = frame.model.str.split("-").str[0]
    frame["tuned"] = frame.tuning.isin(["chat", "it"])
    cells = frame.pivot_table("sees", ["family", "size", "decoding", "item"], "tuned").dropna()
    wanted = stats.ttest_rel(cells[True], cells[False])
    found = of(study, "one", "sees", "tuning")
    assert (found.statistic, found.p) == pytest.approx((wanted.statistic, wanted.pvalue))


def test_configuration_means_are_the_unit_when_asked() -> None:
    import pandas

    rows = planted()
    made = factors(rows, unit="configuration")
    frame = pandas.DataFrame(rows).query("dataset == 'two'")
    means = frame.groupby(["model", "decoding"]).blind.mean().unstack()[list(DECODINGS)]
    decoding = of(made, "two", "blind", "decoding")
    assert decoding.n == 14 and of(made, "two", "blind", "size").n == 70
    wanted = stats.friedmanchisquare(*means.to_numpy().T)
    tuning = of(made, "two", "blind", "tuning")
    assert tuning.n == 25 and tuning.note is not None
    assert "pairs of configuration means" in tuning.note
    if decoding.test == "Friedman":
        assert decoding.p == pytest.approx(wanted.pvalue)
    else:
        import statsmodels.stats.anova as anova

        long = means.stack().rename("y").reset_index()
        p = anova.AnovaRM(long, "y", "model", ["decoding"]).fit().anova_table["Pr > F"].iloc[0]
        assert decoding.p == pytest.approx(p)


def test_unmatched_items_fall_back_to_configuration_means() -> None:
    rows = [
        {**r, "item": f"{r['model']} {r['item']}"} for r in planted(10) if r["dataset"] == "one"
    ]
    found = of(factors(rows), "one", "sees", "tuning")
    assert found.n == 25 and found.note is not None
    assert "pairs of configuration means" in found.note
    assert found.p is not None and found.p < 0.05 and (found.effect_size or 0) < 0


def test_scaling_is_greedy_means_with_t_intervals(study: Study) -> None:
    rows = [r for r in planted() if (r["dataset"], r["decoding"]) == ("one", "greedy")]
    points = {p.model: p for p in study.scaling if (p.dataset, p.scorer) == ("one", "sees")}
    assert len(points) == 14
    values = np.array([r["sees"] for r in rows if r["model"] == "llama-70B-chat"])
    point = points["llama-70B-chat"]
    assert (point.size, point.tuning, point.n) == (70.0, "instruct", 30)
    assert point.mean == pytest.approx(values.mean())
    wanted = stats.t.interval(0.95, 29, values.mean(), stats.sem(values))
    assert (point.ci_low, point.ci_high) == pytest.approx(wanted)
    others = factors([r for r in planted(4) if r["decoding"] != "greedy"])
    assert "one: no greedy decoding, so curves are over all decodings" in others.notes
    assert {p.n for p in others.scaling} == {4}


def test_boxes_are_quartiles_with_tukeys_whiskers(study: Study) -> None:
    (box,) = (
        b
        for b in study.boxes
        if (b.dataset, b.scorer, b.decoding, b.size) == ("one", "blind", "beam", "0.5-4B")
    )
    values = np.array(
        [
            r["blind"]
            for r in planted()
            if (r["dataset"], r["decoding"]) == ("one", "beam") and r["size"] in ("1.3B", "1B")
        ]
    )
    assert box.n == len(values) == 90
    q1, q2, q3 = np.percentile(values, [25, 50, 75])
    assert (box.q1, box.median, box.q3) == pytest.approx((q1, q2, q3))
    assert box.low == values.min()  # skewed: nothing lies far below
    assert box.high == values[values <= q3 + 1.5 * (q3 - q1)].max() < values.max()
    assert len(study.boxes) == 2 * 2 * 5 * 5


def test_incomplete_blocks_are_left_out_and_said() -> None:
    rows = [r for r in planted(10) if r["dataset"] == "one"]
    rows = [r for r in rows if not (r["decoding"] == "beam" and r["item"] == 3)]
    found = of(factors(rows), "one", "sees", "decoding")
    assert found.n == 14 * 9
    assert found.note is not None and "14 of 140 blocks are incomplete" in found.note


def test_repeated_values_are_averaged() -> None:
    once = [r for r in planted(8) if r["dataset"] == "one"]
    twice = [{**r, "sees": r["sees"] + d} for r in once for d in (-0.5, 0.5)]
    for factor in ("tuning", "decoding"):
        a, b = (of(factors(t), "one", "sees", factor) for t in (once, twice))
        assert a.n == b.n and a.p == pytest.approx(b.p, rel=1e-6)


def test_the_long_form_says_the_same(study: Study) -> None:
    kept = ("dataset", "model", "size", "tuning", "decoding", "item")
    long = [
        {**{k: r[k] for k in kept}, "scorer": s, "value": r[s]}
        for s in ("sees", "blind")
        for r in planted()
    ]
    made = factors(long)
    assert made.tests == study.tests and made.pairwise == study.pairwise
    assert made.scaling == study.scaling and made.boxes == study.boxes


@pytest.mark.parametrize(
    ("keep", "factor", "why"),
    [
        ({"decoding": "greedy"}, "decoding", "there is one level only"),
        ({"tuning": "base"}, "tuning", "there are no pairs"),
        ({"size": "7B"}, "size", "there is one level only"),
        ({"model": "llama-7B", "item": 0}, "decoding", "one block only has a value at every level"),
    ],
)
def test_degenerate_tables_have_no_p_and_say_why(
    keep: dict[str, Any], factor: str, why: str
) -> None:
    rows = [
        r for r in planted(4) if r["dataset"] == "one" and all(r[k] == v for k, v in keep.items())
    ]
    made = factors(rows)
    found = of(made, "one", "sees", factor)
    assert found.p is None and found.p_holm is None
    assert found.note is not None and why in found.note
    assert all((t.p is None) == (t.p_holm is None) for t in made.tests)


rows_of_few_values = st.lists(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(["a", "b"]),
            "size": st.sampled_from([0.1, 7, 70]),
            "tuning": st.sampled_from(["base", "chat"]),
            "decoding": st.sampled_from(["greedy", "beam", "top-p"]),
            "item": st.integers(0, 2),
            "scorer": st.just("s"),
            "value": st.sampled_from([None, 0.0, 0.1, 0.3, 1.0, 1e99, -1e-300])
            | st.floats(-1e6, 1e6),
        }
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=120, deadline=None)
@given(rows_of_few_values)
def test_no_table_crashes_or_warns(rows: list[dict[str, Any]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = factors(rows)
    for t in made.tests:
        assert t.p is None or 0 <= t.p <= 1
        assert t.p is not None or t.note
        assert t.effect_size is None or -1e12 < t.effect_size < 1e12
    for pairs in made.pairwise:
        assert len(pairs.p) == len(pairs.levels) == len(pairs.p[0])
        assert all(p is None or 0 <= p <= 1 for line in pairs.p for p in line)
    for box in made.boxes:
        assert box.low <= box.q1 <= box.median <= box.q3 <= box.high
    Study.model_validate_json(made.model_dump_json())


def test_tens_of_thousands_of_rows_take_seconds() -> None:
    rows = planted(300)
    assert len(rows) == 42_000
    start = time.process_time()
    factors(rows)
    assert time.process_time() - start < 60
