"""Wrong variants of right answers: labels, spans and kinds against the texts themselves."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.text.spans import FindingKind
from veridical.text.typed_edits import KINDS
from veridical.tuning.corruption import BY_RULE, Corruption, kinds_of

TOWER = "The Eiffel Tower is 330 metres tall. It was built by Gustave Eiffel in Paris."
POOL = "The pool was closed for 3 weeks. Most visitors left in May 2019. It is open."
NAMES = "Maurice Koechlin drew the first plans. Ada Berg was taught by Bob Cole."


def records() -> list[Record]:
    texts = [TOWER, POOL, NAMES]
    return [
        Record(row=i, id=f"r{i}", prompt=f"Question {i}?", response=t, contexts=[t, NAMES])
        for i, t in enumerate(texts)
    ]


def made(n: int = 50, kinds: str | None = None, seed: int = 0) -> list[dict[str, Any]]:
    corruption = Corruption(kinds_of(kinds, False), n, seed)
    return list(corruption.rows(records()))


def test_every_kind_that_a_rule_has_is_a_kind_of_the_contract() -> None:
    assert set(KINDS.values()) == set(BY_RULE) <= set(get_args(FindingKind))


def test_twins_differ_from_the_right_answer_only_in_the_marked_characters() -> None:
    rows = made()
    right = {row["id"]: row for row in rows if row["label"] == 0}
    variants = [row for row in rows if row["label"] == 1]
    assert set(right) == {"r0", "r1", "r2"} and len(variants) > 20
    assert {row["edit_kind"] for row in variants} == set(BY_RULE)
    for row in variants:
        before = right[row["id"].split("/")[0]]
        ((start, end),) = [(u["start"], u["end"]) for u in row["unit_labels"] if u["label"]]
        text, was = row["response"], before["response"]
        kept = len(text) - end
        assert text[:start] == was[:start] and text[end:] == was[len(was) - kept :]
        assert text != was and start < end
        assert row["prompt"] == before["prompt"] and row["contexts"] == before["contexts"]
        for unit in row["unit_labels"]:
            if not unit["label"]:
                assert text[unit["start"] : unit["end"]] in was


def test_the_words_are_those_of_the_rules() -> None:
    found = {(r["edit_kind"], r["response"]) for r in made() if r["label"]}
    assert ("negation", POOL.replace("It is open", "It is not open")) in found
    assert ("negation", POOL.replace("was closed", "was not closed")) in found
    assert ("other", POOL.replace("Most", "Few")) in found
    turned = NAMES.replace("Ada Berg was taught by Bob Cole", "Bob Cole was taught by Ada Berg")
    assert ("relation", turned) in found
    names = {text for kind, text in found if kind == "name" and text.startswith("The Eiffel Tower")}
    assert any("built by Gustave Eiffel" not in text for text in names)
    added = [text for kind, text in found if kind == "addition"]
    assert any("tall, and" in text or "tall." in text for text in added)


def test_a_removed_word_is_marked_at_the_word_before_it() -> None:
    record = Record(row=0, response="The bridge was not open.", contexts=["It was shut."])
    _, variant = Corruption(("negation",), 1).rows([record])
    assert variant["response"] == "The bridge was open." and variant["edit_was"] == " not"
    assert variant["unit_labels"] == [{"start": 11, "end": 14, "label": 1}]


def test_seeded_limited_and_balanced() -> None:
    assert made(2) == made(2) != made(2, seed=1)
    two = [row for row in made(2) if row["label"]]
    assert len(two) == 6 and len({row["edit_kind"] for row in two}) >= 4
    only = {row["edit_kind"] for row in made(5, "figure, date")}
    assert only == {None, "figure", "date"}


def test_wrong_answers_bad_rows_and_answers_without_an_edit_are_counted() -> None:
    bad = RowError(2, "a.jsonl", 3, "response", "missing")
    rows = [
        Record(row=0, response="It has 30 rooms.", label=0.9),
        Record(row=1, response="Ja."),
        bad,
        Record(row=3, response="It has 30 rooms.", label=0, meta={"team": "a"}),
    ]
    corruption = Corruption(("figure",), 1)
    right, variant = corruption.rows(rows)
    assert (corruption.wrong, corruption.without, corruption.right) == (1, 1, 1)
    assert corruption.errors == [bad]
    assert right["group"] == variant["group"] == "3"  # resampled together, without a prompt
    assert right["team"] == variant["team"] == "a"


def test_what_may_be_right_is_not_called_wrong() -> None:
    for text in (
        "It has at least 30 rooms.",  # 40 is at least 30 too
        "Ada Berg met Bob Cole.",  # and perhaps also another
        "Was it open in 1999?",
    ):
        record = Record(row=0, response=text, contexts=["Eva Dahl and Flo Gray came."])
        kinds = kinds_of("figure,name,relation,negation", False)
        assert list(Corruption(kinds, 5).rows([record])) == []


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ("figures", r"--kinds: 'figures' is not a kind of finding; one of figure, date"),
        ("order", r"--kinds order: no rule makes it; name a model by --llm"),
        (" , ", r"--kinds is empty; name some of figure"),
    ],
)
def test_kinds_that_there_are_not(names: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        kinds_of(names, False)


def test_a_model_makes_the_other_kinds_too() -> None:
    assert kinds_of(None, True) == get_args(FindingKind)
    assert kinds_of("order,figure", True) == ("figure", "order")
