"""The answers of a run, found by their place: the same as the run says, whatever they hold."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from builders import HOSTILE
from review_runs import items_of, make_run, rows

import veridical
from veridical.core.prompt_text import question_text


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ordinary and odd answers: hostile text, numbers that JSON lacks, deep values, none."""
    odd = [
        {
            "id": text,
            "prompt": [{"role": "user", "content": text}],
            "response": f"{text}\n{text} 🙂",
            "contexts": [{"id": text, "text": text}],
            "samples": [text, {"text": text, "finish_reason": "stop"}],
            "reference": [text],
            "sentences": [[0, len(text)]],
            "unit_labels": [{"start": 0, "end": 1, "label": 1}],
            "label": 0.5,
            text: {"deep": [text, 1e300, -0.0, 2**70, None, True]},
        }
        for text in HOSTILE
    ]
    given = [*rows(9), *odd, {"response": ""}]
    return make_run(tmp_path_factory.mktemp("items"), given)


def test_answers_are_those_of_the_run(run: Path) -> None:
    items = items_of(run, fields=("model",))
    pairs = list(veridical.api.reopen(run).pairs())
    assert len(items) == len(pairs) == 9 + len(HOSTILE) + 1
    for place, (record, result) in enumerate(pairs):
        kept, told = items.get(place)
        assert repr(kept) == repr(record)
        assert told == result
        assert items.rows[place] == record.row and items.place(record.row) == place
        assert items.digests[place] == record.digest() == kept.digest()
        assert items.verdicts[place] == result.verdict
    assert items.place(10**6) is None
    assert items.groups["model"][:4] == ["small", "large", "small", "large"]
    assert items.groups["model"][-1] == ""


def test_risks_and_their_spread(run: Path) -> None:
    items = items_of(run)
    for place, result in enumerate(veridical.api.reopen(run)):
        risk = items.risks[place]
        assert math.isnan(risk) if result.risk is None else risk == result.risk
        risks = [s.risk for s in result.scores.values() if s.risk is not None]
        expected = float(np.std(risks)) if len(risks) > 1 else 0.0
        assert items.spreads[place] == pytest.approx(expected, abs=1e-12)


def test_a_reading_leaves_the_summary_known_and_counts_what_waits(run: Path) -> None:
    results = veridical.api.reopen(run)
    told = [(record.row, head.verdict) for record, _, head in results.records_with_summaries()]
    assert told == [(r.row, r.verdict) for r in veridical.api.reopen(run)]
    assert results.waiting == 0
    one, other = results.summary().as_dict(), veridical.api.reopen(run).summary().as_dict()
    assert one == other


def test_bytes_that_are_no_text_are_kept(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    data = tmp_path / "answers.parquet"
    blob = pyarrow.array([b"\xff\xfe", b"plain"], pyarrow.binary())
    columns = {"response": ["It is so.", "It was."], "blob": blob, "x": [float("nan"), 1.0]}
    table = pyarrow.table(columns)
    parquet.write_table(table, data)
    out = tmp_path / "out"
    veridical.check(data, "support", store=None, processes=0, out=out)
    items = items_of(out)
    for place, (record, result) in enumerate(veridical.api.reopen(out).pairs()):
        kept, told = items.get(place)
        assert told == result and kept.response == record.response
        assert kept.meta["x"] == record.meta["x"] and isinstance(kept.meta["blob"], str)


def test_answers_that_hold_a_text(run: Path) -> None:
    items = items_of(run)
    pairs = list(veridical.api.reopen(run).pairs())
    for wanted in (*HOSTILE, "RESPONSE", "model", "🙂", '"', "\\"):
        held = [
            place
            for place, (record, _) in enumerate(pairs)
            if any(
                wanted.casefold() in text.casefold()
                for text in (
                    record.response,
                    question_text(record.prompt) or "",
                    str(record.id),
                    *(c.text for c in record.contexts),
                    *record.reference,
                    *(s.text for s in record.samples if s.text),
                )
            )
        ]
        assert items.holding(wanted) == held
    assert items.holding("nobody says this") == []
