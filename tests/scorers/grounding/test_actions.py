"""Claimed actions against tool calls: each label, from conversations written by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.evidence import LocalEvidence
from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.actions import actions

USER = {"role": "user", "content": "Please do it."}


def called(name, arguments=None, result="done", *, id="a"):
    """Messages of a call, and of its result unless that is None."""
    call = {"name": name, "arguments": json.dumps(arguments or {})}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": call}]}
    ]
    if result is not None:
        messages.append({"role": "tool", "tool_call_id": id, "content": result})
    return messages


async def score(response, *messages, **fields):
    record = Record(response=response, prompt=[USER, *messages], **fields)
    return await actions(record, LocalEvidence(record))


@pytest.mark.parametrize(
    ("response", "messages", "label", "risk"),
    [
        ("I created the ticket.", called("create_ticket"), "done", 0.0),
        ("I created the ticket.", called("createTicket"), "done", 0.0),
        ("I created the ticket.", called("jira.ticket-add"), "done", 0.0),
        ("I created the ticket.", called("create_ticket", result=None), "unconfirmed", 0.5),
        ("I created the ticket.", called("create_ticket", result="Error: quota"), "failed", 1.0),
        (
            "I created the ticket.",
            called("create_ticket", result='{"success": false}'),
            "failed",
            1.0,
        ),
        ("I created the ticket.", called("get_ticket"), "not_called", 1.0),
        ("I created the ticket.", [], "not_called", 1.0),
        ("I created the invoice.", called("create_ticket"), "similar", 0.5),
        ("I emailed Ann.", called("gmail", {"to": "ann@x.org"}), "done", 0.0),
        ("I booked the hotel.", called("hotel", {"night": 1}), "similar", 0.5),
        ("I emailed Ann.", called("send_message", {"to": "ann@x.org"}), "done", 0.0),
        ("I sent the mail to Ann.", called("send_email", {"to": "bob"}), "done", 0.0),
        ("I deleted the file.", called("bash", {"command": "rm file.txt"}), "done", 0.0),
        ("I deleted the file.", called("bash", {"command": "cat a"}), "not_called", 1.0),
        ("I deleted the file.", called("read_file", {"path": "x"}), "not_called", 1.0),
        ("I updated the order.", called("run_sql", {"q": "UPDATE orders SET x"}), "done", 0.0),
        ("Your table has been booked.", called("create_reservation", {"table": 4}), "done", 0.0),
        ("I refunded $25.", called("refund", {"amount": 25}), "done", 0.0),
    ],
)
async def test_labels(response, messages, label, risk):
    found = await score(response, *messages)
    (action,) = found.raw["actions"]
    assert (action["label"], found.risk) == (label, risk)
    sentence, span = found.units
    assert (sentence.level, sentence.label, sentence.risk) == ("sentence", label, risk)
    assert (span.level, span.text) == ("span", action["text"])


async def test_anthropics_blocks_and_a_failed_one():
    use = {"type": "tool_use", "id": "t", "name": "send_email", "input": {"to": "ann"}}
    back = {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}
    messages = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    assert (await score("I sent the email.", *messages)).raw["failed"] == 1
    del back["is_error"]
    assert (await score("I sent the email.", *messages)).raw["done"] == 1


async def test_a_retry_that_worked_counts():
    failed = called("send_email", result="Error: smtp", id="a")
    worked = called("send_email", result="ok", id="b")
    found = await score("I sent the email.", *failed, *worked)
    assert (found.risk, found.raw["actions"][0]["call"]["message"]) == (0.0, 3)


async def test_the_call_of_one_action_backs_no_other():
    found = await score("I created the ticket and created the invoice.", *called("create_ticket"))
    assert [a["label"] for a in found.raw["actions"]] == ["done", "not_called"]
    assert (found.risk, found.raw["claimed"], found.raw["calls"]) == (1.0, 2, 1)


async def test_sentences_without_an_action_have_no_risk():
    found = await score("Good news. I sent the email.", *called("send_email"))
    assert [(u.label, u.risk) for u in found.units] == [
        ("no_action", None),
        ("done", 0.0),
        ("done", 0.0),
    ]


async def test_the_result_is_shown_as_evidence_where_the_contexts_hold_it():
    result = '{"id": 7, "to": "ann"}'
    messages = called("send_email", result=result)
    found = await score("I sent the email.", *messages, contexts=["Other.", result])
    (item,) = found.units[0].evidence
    assert (item.kind, item.context, item.text) == ("context", 1, result)
    assert found.raw["actions"][0]["call"] == {
        "message": 1,
        "name": "send_email",
        "arguments": "{}",
        "result": result,
    }


@pytest.mark.parametrize(
    ("response", "prompt", "why"),
    [
        ("I sent the email.", "Send it.", "not a list of chat messages"),
        ("I sent the email.", None, "not a list of chat messages"),
        ("I will send the email.", [USER], "claims no action"),
        ("Я отправил письмо.", [USER], "claims no action"),
        (" ", [USER], "empty"),
    ],
)
async def test_where_it_does_not_apply(response, prompt, why):
    record = Record(response=response, prompt=prompt)
    with pytest.raises(NotApplicable, match=why):
        await actions(record, LocalEvidence(record))


async def test_thousands_of_claims_and_calls():
    messages = [m for i in range(1000) for m in called("send_email", {"to": f"a{i}"}, id=str(i))]
    response = " ".join(f"I sent the email to a{i}." for i in range(2000))
    found = await score(response, *messages)
    assert found.raw["done"] == 2000


VERBS = st.sampled_from(["sent the email", "created the ticket", "deleted the file", "ran it"])
NAMES = st.sampled_from(["send_email", "create_ticket", "delete_file", "bash", "", "é" * 400])
RESULTS = st.sampled_from([None, "ok", "Error: x", '{"error": 1}', ""])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(VERBS, min_size=1, max_size=4),
    st.lists(st.tuples(NAMES, RESULTS), max_size=4),
)
async def test_no_claim_is_fine_without_a_call_that_worked(claims, calls):
    messages = [
        m for i, (name, result) in enumerate(calls) for m in called(name, None, result, id=str(i))
    ]
    found = await score(" ".join(f"I {c}." for c in claims), *messages)
    worked = any(result in ("ok", "") for _, result in calls)
    assert found.raw["claimed"] == len(claims)
    assert worked or found.risk > 0
    labels = ("done", "unconfirmed", "similar", "failed", "not_called")
    assert sum(found.raw[label] for label in labels) == len(claims)
