"""FActScore's labelled biographies: a fact an item, irrelevant ones set aside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical
from veridical.errors import UsageError


def test_facts_with_their_labels(write: Any, load: Any, published: Any) -> None:
    _, row = published["factscore"]
    path = write("InstructGPT.jsonl", [row])
    write("ChatGPT.jsonl", [{**row, "annotations": None}, {**row, "topic": "Ed"}])
    loaded = load("factscore", path.parent)
    assert not loaded.bad
    texts = [(i.facets["model"], i.group, i.record.response) for i in loaded.items]
    of_one = ["Suthida is a queen.", "Suthida is a name.", "Suthida was born in Paris."]
    assert texts == [("ChatGPT", "Ed", t) for t in of_one] + [
        ("InstructGPT", "Suthida", t) for t in of_one
    ]
    assert [i.record.label for i in loaded.items[:3]] == [0.0, None, 1.0]
    assert [i.unusable for i in loaded.items[:3]] == [0, 1, 0]
    assert loaded.items[0].record.meta["response"] == row["output"]
    assert set(loaded.tasks) == {"all", "model:ChatGPT", "model:InstructGPT"}
    np.testing.assert_array_equal(loaded.tasks["all"].truth, [0, np.nan, 1] * 2)
    assert np.isnan(loaded.tasks["model:ChatGPT"].truth[3:]).all()


def test_texts_about_the_topics_are_contexts(write: Any, load: Any, published: Any) -> None:
    _, row = published["factscore"]
    write("references.jsonl", [{"topic": "Suthida", "references": ["Suthida is a queen."]}])
    path = write("ChatGPT.jsonl", [row])
    for place in (path, path.parent):
        contexts = load("factscore", place).items[0].record.contexts
        assert [c.text for c in contexts] == ["Suthida is a queen."]
    write("references.jsonl", [{"topic": 5, "references": []}])
    with pytest.raises(UsageError, match="'topic': must be text"):
        load("factscore", path)


def test_it_runs(write: Any, published: Any) -> None:
    _, row = published["factscore"]
    rows = [{**row, "topic": f"{i}"} for i in range(3)]
    write("references.jsonl", [{"topic": f"{i}", "references": ["A queen."]} for i in range(3)])
    made = veridical.bench("factscore", write("ChatGPT.jsonl", rows), "knowledge_f1", bootstrap=0)
    (row_,) = (
        r
        for r in made.rows
        if (r.scorer, r.split, r.metric) == ("knowledge_f1", "all", "average_precision")
    )
    assert (row_.n_total, row_.value) == (6, 1.0)
    assert any("irrelevant" in n for n in made.splits[0].notes)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"topic": None}, "topic"),
        ({"output": 5}, "output"),
        ({"annotations": "S"}, "annotations"),
        ({"annotations": ["S"]}, "annotations[0]"),
        ({"annotations": [{"human-atomic-facts": "S"}]}, "annotations[0].human-atomic-facts"),
        ({"annotations": [{"human-atomic-facts": ["S"]}]}, "annotations[0].human-atomic-facts[0]"),
        (
            {"annotations": [{"human-atomic-facts": [{"text": "x", "label": "true"}]}]},
            "annotations[0].human-atomic-facts[0].label",
        ),
        (
            {"annotations": [{"human-atomic-facts": [{"text": 1, "label": "S"}]}]},
            "annotations[0].human-atomic-facts[0].text",
        ),
    ],
)
def test_bad_rows_name_their_field(
    changed: dict[str, Any], field: str, write: Any, load: Any, published: Any
) -> None:
    _, row = published["factscore"]
    (bad,) = load("factscore", write("ChatGPT.jsonl", [row, {**row, **changed}])).bad
    assert (bad.error.field, bad.error.row) == (field, 1)
