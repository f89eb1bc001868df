"""What the page carries of judged claims."""

from __future__ import annotations

import json
from typing import Any

from builders import HOSTILE
from claim_builders import RESPONSE, claimed, hostile_claims, judged, other_records, place, raw_of

from veridical.core.records import Record
from veridical.core.scores import Result, Score, Unit
from veridical.report.claim_payload import MAX_PARTS, MAX_TEXT, claims_of
from veridical.report.payload import detail
from veridical.text.spans import Span


def score_of(pair: tuple[Record, Result]) -> dict[str, Any]:
    (score,) = detail(*pair)["scores"]
    assert isinstance(score, dict)
    return score


def test_verdict_category_places_and_what_evidence_says() -> None:
    score = score_of(claimed())
    assert score["claims"] == {"abstained": False, "left_out": ["a claim without words"]}
    poet, wrote, year, flew = (u["claim"] for u in score["units"])
    assert poet == {  # its text is the slice
        "v": "contradiction",
        "triplet": ["Ada Byron", "was", "a poet"],
        "parts": [list(place("Ada Byron", RESPONSE)), list(place("was a poet", RESPONSE))],
        "kind": "other",
        "conflict": True,
    }
    assert (wrote["v"], wrote["kind"], year["kind"]) == ("neutral", "number", "date")
    assert wrote["text"] == "Ada Byron wrote 3 books in 1840."
    assert flew == {"v": "entailment"}
    said = [[e["says"] for e in u["evidence"]] for u in score["units"]]
    assert said == [["contradiction", "entailment"], ["neutral"], ["contradiction"], ["entailment"]]
    assert not {"claims", "left_out"} & {key for key, _ in score["raw"]}  # they are shown apart


def test_two_classes_reasons_and_refusals() -> None:
    _, _, refusal, supported = other_records()
    assert score_of(refusal)["claims"] == {"abstained": True, "left_out": []}
    (unit,) = score_of(supported)["units"]
    assert unit["claim"] == {"v": "neutral", "why": "Nothing says so."}


def test_other_scores_are_no_claims() -> None:
    span = Span(0, 1, "a")
    for score in (
        Score.of(0.5),
        Score.of(0.5, units=[Unit.of(span, 0.5, label="neutral")]),  # a sentence
        Score.of(0.5, units=[Unit.of(span, 0.5, level="claim", label="odd")]),
        Score.of(0.5, units=[Unit.of(span, 0.5, level="claim")]),
        Score.not_applicable("no claim"),
    ):
        assert claims_of(score) is None
        record = Record(response="a")
        made = Result(id=0, row=0, risk=None, by=None, scores={"a": score})
        assert "claims" not in detail(record, made)["scores"][0]


def test_facts_that_do_not_match_the_claims_are_left_out() -> None:
    record, made = judged(["neutral", "neutral"])
    raw = {**raw_of(["neutral"] * 2), "claims": [{"text": "of three"}] * 3}
    made.scores["claims"] = made.scores["claims"].model_copy(update={"raw": raw})
    assert [u["claim"] for u in score_of((record, made))["units"]] == [{"v": "neutral"}] * 2


def test_what_each_of_several_checkers_says() -> None:
    def shown(*votes: Any) -> Any:
        record, made = judged(["neutral"])
        raw = raw_of(["neutral"], [{"votes": list(votes)}])
        made.scores["claims"] = made.scores["claims"].model_copy(update={"raw": raw})
        return score_of((record, made))["units"][0]["claim"].get("why")

    votes = [{"checker": "nli|base", "label": "neutral"}, {"checker": "llm", "label": "entailment"}]
    assert shown(*votes) == "Checkers: nli|base neutral, llm entailment."
    assert (
        shown(1, {}, {"checker": "nli", "label": "<b>"}, {"checker": 2, "label": "neutral"}) is None
    )
    assert len(shown({"checker": "x" * 10**6, "label": "neutral"})) == MAX_TEXT + 1


def test_odd_and_long_facts_are_bounded() -> None:
    for pair in hostile_claims():
        score = score_of(pair)
        assert json.loads(json.dumps(score, allow_nan=False)) == score
        assert score["units"][0]["claim"]["parts"] == [[0, 10**9], [0, 1]]
        assert [u["claim"]["v"] for u in score["units"]][3:] == ["neutral", "entailment"]
        assert set(score["units"][4]["claim"]) == {"v"}
    record, made = judged(["neutral"])
    told = [{"text": "x" * 10**6, "parts": [(i, i + 1) for i in range(MAX_PARTS + 1)]}]
    raw = {**raw_of(["neutral"], told), "left_out": ["y"] * 1000}
    made.scores["claims"] = made.scores["claims"].model_copy(update={"raw": raw})
    score = score_of((record, made))
    (unit,) = score["units"]
    assert len(unit["claim"]["text"]) == MAX_TEXT + 1 and "parts" not in unit["claim"]
    assert len(score["claims"]["left_out"]) == 20
    assert len(HOSTILE) == len(hostile_claims())
