"""Agreement of people: against Krippendorff's package, nltk's and hand-worked examples."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.review.agreement import (
    CLASSES,
    agreement,
    cross_table_text,
    cross_tables,
    nominal_alpha,
)
from veridical.review.events import ReviewEvent, UnitPlace
from veridical.review.labels import Labels, answer_label, finals, outcome

RECORD = "0" * 32


def events(row: int, said: dict[str, list[str]], *, at: int = 0) -> list[ReviewEvent]:
    """Labels of the units of an answer by each person, who is then done."""
    out = []
    for who, labels in said.items():
        for i, label in enumerate(labels):
            unit = UnitPlace(level="sentence", start=10 * i, end=10 * i + 9, text=f"s{i}")
            given = {"at": f"{at:06d}", "who": who, "row": row, "record": RECORD}
            out.append(ReviewEvent(event="label", unit=unit, label=label, **given))
        out.append(ReviewEvent(event="done", at=f"{at:06d}", who=who, row=row, record=RECORD))
    return out


def test_alpha_is_that_of_the_reference_package_and_of_nltk() -> None:
    krippendorff = pytest.importorskip("krippendorff")
    draw = np.random.default_rng(3)
    for people in (2, 3):
        for _ in range(10):
            table = draw.integers(0, 4, (40, people))
            table[:, 1] = np.where(draw.random(40) < 0.7, table[:, 0], table[:, 1])
            counts = np.stack([(table == c).sum(axis=1) for c in range(4)], axis=1).astype(float)
            expected = krippendorff.alpha(
                reliability_data=table.T, level_of_measurement="nominal", value_domain=range(4)
            )
            assert nominal_alpha(counts) == pytest.approx(expected, abs=1e-12)


def test_alpha_of_krippendorffs_own_example() -> None:
    """Nominal data with missing values of Krippendorff (2011), section C: 0.743."""
    units = [
        "1 1 1",
        "2 2 3 2",
        "3 3 3 3",
        "3 3 3 3",
        "2 2 2 2",
        "1 2 3 4",
        "4 4 4 4",
        "1 1 2 1",
        "2 2 2 2",
        "5 5 5",
        "1 1",
        "3",
    ]
    counts = np.zeros((len(units), 5))
    for i, unit in enumerate(units):
        for value in unit.split():
            counts[i, int(value) - 1] += 1
    assert nominal_alpha(counts) == pytest.approx(0.743, abs=0.0005)


def test_nothing_can_be_said_of_one_label_or_of_one_person() -> None:
    assert nominal_alpha(np.array([[2.0, 0.0], [2.0, 0.0]])) is None
    assert nominal_alpha(np.array([[1.0, 0.0], [0.0, 1.0]])) is None
    nothing = agreement(Labels.from_events(events(0, {"a": ["supported"]})))
    assert (nothing.alpha, nothing.agree, nothing.units, nothing.confusion) == (None, None, 0, [])


def test_agreement_counts_pairs_and_lists_what_is_open() -> None:
    given = []
    for row in range(12):
        second = "contradicted" if row % 4 == 0 else "supported"
        given += events(row, {"a": ["supported", "says_nothing"], "b": [second, "says_nothing"]})
    found = agreement(Labels.from_events(given), resamples=200)
    assert (found.units, found.answers, found.agree) == (24, 12, 21 / 24)
    assert found.alpha is not None and found.alpha_low is not None and found.alpha_high is not None
    assert found.alpha_low <= found.alpha <= found.alpha_high
    cells = {(c.first, c.second): c.count for c in found.confusion}
    assert cells["supported", "contradicted"] == 3 and ("contradicted", "supported") not in cells
    assert cells["says_nothing", "says_nothing"] == 12 and cells["supported", "supported"] == 9
    assert sum(cells.values()) == 24  # a pair of labels is one pair
    assert sum(c.share for c in found.confusion) == pytest.approx(1)
    assert all(c.low <= c.share <= c.high for c in found.confusion)
    assert [s.row for s in found.disagreements] == [0, 4, 8]
    assert {c.first for c in found.confusion} <= set(CLASSES)


def test_a_change_after_the_reveal_is_no_agreement() -> None:
    """Agreement is of the blind labels; the export has the newest."""
    given = events(0, {"a": ["supported"], "b": ["contradicted"]})
    change = given[0].model_copy(update={"at": "9", "label": "contradicted", "blind": False})
    labels = Labels.from_events([*given, change])
    found = agreement(labels)
    assert found.agree == 0.0 and found.disagreements == []
    assert finals(labels, 0)[0].by == "agreed" and finals(labels, 0)[0].label == "contradicted"


def test_the_label_of_an_answer() -> None:
    def label(said: dict[str, list[str]]) -> tuple[str, float | None]:
        units = finals(Labels.from_events(events(0, said)), 0)
        return outcome(units), answer_label(units)

    assert label({"a": ["supported", "supported"]}) == ("right", 0.0)
    assert label({"a": ["supported", "says_nothing"]}) == ("hallucinated", 1.0)
    assert label({"a": ["not_a_claim"]}) == ("no_statement", None)
    assert label({"a": ["supported"], "b": ["contradicted"]}) == ("undecided", None)
    three = {"a": ["supported"], "b": ["supported"], "c": ["contradicted"]}
    assert label(three) == ("right", 0.0)
    both = {"a": ["supported", "contradicted"], "b": ["contradicted", "contradicted"]}
    assert label(both) == ("hallucinated", 1.0)


def test_cross_tables_are_of_each_two_people() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    a = ["supported", "supported", "contradicted", "says_nothing", "supported"]
    b = ["supported", "contradicted", "contradicted", "supported", "supported"]
    labels = Labels.from_events(events(0, {"ann": a, "ben": b, "cleo": ["supported"]}))
    tables = cross_tables(labels)
    assert set(tables) == {("ann", "ben"), ("ann", "cleo"), ("ben", "cleo")}
    table = tables["ann", "ben"]
    expected = sklearn.confusion_matrix(a, b, labels=CLASSES)
    assert [[table[x, y] for y in CLASSES] for x in CLASSES] == expected.tolist()
    lines = cross_table_text(("ann", "ben"), table).splitlines()
    assert lines[0] == "ann (rows) and ben (columns), units labelled by both:"
    assert [line.split() for line in lines[1:3]] == [
        ["supported", "says_nothing", "contradicted"],
        ["supported", "2", "0", "1"],
    ]


def test_the_worst_label_counts_where_people_disagree() -> None:
    def worst(*said: str) -> tuple[str | None, str]:
        given = {f"p{i}": [label] for i, label in enumerate(said)}
        (final,) = finals(Labels.from_events(events(0, given)), 0, worst=True)
        return final.label, final.by

    assert worst("supported", "contradicted") == ("contradicted", "worst")
    assert worst("supported", "supported", "says_nothing") == ("says_nothing", "worst")
    assert worst("not_a_claim", "supported") == ("supported", "worst")
    assert worst("supported", "supported") == ("supported", "agreed")


def test_adjudication_decides() -> None:
    given = events(0, {"a": ["supported"], "b": ["contradicted"]})
    unit = given[0].unit
    judge = ReviewEvent(
        event="adjudicated", at="1", who="j", row=0, record=RECORD, unit=unit, label="supported"
    )
    labels = Labels.from_events([*given, judge])
    assert finals(labels, 0, worst=True) == finals(labels, 0)
    (final,) = finals(labels, 0)
    assert (final.label, final.by) == ("supported", "adjudicated")
    assert final.individual == {"a": "supported", "b": "contradicted"}
    assert agreement(labels).disagreements == []
