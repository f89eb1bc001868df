"""Rates of claims by model: means by hand, intervals by statsmodels, and the table."""

from __future__ import annotations

import html.parser
from itertools import count
from pathlib import Path

import pytest
from builders import HOSTILE
from claim_builders import claimed, judged, other_records
from fake_models import FakeNli
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

import veridical
from veridical.core.records import Record
from veridical.core.scores import Score
from veridical.engine.engine import Engine
from veridical.engine.summary import Moments
from veridical.report.claim_rates import (
    MOST_MODELS,
    ModelRates,
    Rate,
    RateTally,
    model_of,
    rates_by_model,
    rates_table,
    share_interval,
)


def moments(values: list[float]) -> Moments:
    found = Moments()
    for v in values:
        found.add(v)
    return found


def test_rates_are_means_over_responses_that_claim() -> None:
    found = rates_by_model([claimed(), *other_records()], ["claims", "absent"])
    assert list(found) == ["claims"]
    b, a, every = found["claims"]
    assert [(r.model, r.responses, r.claims, r.unjudged) for r in (b, a, every)] == [
        ("gpt-b", 2, 2, 1),  # the verdict of two classes has no such rates
        ("gpt-a", 2, 6, 0),
        ("all", 4, 8, 1),
    ]
    # gpt-a: 1/4 neutral and 2/4 contradicted of four claims, then 1/2 neutral of two
    assert a.rates["neutral"].value == pytest.approx((1 / 4 + 1 / 2) / 2)
    assert a.rates["contradiction"].value == pytest.approx((2 / 4 + 0) / 2)
    assert a.rates["hallucination"].value == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert a.rates["entailment"].value == pytest.approx((1 / 4 + 1 / 2) / 2)
    # gpt-b: one response all supported, one that abstains, which counts for nothing else
    assert b.rates["entailment"] == Rate(1.0, None, None)
    assert b.rates["abstain"].value == 0.5
    assert every.total and every.rates["hallucination"].value == pytest.approx(1.25 / 3)


def test_one_model_has_no_row_of_all_and_none_judged_no_table() -> None:
    (row,) = rates_by_model([judged(["neutral"], model="m")], ["claims"])["claims"]
    assert (row.model, row.total) == ("m", False)
    tally = RateTally()
    tally.add("m", Score.failed("no answer"))
    tally.add("m", None)
    assert tally.rows() == []
    assert rates_by_model([], ["claims"]) == {}


@pytest.mark.parametrize(
    ("shares", "trials", "worth"),
    [
        ([0.0] * 30, 90, 30.0),  # all alike at an end: as many trials as responses
        ([1.0] * 7, 7, 7.0),
        ([0.0, 1.0] * 20, 40, 39.0),  # whole shares: p (1 - p) / s² · n = n - 1
        ([0.5] * 10, 25, 25.0),  # no spread inside: every claim a trial, no more
        ([0.25, 0.5, 0.75, 0.5], 12, 12.0),
    ],
)
def test_intervals_are_wilsons_of_an_effective_size(
    shares: list[float], trials: int, worth: float
) -> None:
    mean = sum(shares) / len(shares)
    wanted = proportion_confint(mean * worth, worth, method="wilson")
    assert share_interval(moments(shares), trials) == pytest.approx(wanted, abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(0, 100))
def test_intervals_hold_the_mean_and_stay_inside(shares: list[float], more: int) -> None:
    found = moments(shares)
    low, high = share_interval(found, len(shares) + more)
    assert low is not None and high is not None
    assert 0 <= low <= min(1.0, max(0.0, found.mean)) <= high <= 1
    assert high - low > 1e-4


def test_one_response_has_no_interval() -> None:
    assert share_interval(moments([0.5]), 9) == (None, None)


@pytest.mark.parametrize(
    ("meta", "name"),
    [
        ({"model": " gpt-4 "}, "gpt-4"),
        ({"model_name": "t5"}, "t5"),
        ({"model": {"name": "x"}, "model_name": "y"}, "x"),
        ({"model": {"size": 7}, "model_name": "y"}, "y"),
        ({"model": ["a"]}, None),
        ({"model": "  "}, None),
        ({}, None),
        ({"model": "m" * 500}, "m" * 200),
    ],
)
def test_the_model_of_a_record(meta: dict[str, object], name: str | None) -> None:
    assert model_of(Record(response="x", meta=meta)) == name


def test_very_many_models_share_a_row() -> None:
    numbers = count()
    pairs = (judged(["neutral"], model=f"m{next(numbers)}") for _ in range(MOST_MODELS + 50))
    rows = rates_by_model(pairs, ["claims"])["claims"]
    assert len(rows) == MOST_MODELS + 2
    assert {r.model: r.responses for r in rows}["(other models)"] == 50


class Cells(html.parser.HTMLParser):
    """Tags, and the text of each cell of each row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    def row(self, i: int) -> list[str]:
        return [" ".join(cell.split()) for cell in self.rows[i]]


def test_the_table() -> None:
    rates = {
        "entailment": Rate(0.5, 0.25, 0.75),
        "neutral": Rate(0.375),
        "contradiction": Rate(0.125, 0.0, 0.3),
        "hallucination": Rate(0.5, 0.3, 0.7),
    }
    row = ModelRates("gpt", rates, 1200, 5000, unjudged=3)
    page = Cells(rates_table("Claims", [row], "A note."))
    cells = page.row(1)
    assert cells[:2] == ["gpt", "50.0 % [30.0, 70.0]"]
    assert cells[3:] == [
        "12.5 % [0.0, 30.0]", "37.5 %", "50.0 % [25.0, 75.0]", "–", "1,200 + 3 not judged",
        "5,000 A note.",
    ]  # fmt: skip
    bars = [a for t, a in page.tags if t == "rect"]
    assert [(a["data-v"], a["x"], a["width"]) for a in bars] == [
        ("contradiction", "0.00", "12.50"), ("neutral", "12.50", "37.50"),
        ("entailment", "50.00", "50.00"),
    ]  # fmt: skip


def test_hostile_names_stay_text() -> None:
    for bad in HOSTILE:
        row = ModelRates(bad, {}, 1, 1)
        page = Cells(rates_table(bad, [row], bad))
        calm = Cells(rates_table("calm", [ModelRates("calm", {}, 1, 1)], "calm"))
        assert [t for t, _ in page.tags] == [t for t, _ in calm.tags]
        assert not [a for _, a in page.tags if any(k.startswith("on") or k == "style" for k in a)]


def test_a_run_of_claims_reports_them_by_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: FakeNli())
    rows = [
        {"response": "It is in Mali. It is not old.", "contexts": "It is in Mali.", "model": name}
        for name in ("one", "two")
    ]
    with Engine(processes=0) as engine:
        scorers = "claims(extractor=sentences), ngram_presence"
        results = veridical.check(rows, scorers, engine=engine)
        text = results.report(tmp_path / "r.html").read_text("utf-8")
    assert text.count('<figure class="rates">') == 1
    assert "Claims by model: claims(extractor=sentences)" in text
    page = Cells(text)
    named = [row[0] for row in map(page.row, range(len(page.rows))) if "%" in "".join(row[1:4])]
    assert {"one", "two", "all"} <= set(named)
