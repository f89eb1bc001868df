"""Agreement between annotators against scikit-learn and published examples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from veridical.review.agreement import nominal_alpha
from veridical_lab.bench.metrics.agreement import cohen_kappa, krippendorff_alpha

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C: observers A to D.
PUBLISHED = [
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
]


def items_of(rows: list[tuple[int | None, ...]]) -> list[dict[str, int]]:
    return [
        {name: label for name, label in zip("ABCD", column, strict=False) if label is not None}
        for column in zip(*rows, strict=True)
    ]


def test_published_alphas() -> None:
    items = items_of(PUBLISHED)
    assert krippendorff_alpha(items) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(items, "interval") == pytest.approx(0.849, abs=5e-4)


@pytest.mark.parametrize("people", [2, 3])
def test_alpha_is_that_of_reviews_where_no_label_is_missing(people: int) -> None:
    draw = np.random.default_rng(people)
    table = draw.integers(0, 4, (40, people))
    table[:, 1] = np.where(draw.random(40) < 0.7, table[:, 0], table[:, 1])
    counts = np.stack([(table == c).sum(axis=1) for c in range(4)], axis=1).astype(float)
    items = [{str(p): int(v) for p, v in enumerate(row)} for row in table]
    assert krippendorff_alpha(items) == pytest.approx(nominal_alpha(counts), abs=1e-9)


def test_alpha_of_two_observers_without_missing_labels() -> None:
    """The same source, section A: two observers, ten units, alpha 0.095."""
    meg = (0, 1, 0, 0, 0, 0, 0, 0, 1, 0)
    owen = (1, 1, 1, 0, 0, 1, 0, 0, 0, 0)
    assert krippendorff_alpha(items_of([meg, owen])) == pytest.approx(0.095, abs=5e-4)


def test_kappa_of_a_pair() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 120)
    b = np.where(rng.random(120) < 0.6, a, rng.integers(0, 3, 120))
    items = [{"x": int(i), "y": int(j)} for i, j in zip(a, b, strict=True)]
    assert cohen_kappa(items) == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)


def test_kappa_is_the_mean_over_pairs_on_shared_items() -> None:
    items = items_of(PUBLISHED)
    expected = []
    for i, one in enumerate(PUBLISHED):
        for other in PUBLISHED[i + 1 :]:
            both = [
                (a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None
            ]
            expected.append(cohen_kappa_score(*zip(*both, strict=True)))
    assert cohen_kappa(items) == pytest.approx(np.mean(expected), abs=1e-12)


def test_annotators_who_never_agree_or_always_do() -> None:
    opposed = [{"a": i % 2, "b": 1 - i % 2} for i in range(10)]
    assert cohen_kappa(opposed) == pytest.approx(-1.0)
    # 20 labels, ten of each: expected disagreement 2 x 10 x 10 / (20 x 19), observed 1
    assert krippendorff_alpha(opposed) == pytest.approx(1 - 380 / 200)
    agreed = [{"a": i % 3, "b": i % 3} for i in range(9)]
    assert cohen_kappa(agreed) == krippendorff_alpha(agreed, "interval") == 1.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "items",
    [
        [],
        [{}],
        [{"a": 1}, {"a": 0}],  # one annotator
        [{"a": 1}, {"b": 0}],  # two who share nothing
        [{"a": 1, "b": 1}, {"a": 1, "b": 1}],  # one label
        [{"a": 1, "b": 1}, {"a": 0}],  # one label where there are two annotators
    ],
)
def test_no_agreement_to_speak_of(items: list[dict[str, int]]) -> None:
    assert np.isnan(cohen_kappa(items)) and np.isnan(krippendorff_alpha(items))
    assert np.isnan(krippendorff_alpha(items, "interval"))


def test_pairs_without_a_figure_are_left_out() -> None:
    """a and b differ; c labelled only what a and b call 1, and agreed."""
    items = [{"a": 1, "b": 1, "c": 1}, {"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 1, "b": 1}]
    assert cohen_kappa(items) == pytest.approx(cohen_kappa_score([1, 0, 0, 1], [1, 0, 1, 1]))
