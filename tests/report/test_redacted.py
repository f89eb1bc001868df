"""A report without texts: nothing of a record's words is in it, and verdicts and risks are."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

from builders import hostile
from claim_builders import RESPONSE, claimed, other_records

import veridical
from veridical.core.records import Record
from veridical.core.scores import Change, Repair, Result, Score, Selected, Unit
from veridical.report.payload import detail
from veridical.report.redacted import redacted, redacted_summary
from veridical.text.spans import Span

SECRET = "Zanzibar"


def whole(page: str) -> str:
    """A page with its blocks decoded."""
    blocks = re.findall(r'data-kind="\w+" data-first="\d+">([^<]+)<', page)
    return page + "".join(zlib.decompress(base64.b64decode(b)).decode() for b in blocks)


def secret() -> tuple[Record, Result]:
    """A record and a result with the secret in every text."""
    record = Record.model_validate(
        {
            "row": 3,
            "id": "r3",
            "prompt": [{"role": SECRET, "content": SECRET}, {"content": [{"text": SECRET}]}],
            "response": f"{SECRET} is far.",
            "samples": [SECRET, {"image": SECRET}],
            "contexts": [{"id": SECRET, "text": f"{SECRET} is near."}],
            "reference": [SECRET],
            "unit_labels": [{"start": 0, "end": 8, "label": 1.0}],
            "meta": {"city": SECRET, "deep": [SECRET]},
        }
    )
    span = Span(0, 8, SECRET)
    units = [
        Unit.of(span, 0.9, level="claim", label="contradiction", probabilities={SECRET: 0.5}),
        Unit.of(span, 0.8, level="token", label=SECRET),
    ]
    raw: dict[str, Any] = {"value": 0.9, "note": SECRET, "claims": [{"text": SECRET}] * 2}
    raw |= {"order": [SECRET, "b"], "cosine": [[1.0, 0.2], [0.2, 1.0]], "left_out": [SECRET]}
    change = Change(start=0, end=8, text=SECRET, new=SECRET, unsupported=(SECRET,))
    result = Result(
        id="r3",
        row=3,
        risk=0.9,
        by="claims",
        verdict="contradicted",
        reason=None,
        selected=Selected(
            kind="sample", index=0, text=SECRET, risk=0.1, by="claims", risks=(0.9, 0.1)
        ),
        repair=Repair(how="drop", status="changed", text=SECRET, changes=(change,)),
        scores={
            "claims": Score.of(0.9, raw=raw, units=units),
            "other": Score.failed(SECRET),
            "third": Score.not_applicable(SECRET),
        },
    )
    return record, result


def test_no_text_of_a_record_is_left() -> None:
    record, result = redacted(*secret())
    shown = detail(record, result)
    assert SECRET not in json.dumps(shown)
    assert SECRET not in result.model_dump_json() + record.model_dump_json()
    assert (result.verdict, result.risk, result.id) == ("contradicted", 0.9, "r3")
    (unit,) = shown["scores"][0]["units"]  # the token would tell how long the word is
    assert (unit["start"], unit["end"], unit["risk"], unit["label"]) == (0, 8, 0.9, "contradiction")
    assert shown["response"] == "▒" * 16
    assert shown["contexts"] == [{"id": None, "text": "[17 characters]"}]
    assert shown["meta"] == [["city", "[redacted]"], ["deep", "[redacted]"]]


def test_verdicts_on_claims_stay() -> None:
    record, result = redacted(*claimed())
    score = detail(record, result)["scores"][0]
    assert [u["claim"]["v"] for u in score["units"]] == [
        *("contradiction", "neutral", "contradiction", "entailment")
    ]
    assert score["units"][0]["claim"]["conflict"] and score["units"][1]["claim"]["kind"] == "number"
    assert [e["says"] for e in score["units"][0]["evidence"]] == ["contradiction", "entailment"]
    assert not {word for word in re.findall(r"\w{5,}", RESPONSE) if word in json.dumps(score)}
    refusal = redacted(*other_records()[2])
    assert detail(*refusal)["scores"][0]["claims"]["abstained"]


def test_an_empty_answer_stays_empty() -> None:
    record = Record(response=" ")
    assert redacted(record, Result(id=0, row=0, risk=None, by=None, scores={}))[0].response == ""


def test_causes_and_errors_of_a_summary_go() -> None:
    _, head = hostile()
    quiet = redacted_summary(head)
    assert {e["error"] for e in quiet["errors"]} == {"[redacted]"}
    assert [list(s["failed_reasons"].items()) for s in quiet["scorers"]] == [
        [("[redacted]", s["n_failed"])] for s in head["scorers"]
    ]


def test_a_redacted_report_of_a_run(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "id": "a",
            "question": f"Where is {SECRET}?",
            "response": f"{SECRET} is far. It has 9 ports.",
            "contexts": [f"{SECRET} is near, with 3 ports."],
            "note": SECRET,
        },
        {"question": SECRET},  # no answer: a bad row
    ]
    run = veridical.check(rows, "support, knowledge_f1", out=tmp_path / "run")
    plain = whole(run.report(tmp_path / "plain.html").read_text("utf-8"))
    page = whole(run.report(tmp_path / "redacted.html", redact=True).read_text("utf-8"))
    assert SECRET in plain
    assert SECRET not in page
    assert "texts are redacted: only their lengths are shown" in page
