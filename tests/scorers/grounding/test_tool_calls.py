"""Tool calls against schemas and conversations; each label by a call made by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import veridical
from veridical.core.scores import Score
from veridical.core.tool_calls import ToolCall
from veridical.llm.fake import FakeLlm
from veridical.scorers.grounding._tool_schemas import checked, tool_schemas

PROPERTIES = {
    "date": {"type": "string"},
    "guests": {"type": "integer"},
    "name": {"type": "string"},
    "room": {"type": "string", "enum": ["small", "large"]},
    "note": {"type": "string"},
    "limit": {"type": "integer", "default": 10},
    "order": {"type": "object", "properties": {"ids": {"type": "array"}}},
}
PARAMETERS = {"type": "object", "properties": PROPERTIES, "required": ["date", "guests"]}
TOOLS = [{"type": "function", "function": {"name": "book", "parameters": PARAMETERS}}]
USER = {
    "role": "user",
    "content": "Book a table for two on 3 May 2024 for Ann Berg, by the window if possible.",
}
GOOD = {"date": "2024-05-03", "guests": 2}


def call(arguments: Any, name: str = "book", id: str = "1") -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": text}
    return {"id": id, "type": "function", "function": function}


def assistant(*calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def score(prompt: Any, how: str = "tool_calls", llm: Any = None, **more: Any) -> Score:
    row = {"prompt": prompt, "response": "Done.", "tools": TOOLS, **more}
    (result,) = veridical.check([row], how, store=None, nli="mini", llm=llm)
    (found,) = (s for name, s in result.scores.items() if name.startswith("tool_calls"))
    return found


def labels(found: Score) -> dict[str, tuple[str, float]]:
    assert isinstance(found.raw, dict)
    return {f["argument"]: (f["label"], f["risk"]) for f in found.raw["findings"]}


def test_a_good_call() -> None:
    good = {**GOOD, "name": "ann berg", "room": "large", "limit": 10}
    found = score([USER, assistant(call(good))])
    assert found.risk == 0.0 and found.status == "scored" and found.units == ()
    assert set(labels(found).values()) == {("stated", 0.0)}


@pytest.mark.parametrize(
    ("arguments", "argument", "label", "risk"),
    [
        ({**GOOD, "guests": 3}, "guests", "unstated", 1.0),  # the 3 of a date is no number
        ({**GOOD, "date": "2024-05-04"}, "date", "unstated", 1.0),
        ({**GOOD, "name": "Bob Cole"}, "name", "unstated", 0.5),  # the schema does not require it
        ({**GOOD, "limit": 7}, "limit", "unstated", 0.5),
        ({**GOOD, "room": "huge"}, "room", "wrong_enum", 1.0),
        ({**GOOD, "colour": "red"}, "colour", "extra_argument", 1.0),
        ({**GOOD, "guests": "2"}, "guests", "wrong_type", 1.0),
        ({**GOOD, "guests": True}, "guests", "wrong_type", 1.0),
        ({"guests": 2}, "date", "missing_argument", 1.0),
        ({**GOOD, "order": {"ids": ["A-77"]}}, "order.ids[0]", "unstated", 0.5),
        ("{", "", "invalid_arguments", 1.0),
        ("[1]", "", "invalid_arguments", 1.0),
    ],
)
def test_each_flaw_names_its_argument(
    arguments: Any, argument: str, label: str, risk: float
) -> None:
    found = score([USER, assistant(call(arguments))])
    assert labels(found)[argument] == (label, risk)
    assert found.risk == risk
    assert isinstance(found.raw, dict)
    worst = found.raw["findings"][0]
    assert (worst["message"], worst["name"], worst["argument"]) == (1, "book", argument)
    assert worst["why"]


def test_an_unknown_tool_and_no_schemas() -> None:
    found = score([USER, assistant(call({}, "cook"))])
    assert labels(found) == {"": ("unknown_tool", 1.0)}
    plain = score([USER, assistant(call({"who": "Bob Cole"}, "cook"))], tools=None)
    assert labels(plain) == {"who": ("unstated", 1.0)}


def test_values_come_from_earlier_results_only() -> None:
    result = {"role": "tool", "tool_call_id": "1", "content": '{"order_id": "A-77"}'}
    later = assistant(call({**GOOD, "name": "A-77"}, id="2"))
    assert labels(score([USER, assistant(call(GOOD)), result, later]))["name"] == ("stated", 0.0)
    early = assistant(call({**GOOD, "name": "A-77"}))
    assert labels(score([USER, early, result]))["name"] == ("unstated", 0.5)
    reader = score([USER, early, result], contexts=['{"order_id": "A-77"}'])
    assert labels(reader)["name"] == ("unstated", 0.5)  # the context is that result


def test_what_the_assistant_said_counts_once_a_user_has_answered() -> None:
    offer = {"role": "assistant", "content": "Shall I book it for Bob Cole?"}
    named = assistant(call({**GOOD, "name": "Bob Cole"}))
    assert labels(score([USER, offer, named]))["name"] == ("unstated", 0.5)
    agreed = [USER, offer, {"role": "user", "content": "Yes."}, named]
    assert labels(score(agreed))["name"] == ("stated", 0.0)


def test_a_relative_date_is_for_a_person_to_look_at() -> None:
    user = {"role": "user", "content": "Book a table for two tomorrow."}
    found = score([user, assistant(call(GOOD))])
    assert labels(found)["date"] == ("relative", 0.5)


def test_texts_of_several_words_are_judged_by_the_model() -> None:
    said = score([USER, assistant(call({**GOOD, "note": "a table by the window please"}))])
    new = score(
        [USER, assistant(call({**GOOD, "note": "severely allergic to peanuts and shrimp"}))]
    )
    assert labels(said)["note"][0] == labels(new)["note"][0] == "unclear"
    assert labels(said)["note"][1] < 0.2 < 0.4 < labels(new)["note"][1]


def test_texts_of_several_words_are_judged_by_an_llm() -> None:
    model = FakeLlm({"peanuts": "No", "": "Yes"})
    bad = {**GOOD, "note": "severely allergic to peanuts and shrimp"}
    found = score([USER, assistant(call(bad))], 'tool_calls(by="llm")', model)
    assert labels(found)["note"] == ("unclear", 1.0)
    good = {**GOOD, "note": "a table by the window please"}
    found = score([USER, assistant(call(good))], 'tool_calls(by="llm")', model)
    assert labels(found)["note"] == ("unclear", 0.0)
    assert model.asked.total() == 2


def test_the_answers_own_calls() -> None:
    found = score("Book for two on 3 May 2024.", tool_calls=[call({**GOOD, "guests": 4})])
    assert labels(found)["guests"] == ("unstated", 1.0)
    assert isinstance(found.raw, dict) and found.raw["findings"][0]["message"] is None


def test_without_a_call_it_does_not_apply() -> None:
    found = score([USER])
    assert found.status == "not_applicable" and "no tool call" in str(found.reason)


def test_the_forms_of_definitions() -> None:
    anthropic = [{"name": "book", "input_schema": PARAMETERS}]
    plain = [{"type": "function", "name": "book", "parameters": PARAMETERS}]
    wanted = {"book": PARAMETERS}
    for tools in (TOOLS, anthropic, plain, json.dumps(TOOLS)):
        assert tool_schemas(tools) == wanted
    for bad in (None, "x", 7, [], [7], [{"name": 7}], {"name": "book"}):
        assert tool_schemas(bad) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "required", "items", "enum", "anyOf", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_hostile_schemas_and_arguments_do_not_fail(schema: Any, arguments: Any) -> None:
    tools = [{"name": "t", "parameters": schema}]
    made = checked(ToolCall(0, "t", json.dumps(arguments)), tool_schemas(tools))
    assert all(f.label for f in made.flaws)
