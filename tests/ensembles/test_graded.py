"""Graded answers read from a run: aligned, grouped, nothing lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical
from veridical.ensembles.graded import Graded, gather
from veridical.errors import UsageError

SCORERS = "ngram_presence, exact_match, support"


def checked(rows: list[dict[str, Any]], scorers: str = SCORERS) -> veridical.Results:
    return veridical.check(rows, scorers, store=None, processes=0)


def row(i: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"id-{i}",
        "prompt": f"question {i}",
        "response": "Paris is in France. It has two rivers.",
        "samples": ["Paris is in France.", "It has one river."],
        **fields,
    }


def test_responses_are_aligned_with_their_labels() -> None:
    rows = [
        row(0, label=0),
        row(1),  # no label
        row(2, label=0.5, response="Paris is in France."),
        {"id": "bad", "label": 1},  # no response
        row(4, label=True, samples=[]),
    ]
    results = checked(rows)
    graded, missing = gather(results)
    assert graded.rows.tolist() == [0, 2, 4]
    assert graded.labels.tolist() == [0.0, 1.0, 1.0]  # half counts as hallucinated
    assert graded.scorers == ("ngram_presence", "exact_match", "support")
    by_row = {r.row: r for r in results}
    for at, i in enumerate((0, 2, 4)):
        for column, key in enumerate(graded.scorers):
            risk = by_row[i].scores[key].risk
            found = graded.risks[at, column]
            assert np.isnan(found) if risk is None else found == pytest.approx(risk, abs=1e-6)
    assert np.isnan(graded.risks[2]).all()  # without samples nothing applies
    assert graded.signatures[0] == by_row[0].scores["ngram_presence"].signature
    assert missing.pop("no label") == 1
    ((reason, count),) = missing.items()
    assert reason.startswith("bad row") and count == 1


def test_shares_are_kept_beside_the_labels() -> None:
    rows = [row(i, label=share) for i, share in enumerate((0, 0.25, 0.5, 1))]
    graded, _ = gather(checked(rows))
    assert graded.labels.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert graded.degrees is not None and graded.degrees.tolist() == [0.0, 0.25, 0.5, 1.0]
    part = graded.take(np.array([1, 3])).select(["support"])
    assert part.degrees is not None and part.degrees.tolist() == [0.25, 1.0]
    assert graded.take(np.array([0, 3])).labels.tolist() == [0.0, 1.0]
    plain, _ = gather(checked([row(0, label=0), row(1, label=1)]))
    assert plain.degrees is None


def test_given_labels_take_the_place_of_the_records_own() -> None:
    graded, missing = gather(
        checked([row(0, label=0), row(1, label=0), row(2)]), labels={0: 1.0, 1: None, 2: 0.0}
    )
    assert graded.rows.tolist() == [0, 2]
    assert graded.labels.tolist() == [1.0, 0.0]
    assert missing == {"no grade": 1}


def test_a_prompt_with_its_contexts_is_one_unit_and_a_group_is_what_it_says() -> None:
    def groups(*rows: dict[str, Any]) -> list[int]:
        return gather(checked(list(rows), "exact_match"))[0].groups.tolist()

    a, b = row(0, label=0), row(1, label=1)
    assert groups(a, b, {**a, "id": "again"}) == [0, 1, 0]
    assert groups({**a, "meta": {"group": 7}}, {**b, "meta": {"group": 7}}) == [0, 0]
    no_prompt = [{k: v for k, v in r.items() if k != "prompt"} for r in (a, b)]
    assert groups(*no_prompt) == [0, 1]
    instruction = [
        {**r, "prompt": "Summarise.", "contexts": [f"text {i}"]} for i, r in enumerate((a, b, a))
    ]
    assert groups(*instruction) == [0, 1, 2]
    assert groups(instruction[0], {**instruction[0]}) == [0, 0]
    assert groups(*instruction, {**b, "prompt": "Translate."}) == [0, 1, 2, 3]
    two = {**a, "contexts": ["one", "two"]}
    assert groups(two, {**two, "contexts": ["two", "one"]}) == [0, 0]


def test_strata_are_text_and_may_lack() -> None:
    rows = [row(0, label=0, task="qa"), row(1, label=1, task=3), row(2, label=1)]
    graded, _ = gather(checked(rows), by="task")
    assert graded.strata == ("qa", "3", "")
    with pytest.raises(UsageError, match="no graded record has a field 'tsak'"):
        gather(checked(rows), by="tsak")
    with pytest.raises(UsageError, match=r"row 0: field 'task'.*list"):
        gather(checked([row(0, label=0, task=["qa"])]), by="task")


def test_sentences_take_the_worst_overlapping_unit() -> None:
    text = "Paris is in France. It has two rivers."
    rows = [
        row(
            0,
            unit_labels=[
                {"start": 0, "end": 19, "label": 0},
                {"start": 20, "end": 38, "label": 1},
                {"start": 10, "end": 30, "label": 1},
            ],
        ),
        row(1, label=1),
    ]
    results = checked(rows, "ngram_presence, exact_match")
    graded, missing = gather(results, level="sentence")
    assert text[20:38] == "It has two rivers."
    assert graded.scorers == ("ngram_presence", "exact_match", "ngram_presence/unit")
    assert graded.rows.tolist() == [0, 0, 0]
    assert missing == {"no unit_labels": 1}
    score = next(iter(results)).scores["ngram_presence"]
    one, two = (u.risk for u in score.units)
    assert one is not None and two is not None and one != two
    np.testing.assert_allclose(graded.risks[:, 2], [one, two, max(one, two)], atol=1e-6)
    np.testing.assert_allclose(graded.risks[:, 0], [score.risk] * 3, atol=1e-6)


def test_columns_must_fit() -> None:
    graded = Graded.of({"a": [0.1, 0.2], "b": [np.nan, 1.0]}, [0.4, 0.6])
    assert graded.labels.tolist() == [0.0, 1.0]
    assert graded.select(["b"]).risks[1].tolist() == [1.0]
    assert graded.take(np.array([False, True])).rows.tolist() == [1]
    with pytest.raises(ValueError, match="must be of 2 targets"):
        Graded.of({"a": [0.1, 0.2]}, [0, 1], groups=[0])
    with pytest.raises(ValueError, match="strata of 2 targets"):
        Graded.of({"a": [0.1, 0.2]}, [0, 1], strata=["x"])


def test_same_run_again_gives_the_same(tmp_path: Path) -> None:
    rows = [row(i, label=i % 2) for i in range(4)]
    first, _ = gather(veridical.check(rows, SCORERS, out=tmp_path / "run", store=None))
    again, _ = gather(veridical.check(rows, SCORERS, out=tmp_path / "run", store=None))
    np.testing.assert_array_equal(first.risks, again.risks)
    assert first.signatures == again.signatures
