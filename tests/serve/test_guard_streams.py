"""What the guard's streams promise, whatever the upstream says and however its bytes are cut."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from flights import CUTS, QUICK, TEXTS, cut, flight, sent
from guarding import STREAMS, chat_stream, chunk, delivered, sse
from hypothesis import given
from hypothesis import strategies as st

from veridical.decide.policy_file import GuardRules
from veridical.serve.guard.cutting import LONGEST, Cutter
from veridical.serve.guard.sse import Events, UnreadableEvent
from veridical.serve.guard.streams import judge_all


@QUICK
@given(TEXTS, st.sampled_from(list(STREAMS)), st.sampled_from(["hold", "buffer", "annotate"]), CUTS)
def test_how_the_bytes_are_cut_changes_nothing(
    text: str, path: str, mode: str, places: list[int]
) -> None:
    data = STREAMS[path](text)
    one, other = flight(path, mode), flight(path, mode)
    whole, pieces = sent(one, [data]), sent(other, cut(data, places))
    assert delivered(path, whole) == delivered(path, pieces)
    assert one.document() == other.document()
    if mode != "annotate":  # of whose comments the place depends on the time
        assert whole == pieces


@QUICK
@given(TEXTS, st.lists(st.integers(1, 12), min_size=1, max_size=8))
def test_how_a_text_comes_changes_no_sentence(text: str, sizes: list[int]) -> None:
    cutter, pieces, at, i = Cutter(), [], 0, 0
    while at < len(text):
        size = sizes[i % len(sizes)]
        pieces += cutter.feed(text[at : at + size])
        at, i = at + size, i + 1
    pieces += cutter.end()
    other = Cutter()
    assert pieces == [*other.feed(text), *other.end()]
    assert "".join(pieces) == text


@QUICK
@given(
    TEXTS,
    st.sampled_from(list(STREAMS)),
    st.sampled_from(["hold", "buffer"]),
    st.sampled_from(["block", "drop", "replace", "repair", "retry"]),
    st.integers(0, 4000),
)
def test_no_character_of_a_rejected_sentence_leaves(
    text: str, path: str, mode: str, how: Any, end: int
) -> None:
    data = STREAMS[path](text)
    made = flight(path, mode, GuardRules(on_reject=how))
    out = sent(made, [data[: end or len(data)]], broken=bool(end) and end < len(data))
    rejected = [p for p in made.judge.seen if "BAD" in p or "BROKEN" in p]  # type: ignore[attr-defined]
    assert b"BAD" not in out and b"BROKEN" not in out
    for answer in made.answers.values():
        # what was let out is what was checked, less what was rejected, in order
        steps = [s for s in answer.steps if s.action == "released"]
        if how in ("block", "drop", "retry") and not (mode == "buffer" and answer.blocked):
            assert answer.delivered == "".join(s.out for s in steps)
        assert delivered(path, out) == answer.delivered
        told = sum(len(s.piece) for s in answer.steps)
        assert told == len(answer.received) or answer.blocked
    if rejected and how == "block":
        assert made.document()["decision"] == "reject"


@QUICK
@given(TEXTS, st.sampled_from(list(STREAMS)), CUTS)
def test_monitor_and_annotate_change_no_byte(text: str, path: str, places: list[int]) -> None:
    data = STREAMS[path](text)
    watched = flight(path, "monitor")
    assert sent(watched, cut(data, places)) == data
    asyncio.run(judge_all(watched))
    noted = flight(path, "annotate")
    out = sent(noted, cut(data, places))
    plain = b"".join(e.raw for e in Events().feed(out) if not e.raw.startswith(b": veridical"))
    assert plain == data
    if text.strip():
        assert watched.document()["choices"] == noted.document()["choices"]


@QUICK
@given(st.binary(max_size=300), st.sampled_from(list(STREAMS)), CUTS)
def test_whatever_bytes_come(data: bytes, path: str, places: list[int]) -> None:
    for mode in ("hold", "buffer", "annotate", "monitor"):
        out = sent(flight(path, mode), cut(data, places))
        assert mode != "monitor" or out == data


KEYS = [
    *("choices", "delta", "content", "index", "type", "text", "part", "item", "response"),
    *("output", "usage", "error", "content_block", "finish_reason", "tool_calls"),
]
TYPES = [
    *("response.output_text.delta", "response.completed", "content_block_delta"),
    *("content_block_start", "text_delta", "response.output_item.done"),
]
JSONISH = st.recursive(
    st.none() | st.integers(-1, 2) | st.text("BAD. x", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(KEYS), inner | st.sampled_from(TYPES), max_size=4)
    ),
    max_leaves=8,
)


@QUICK
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["choices", "delta", "type", "index", "response"]), JSONISH
        ),
        max_size=3,
    ),
    st.sampled_from(list(STREAMS)),
)
def test_events_of_another_shape_let_nothing_unchecked_out(
    events: list[dict[str, Any]], path: str
) -> None:
    data = b"".join(f"data: {json.dumps(e)}\n\n".encode() for e in events)
    sent(flight(path), [data])
    sent(flight(path, "annotate"), [data])


def test_crlf_multi_line_data_comments_and_keep_alives() -> None:
    text = "It rains. This is BAD."
    data = chat_stream(text).replace(b"\n", b"\r\n")
    data = b": ping\r\n\r\n" + data.replace(b'"object": ', b'\r\ndata: "object": ')
    for pieces in ([data], [data[i : i + 1] for i in range(len(data))]):
        out = sent(flight(), pieces)
        assert delivered("chat/completions", out) == "It rains."
        assert out.startswith(b":\n\n") and b"ping" not in out  # text of a comment is not checked


@pytest.mark.parametrize("path", STREAMS)
def test_without_the_last_event_the_text_is_let_out_all_the_same(path: str) -> None:
    data = STREAMS[path]("It rains. It pours.")
    last = data.rstrip().rfind(b"\n\n")
    out = sent(flight(path), [data[: last + 2]])
    assert delivered(path, out) == "It rains. It pours."


def test_the_upstream_dies_within_an_event() -> None:
    data = chat_stream("It rains. This is a longer sen")[:-90]
    made = flight()
    out = sent(made, [data], broken=True)
    assert delivered("chat/completions", out).startswith("It rains.")
    assert b'"code": "upstream_broken"' in out and b"[DONE]" not in out
    assert "the upstream's answer was interrupted" in made.notes
    noted = flight(mode="annotate")
    assert b'"code": "upstream_broken"' in sent(noted, [data], broken=True)


def test_choices_are_independent() -> None:
    events: list[Any] = []
    for a, b in zip("It rains. It pours. ", "It is BAD. It was. .", strict=True):
        events += [chunk({"content": a}, index=0), chunk({"content": b}, index=1)]
    events += [chunk({}, "stop", 0), chunk({}, "stop", 1)]
    usage = {**chunk({}), "choices": [], "usage": {"total_tokens": 3}}
    out = sent(flight(alone=False), [sse(*events, usage, "[DONE]")])
    texts: dict[int, str] = {0: "", 1: ""}
    finish: dict[int, str] = {}
    for event in Events().feed(out):
        if event.data == "[DONE]":
            continue
        for choice in event.object.get("choices", ()):
            texts[choice["index"]] += choice["delta"].get("content", "")
            finish[choice["index"]] = choice["finish_reason"] or ""
    assert texts == {0: "It rains. It pours. ", 1: ""}
    assert finish == {0: "stop", 1: "content_filter"}
    assert b'"total_tokens": 3' in out  # the chunk of usage is passed on
    assert out.index(b'"error"') < out.index(b"[DONE]")


def test_tool_calls_that_pass_come_after_the_text_before_them() -> None:
    call = {"index": 0, "id": "t", "function": {"name": "f", "arguments": "{}"}}
    events = [
        chunk({"role": "assistant"}),
        chunk({"content": "It rains."}),
        chunk({"tool_calls": [call]}),
        chunk({}, "tool_calls"),
    ]
    made = flight(passed=["tool_calls"])
    out = sent(made, [sse(*events, "[DONE]")])
    assert out.index(b"It rains.") < out.index(b'"tool_calls": [')  # text before is settled
    assert b'"finish_reason": "tool_calls"' in out
    assert "not checked: tool calls" in made.document()["notes"]
    # a call after a rejected sentence is not made
    events[1] = chunk({"content": "It is BAD."})
    assert b"tool_calls" not in sent(flight(passed=["tool_calls"]), [sse(*events, "[DONE]")])


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize("mode", ["hold", "buffer", "annotate", "monitor"])
def test_a_stream_that_only_stops_is_not_whole(path: str, mode: str) -> None:
    events = Events().feed(STREAMS[path]("It rains. It pours."))
    texts = [e for e in events if delivered(path, e.raw)]
    cut = b"".join(e.raw for e in events[: events.index(texts[-1]) + 1])
    made = flight(path, mode)
    out = sent(made, [cut])
    assert "the upstream's answer was interrupted" in made.notes
    assert delivered(path, out) == "It rains. It pours."
    if mode != "monitor":
        assert b"upstream_broken" in out and b"[DONE]" not in out and b"message_stop" not in out
    whole = flight(path, mode)
    assert b"upstream_broken" not in sent(whole, [b"".join(e.raw for e in events)])
    assert whole.notes == []


def test_one_of_two_answers_is_not_finished() -> None:
    events = [chunk({"content": "It rains."}, index=i) for i in (0, 1)]
    events.append(chunk({}, "stop", 0))
    assert b"upstream_broken" in sent(flight(alone=False), [sse(*events)])
    assert b"upstream_broken" not in sent(flight(alone=False), [sse(*events, chunk({}, "stop", 1))])


def test_a_text_that_only_the_last_event_tells_is_checked_too() -> None:
    data = STREAMS["responses"]("This is BAD.")
    events = [e for e in Events().feed(data) if b"output_text" not in e.raw.split(b"\n")[0]]
    out = sent(flight("responses"), [b"".join(e.raw for e in events)])
    assert b"BAD" not in out and b"response.incomplete" in out
    changed = data.replace(b'"text": "This is BAD."', b'"text": "Something else."')
    out = sent(flight("responses"), [changed])
    assert b"Something else" not in out and b"BAD" not in out


@pytest.mark.parametrize("mode", ["hold", "buffer"])
def test_what_becomes_of_rejected_sentences(mode: str) -> None:
    text = "It rains. This is BAD. Also BAD. It pours."

    def let_out(how: Any, **more: Any) -> str:
        made = flight(mode=mode, rules=GuardRules(on_reject=how, replacement="[no]"), **more)
        return delivered("chat/completions", sent(made, [chat_stream(text)]))

    assert let_out("block") == ("It rains." if mode == "hold" else "")
    assert let_out("drop") == "It rains. It pours."
    assert let_out("replace") == "It rains. [no] It pours."
    assert let_out("repair", rewrite="It is dry.") == "It rains. It is dry. It is dry. It pours."
    assert let_out("repair", rewrite="Still BAD.") == "It rains. It pours."
    assert let_out("repair") == "It rains. It pours."
    said: list[str] = []

    def again(before: str) -> str:
        said.append(before)
        return "It stopped. It is dry."

    anew = let_out("retry", again=again)
    if mode == "hold":
        assert anew == "It rains. It stopped. It is dry." and said == ["It rains."]
    else:
        assert anew == "It stopped. It is dry." and said == [""]
    assert let_out("retry", again=lambda _: "BAD again.") == ("It rains." if mode == "hold" else "")


def test_retries_are_as_many_as_the_policy_allows() -> None:
    answers = iter(["BAD.", "BAD.", "Good."])
    made = flight(rules=GuardRules(on_reject="retry", retries=3), again=lambda _: next(answers))
    out = sent(made, [chat_stream("BAD.")])
    assert delivered("chat/completions", out) == "Good."


def test_what_cannot_be_judged() -> None:
    text = "It rains. BROKEN one. It pours."
    closed = flight(rules=GuardRules(on_reject="drop"))
    assert delivered("chat/completions", sent(closed, [chat_stream(text)])) == "It rains."
    assert closed.document()["status"] == "failed"
    opened = flight(open_on_error=True)
    assert delivered("chat/completions", sent(opened, [chat_stream(text)])) == text
    assert opened.document()["status"] == "failed"  # and it is said


def test_an_event_that_cannot_be_read() -> None:
    data = chat_stream("It rains. It pours.").replace(b"data: [DONE]", b"data: nonsense")
    closed = sent(flight(), [data])
    assert b"nonsense" not in closed and b'"code": "unreadable"' in closed
    assert b"nonsense" in sent(flight(open_on_error=True), [data])
    assert b"nonsense" in sent(flight(mode="annotate"), [data])


def test_the_final_object_stands_before_done() -> None:
    for mode in ("annotate", "hold"):
        out = sent(flight(mode=mode, final=True), [chat_stream("It rains. This is BAD.")])
        events = Events().feed(out)
        assert events[-1].data == "[DONE]"
        final = next(e.object for e in events if e.data and '"veridical"' in e.data)
        assert final["choices"] == [] and final["veridical"]["decision"] == "reject"
        (choice,) = final["veridical"]["choices"]
        assert [s["decision"] for s in choice["sentences"]] == ["accept", "reject"]
    assert b"veridical" not in sent(flight(), [chat_stream("It rains.")])


def test_one_event_has_a_bound() -> None:
    with pytest.raises(UnreadableEvent):
        Events(longest=100).feed(b"data: " + b"x" * 200)


def test_a_text_without_sentences_is_cut_at_last_in_linear_time() -> None:
    text = "a b " * LONGEST
    cutter = Cutter()
    pieces = [*cutter.feed(text), *cutter.end()]
    assert "".join(pieces) == text and len(pieces) > 3
