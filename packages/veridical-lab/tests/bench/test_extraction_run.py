"""``bench extraction``: precision and recall by hand, and what is left out and counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_models import FakeNli

import veridical
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.scores import Score
from veridical.core.verdicts import Verdicts
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.extraction_quality import quality
from veridical_lab.bench.report.bench_document import markdown
from veridical_lab.bench.report.html import write_bench_report


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return path


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bench]:
    """With a model that calls entailed what shares more than half of its words."""
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: FakeNli())

    def run(path: Path, scorers: Any = None, **more: Any) -> Bench:
        with Engine(processes=0) as engine:
            more.setdefault("bootstrap", 50)
            return veridical.bench("extraction", path, scorers, engine=engine, **more)

    return run


def values(made: Bench, split: str, scorer: str) -> dict[str, float | None]:
    return {r.metric: r.value for r in made.rows if (r.split, r.scorer) == (split, scorer)}


RESPONSE = "Rome lies on water. Oslo grows fast."
ROWS = [
    # both sentences are found, and both given claims are in them
    {"response": RESPONSE, "claims": ["Rome lies on water.", ["Oslo", "grows", "fast"]]},
    # one given claim of two is nowhere in the response
    {"response": RESPONSE, "claims": ["Oslo grows fast.", "Bronze costs gold."]},
    # a refusal by the text, though the data has a claim
    {"response": "I don't know.", "claims": ["Rome lies on water."]},
    # the data says that nothing is claimed
    {"response": "I don't know.", "claims": []},
]


def test_figures_by_hand(bench: Callable[..., Bench], tmp_path: Path) -> None:
    made = bench(write(tmp_path / "x.jsonl", ROWS), "given, sentences")
    # precision 1, 1, 0; recall 1, 1/2, 0; F1 1, 2/3, 0: means over the three with claims
    assert values(made, "extraction", "sentences") == pytest.approx(
        {"precision": 2 / 3, "recall": 0.5, "f1": 5 / 9}
    )
    # given: the claim that is nowhere costs precision: 1, 1/2, 0; all entail themselves
    assert values(made, "extraction", "given") == pytest.approx(
        {"precision": 0.5, "recall": 1.0, "f1": (1 + 2 / 3 + 0) / 3}
    )
    (split,) = made.splits
    assert (split.n_total, split.headline) == (3, "f1")
    (pair,) = split.comparisons
    assert pair.difference == pytest.approx(0.0) and pair.p_delong is None
    notes = " | ".join(split.notes)
    assert "claims a response: 1.7 in the data; given 1.7, sentences 1.3" in notes
    assert "sentences: no claims in 1 responses taken for refusals" in notes
    assert "1 responses claim nothing by the data and are left out" in notes
    assert "given 1, sentences 1" in notes


class Judge(Evidence):
    """Entails by equality of words; remembers what it was asked."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.asked: list[tuple[str, str]] = []

    async def nli(self, pairs, model=None):
        self.asked += pairs
        table = [(1, 0, 0) if h.rstrip(".") in p else (0, 1, 0) for p, h in pairs]
        return Verdicts(np.array(table, float), True)

    async def _score(self, bound: BoundScorer) -> Score:
        return await bound(self.record, self)


async def test_what_is_judged_by_what() -> None:
    record = Record(
        prompt="Where is Rome?",
        response=RESPONSE,
        meta={"claims": [["Rome", "lies", "on water"], "Bronze costs gold."]},
    )
    evidence = Judge(record)
    found = await quality(record, evidence, extractor="sentences")
    whole = f"Where is Rome?\n\n{RESPONSE}"
    assert evidence.asked == [
        (whole, "Rome lies on water."),
        (whole, "Oslo grows fast."),
        (RESPONSE, "Rome lies on water."),
        (RESPONSE, "Bronze costs gold."),
    ]
    assert isinstance(found.raw, dict)
    assert (found.raw["precision"], found.raw["recall"]) == (1.0, 0.5)
    assert found.raw["f1"] == pytest.approx(2 / 3) and found.risk == pytest.approx(1 / 3)
    assert found.raw["missed"] == ["Bronze costs gold."]
    assert [(u.text, u.label) for u in found.units] == [
        ("Rome lies on water.", "entailment"),
        ("Oslo grows fast.", "entailment"),
    ]


def test_failures_and_bad_rows_stay_in_the_denominator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = FakeNli(fail_on=lambda pair: "Oslo" in pair[1])
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: broken)
    rows = [
        {"response": "Rome lies on water.", "claims": ["Rome lies on water."]},
        {"response": RESPONSE, "claims": ["Oslo grows fast."]},
        {"response": RESPONSE, "claims": "Oslo"},
        {"response": " ", "claims": ["Oslo"]},
    ]
    path = write(tmp_path / "x.jsonl", rows)
    with Engine(processes=0) as engine:
        made = veridical.bench("extraction", path, "sentences", engine=engine, bootstrap=0)
    row = next(r for r in made.rows if r.metric == "f1")
    assert (row.n_total, row.n_scored, row.n_failed, row.n_not_applicable) == (4, 1, 2, 1)
    assert row.coverage == pytest.approx(1 / 3)
    assert {"failures:2", "low_coverage"} <= set(row.flags)
    assert made.n_row_errors == 1 and made.row_errors[0]["field"] == "claims"


def test_refcheckers_triplets_are_given_claims(bench: Callable[..., Bench], tmp_path: Path) -> None:
    def claim(number: int, label: str, *triplet: str) -> dict[str, Any]:
        return {
            "setting": "zero_context", "model": "gpt4", "id": str(number), "response": RESPONSE,
            "triplet": triplet, "human_label": label,
        }  # fmt: skip

    rows = [
        claim(1, "Neutral", "Oslo", "grows", "fast"),
        claim(1, "bad triplet", "Oslo", "is", "what"),
        claim(2, "Contradiction", "Rome", "lies on", "water"),
    ]
    made = bench(write(tmp_path / "claims.jsonl", rows), "clauses")
    (split,) = made.splits
    assert (split.split, split.n_total) == ("zero_context", 2)
    assert "bad triplets, left out of zero_context: 1" in " ".join(split.notes)
    assert values(made, "zero_context", "clauses")["recall"] == 1.0


def test_defaults_work_offline_and_render(bench: Callable[..., Bench], tmp_path: Path) -> None:
    made = bench(write(tmp_path / "x.jsonl", ROWS * 15))
    assert made.splits[0].scorers == ["given", "response", "sentences", "clauses", "triplets"]
    assert made.splits[0].cliques and made.signatures["clauses"].startswith("extraction|v1|")
    write_bench_report(made, tmp_path / "r.html")
    text = markdown(made)
    for name in ("precision", "recall", "F1", "clauses"):
        assert name in text and name in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scorers": "clause"}, "did you mean 'clauses'"),
        ({"scorers": "clauses, clauses"}, "is given twice"),
        ({"scorers": ","}, "name an extractor"),
        ({"scorers": "llm_triplets"}, "needs a language model"),
        ({"judge": "llm"}, "needs a language model"),
        ({"judge": "jury"}, "unknown claim checker 'jury'"),
    ],
)
def test_what_cannot_be_asked(
    arguments: dict[str, Any], said: str, bench: Callable[..., Bench], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        bench(write(tmp_path / "x.jsonl", ROWS), **arguments)
