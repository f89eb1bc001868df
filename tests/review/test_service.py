"""What the page is told and takes: blind until an answer is done, and what people say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from review_runs import items_of, label_all, make_run, rows

from veridical.errors import UsageError
from veridical.review.events import read_events
from veridical.review.items import Items
from veridical.review.service import ReviewService, SubmittedLabel, people_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(
        tmp_path_factory.mktemp("desk"), [*rows(12), {"response": "", "contexts": "A."}]
    )


@pytest.fixture
def items(run: Path) -> Items:
    (run / "labels.jsonl").unlink(missing_ok=True)
    return items_of(run, fields=("model", "absent"))


def test_an_answer_has_its_sentences_and_sources_and_no_score(items: Items) -> None:
    desk = ReviewService(items, ("ann",))
    told = desk.answer("ann", 3)
    assert told is not None
    response = rows(12)[3]["response"]
    assert [response[u["start"] : u["end"]] for u in told["units"]] == [
        u["text"] for u in told["units"]
    ]
    assert [u["level"] for u in told["units"]] == ["sentence", "sentence"]
    assert told["sources"][0]["kind"] == "context" and len(told["sources"][0]["sentences"]) == 3
    text = json.dumps(told)
    assert told["reveal"] is None and "risk" not in text and "verdict" not in text
    assert "risk" not in json.dumps(desk.page("ann", 0)) and "risk" not in json.dumps(
        desk.next("ann")
    )
    desk.close()


def test_scores_are_shown_once_the_answer_is_done_and_a_change_is_then_not_blind(
    items: Items, run: Path
) -> None:
    desk = ReviewService(items, ("ann",))
    with pytest.raises(UsageError, match="2 of 2 statements have no label"):
        desk.done("ann", 3)
    label_all(desk, "ann", 3, "supported", "contradicted")
    told = desk.answer("ann", 3)
    assert told is not None and told["done"]
    assert told["reveal"]["risk"] is not None and told["reveal"]["scores"]
    desk.label("ann", SubmittedLabel(row=3, unit=1, label="supported"))
    desk.close()
    events = [e for e in read_events(run / "labels.jsonl") if e.event == "label"]
    assert [(e.label, e.blind) for e in events] == [
        ("supported", True),
        ("contradicted", True),
        ("supported", False),
    ]


def test_with_show_labels_are_not_blind(items: Items, run: Path) -> None:
    desk = ReviewService(items, ("ann",), show=True)
    told = desk.answer("ann", 3)
    assert told is not None and told["reveal"] is not None
    assert ["support", 23, 24, 0.9, "number", "figure"] in told["reveal"]["units"]
    label_all(desk, "ann", 3, "supported")
    desk.close()
    assert not any(e.blind for e in read_events(run / "labels.jsonl"))


def test_another_persons_labels_are_not_told(items: Items) -> None:
    desk = ReviewService(items, ("ann", "ben"), double=1.0)
    label_all(desk, "ann", 3, "contradicted")
    assert "contradicted" not in json.dumps(desk.answer("ben", 3))
    assert desk.page("ben", 0)["answers"][3]["state"] == "open"
    assert desk.page("ann", 0)["answers"][3]["state"] == "done"
    desk.close()


def test_missed_statements_evidence_and_comments_are_kept(items: Items, run: Path) -> None:
    desk = ReviewService(items, ("ann",))
    told = desk.label("ann", SubmittedLabel(row=4, span=(0, 3), label="says_nothing"))
    (missed,) = [u for u in told["units"] if u["missed"]]
    assert (missed["start"], missed["end"], missed["level"]) == (0, 3, "span")
    mark: Any = (("context", 0, 0, 5),)
    desk.label("ann", SubmittedLabel(row=4, unit=0, label="supported", evidence=mark, seconds=1.5))
    desk.comment("ann", 4, "Odd.")
    told = desk.answer("ann", 4) or {}
    assert told["units"][0]["evidence"] == [["context", 0, 0, 5]] and told["comment"] == "Odd."
    desk.close()
    events = list(read_events(run / "labels.jsonl"))
    assert events[1].evidence[0].text == rows(12)[4]["contexts"][0][:5]
    assert events[1].seconds == 1.5 and events[0].missed


@pytest.mark.parametrize(
    "given, told",
    [
        ({"row": 99, "unit": 0}, "no row 99"),
        ({"row": 3, "unit": 7}, "no unit with this number"),
        ({"row": 3}, "no unit with this number"),
        ({"row": 3, "span": (3, 3)}, "not within the answer"),
        ({"row": 3, "span": (0, 9999)}, "not within the answer"),
        ({"row": 3, "unit": 0, "evidence": (("context", 5, 0, 1),)}, "not a part of a source"),
        ({"row": 3, "unit": 0, "evidence": (("context", 0, 0, 9999),)}, "not a part of a source"),
    ],
)
def test_what_is_no_part_of_the_run_is_refused(
    items: Items, run: Path, given: dict[str, Any], told: str
) -> None:
    desk = ReviewService(items, ("ann",))
    with pytest.raises(UsageError, match=told):
        desk.label("ann", SubmittedLabel(label="supported", **given))
    desk.close()
    assert (run / "labels.jsonl").read_bytes() == b""


def test_an_empty_answer_is_one_unit(items: Items) -> None:
    desk = ReviewService(items, ("ann",))
    told = desk.answer("ann", 12)
    assert told is not None and [u["level"] for u in told["units"]] == ["response"]
    label_all(desk, "ann", 12, "not_a_claim")
    desk.close()


def test_only_one_process_has_the_labels_open(items: Items) -> None:
    desk = ReviewService(items, ("ann",))
    with pytest.raises(UsageError, match="open in another process"):
        ReviewService(items, ("ann",))
    desk.close()
    ReviewService(items, ("ann",)).close()


def test_labels_of_another_input_are_refused(items: Items, run: Path) -> None:
    desk = ReviewService(items, ("ann",))
    label_all(desk, "ann", 3, "supported")
    desk.close()
    path = run / "labels.jsonl"
    path.write_text(path.read_text().replace(items.digests[3], "f" * 32))
    with pytest.raises(UsageError, match="labels of row 3 belong to another record"):
        ReviewService(items, ("ann",))
    path.unlink()


def test_the_adjudicator_sees_both_labels_unnamed_and_decides(items: Items) -> None:
    desk = ReviewService(items, ("ann", "ben"), double=1.0)
    assert desk.visitors() == ("ann", "ben", "adjudicator")
    label_all(desk, "ann", 3, "supported")
    label_all(desk, "ben", 3, "supported", "contradicted")
    told = desk.agreement()
    (case,) = told["open"]
    assert case["row"] == 3 and sorted(case["labels"]) == ["contradicted", "supported"]
    assert "ann" not in json.dumps(told) and "ben" not in json.dumps(told)
    with pytest.raises(UsageError, match="only the adjudicator"):
        desk.adjudicate("ann", 3, case["unit"], "supported")
    with pytest.raises(UsageError, match="no reviewer has labelled"):
        desk.adjudicate("adjudicator", 3, {**case["unit"], "end": 1}, "supported")
    with pytest.raises(UsageError, match="cannot label answers"):
        desk.label("adjudicator", SubmittedLabel(row=3, unit=0, label="supported"))
    desk.adjudicate("adjudicator", 3, case["unit"], "contradicted")
    assert desk.agreement()["open"] == []
    desk.close()


def test_the_estimate_is_also_by_group(items: Items) -> None:
    desk = ReviewService(items, ("ann",), order="neyman", budget=8)
    while (told := desk.next("ann")) is not None:
        label_all(desk, "ann", told["row"], "supported")
    told = desk.estimate()
    assert told["done"] and told["n"] == 8 and told["rate"] == 0.0
    assert set(told["groups"]) == {"model"}  # the other field is in no row
    groups = told["groups"]["model"]
    assert {name: g["n_total"] for name, g in groups.items()} == {"small": 6, "large": 6}
    assert sum(g["n"] for g in groups.values()) <= 8
    desk.close()


def test_it_ends_when_the_interval_is_narrow_enough(items: Items) -> None:
    desk = ReviewService(items, ("ann",), order="neyman", budget=13, width=0.6)
    count = 0
    while (told := desk.next("ann")) is not None:
        label_all(desk, "ann", told["row"], "supported")
        count += 1
    assert count < 13 and desk.estimate()["ci_high"] - desk.estimate()["ci_low"] <= 0.6
    desk.close()


def test_names_of_people() -> None:
    assert people_of(None) == ("reviewer",)
    assert people_of("ann, ben") == ("ann", "ben")
    for wrong in ("", "ann,", "ann,ann", "adjudicator", "a\x07", "n" * 81):
        with pytest.raises(UsageError, match="--annotators"):
            people_of(wrong)
