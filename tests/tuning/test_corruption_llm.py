"""Wrong variants by a model: what is asked, and which replies are used."""

from __future__ import annotations

import json

import pytest

from veridical.core.messages import ChatRequest
from veridical.core.records import Record
from veridical.engine.engine import Engine
from veridical.llm.fake import FakeLlm
from veridical.tuning.corruption import Corruption, kinds_of
from veridical.tuning.corruption_llm import Editor, changed

TEXT = "Ada Berg won because she trained hard."


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("It has 30 rooms.", "It has 40 rooms.", ("40", "30")),
        ("It has 30 rooms.", "It has 30 large rooms.", ("large", "")),
        ("It has 30 large rooms.", "It has 30 rooms.", ("30", "large")),
        ("Ada beat Bob.", "Bob beat Ada.", None),  # all words but one: too much
        ("It has rooms.", "It has rooms.", None),
        ("It has rooms.", "", None),
        ("Ja.", "Nein.", ("Nein", "Ja")),
    ],
)
def test_the_place_that_differs(before: str, after: str, place: tuple[str, str] | None) -> None:
    found = changed(before, after)
    if place is None:
        assert found is None
    else:
        assert found is not None
        (start, end), was = found
        assert (after[start:end], was) == place


def answer(request: ChatRequest) -> str:
    text = request.messages[-1]["content"]
    assert TEXT in text and "She trained hard." in text and "Who won?" in text
    if "make: figure" in text:
        return json.dumps({"text": ""})
    if "make: name" in text:
        return "Sure! Here it is."
    if "make: date" in text:
        return json.dumps({"text": "Nobody came to the party at all today, sadly."})
    return json.dumps({"text": TEXT.replace("because", "although")})


def test_replies_are_used_where_they_change_one_place() -> None:
    record = Record(row=0, prompt="Who won?", response=TEXT, contexts=["She trained hard."])
    model = FakeLlm(answer)
    with Engine(llm=model, store=None) as engine:
        account = engine.llms.account("corrupt", None)
        editor = Editor("fake", engine.llms.service(), account, engine.submit)
        corruption = Corruption(kinds_of("figure,name,date,relation", True), 4, 0, editor)
        rows = list(corruption.rows([record]))
        engine.llms.leave(account)
    by_model = [row for row in rows if row["edit_by"] == "fake"]
    (variant,) = by_model
    assert variant["response"] == TEXT.replace("because", "although")
    assert (variant["edit_kind"], variant["edit_was"]) == ("relation", "because")
    ((start, end),) = [(u["start"], u["end"]) for u in variant["unit_labels"] if u["label"]]
    assert variant["response"][start:end] == "although"
    assert editor.rejected == {
        "no error of the kind": 1,
        "malformed": 1,
        "not one small change": 1,
    }
    assert model.asked.total() == 4
