"""A result told to people: the deciding sentence, its evidence, and nothing that does harm."""

from __future__ import annotations

import re
from typing import Any

import pytest

from veridical.core.explain import WIDTH, ansi, as_html, pieces, plain
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.text.wrap import columns

SOURCE = "Ada wrote a program in 1843. Her mother was a mathematician."


def unit(text: str, start: int, risk: float | None, label: str | None = None, **more: Any) -> Unit:
    end = start + len(text)
    return Unit(level="sentence", start=start, end=end, text=text, risk=risk, label=label, **more)


def evidence(start: int, end: int, index: int = 1) -> EvidenceItem:
    text = SOURCE[start:end]
    return EvidenceItem(kind="context", index=index, context=index, start=start, end=end, text=text)


RIGHT = unit("Ada wrote a program.", 0, 0.1, "entailment", evidence=(evidence(0, 28),))
WRONG = unit("It was in 1900.", 21, 0.8, "contradiction", evidence=(evidence(0, 28),))
OFF = unit("She liked tea.", 37, 0.9, "neutral")


def result(*units: Unit, **fields: Any) -> Result:
    known = {"verdict": "contradicted", "reason": None, "risk": 0.8, "by": "ensemble"}
    scores = {"ensemble": Score.of(0.8, units=units)}
    return Result.model_validate({"id": "q", "row": 0, "scores": scores} | known | fields)


def test_a_contradiction_is_told_with_its_evidence_and_place() -> None:
    assert result(RIGHT, WRONG, OFF).explain() == (
        "CONTRADICTED: a source says otherwise\n"
        "Risk 0.80 by ensemble (0 is best, 1 is worst).\n"
        "\n"
        "    Ada wrote a program.\n"
        "    supported, risk 0.10\n"
        "\n"
        ">>> It was in 1900.\n"
        "    contradicted, risk 0.80\n"
        "    context 2, characters 0-28:\n"
        '        "Ada wrote a program in 1843."\n'
        "\n"
        "    She liked tea.\n"
        "    unsupported, risk 0.90\n"
    )


def test_an_unclear_sentence_is_shown_for_a_look_and_not_accused() -> None:
    doubted = unit(
        "She was born in Kent.", 0, 0.55, "unclear", kind="name", evidence=(evidence(0, 28),)
    )
    told = result(RIGHT, doubted, verdict="unclear", risk=0.55)
    assert told.worst == doubted
    assert told.explain() == (
        "UNCLEAR: there is evidence against it, but not enough to flag it\n"
        "Risk 0.55 by ensemble (0 is best, 1 is worst).\n"
        "\n"
        "    Ada wrote a program.\n"
        "    supported, risk 0.10\n"
        "\n"
        "  ? She was born in Kent.\n"
        "    unclear, name, risk 0.55\n"
        "    closest passage, context 2, characters 0-28:\n"
        '        "Ada wrote a program in 1843."\n'
    )


def test_what_is_unsupported_is_shown_with_the_closest_passage() -> None:
    item = evidence(0, 28).model_copy(update={"computed": "1843 - 1815 = 28"})
    off = unit("She was 30.", 0, 0.9, "neutral", kind="computed", evidence=(item,))
    text = result(off, verdict="unsupported").explain()
    assert text.startswith("UNSUPPORTED: the sources do not support it\n")
    assert "unsupported, computed, risk 0.90\n    closest passage, context 2, characters" in text
    assert "        computed: 1843 - 1815 = 28\n" in text


def test_the_worst_is_of_the_verdict() -> None:
    assert result(RIGHT, WRONG, OFF).worst == WRONG
    assert result(RIGHT, OFF, verdict="unsupported").worst == OFF
    assert result(RIGHT, verdict="supported").worst == RIGHT
    assert result(unit("a", 0, None)).worst is None and result().worst is None


def test_spans_are_of_the_deciding_score() -> None:
    other = Score.of(0.3, units=[OFF])
    claims = Score.of(0.8, units=[WRONG])
    both = {"ngram": other, "claims(merge=no)": claims}
    assert result(scores=both, by="claims").spans == (WRONG,)
    assert result(scores=both, by="claims").deciding == claims
    assert result(scores=both, by="gone").spans == (OFF,)  # the first that has labels
    bare = Score.of(0.2, units=[unit("x", 0, 0.1)])
    assert result(scores={"ngram": bare, "claims": claims}, by="gone").spans == (WRONG,)
    assert result(scores={"claims": Score.failed("x")}, by=None).spans == ()


def test_a_mean_shows_what_was_judged_of_its_sentences() -> None:
    mean = Score.of(0.6, units=[unit(WRONG.text, WRONG.start, 0.6), unit("New.", 60, 0.2)])
    near = unit(WRONG.text, WRONG.start, 0.5, "neutral")
    scores = {
        "quantile_mean": mean,
        "other": Score.of(0.5, units=[near]),
        "nli": Score.of(0.8, units=[WRONG]),
    }
    first, second = result(scores=scores, by="quantile_mean").spans
    assert (first.risk, first.label, first.evidence) == (0.6, "contradiction", WRONG.evidence)
    assert (second.label, second.evidence) == (None, ())


@pytest.mark.parametrize(
    ("label", "kept"),
    [("contradiction", True), ("neutral", True), ("unclear", True), ("entailment", False)],
)
def test_a_labelled_mean_shows_evidence_that_agrees(label: str, kept: bool) -> None:
    scores = {
        "quantile_mean": Score.of(0.6, units=[unit(WRONG.text, WRONG.start, 0.6, label)]),
        "nli": Score.of(0.8, units=[WRONG]),
    }
    (found,) = result(scores=scores, by="quantile_mean").spans
    assert (found.risk, found.label) == (0.6, label)
    assert found.evidence == (WRONG.evidence if kept else ())


@pytest.mark.parametrize(
    ("reason", "why", "todo"),
    [
        ("no_statement", "empty, a refusal or small talk", ""),
        ("missed_answer", "but one of them has", "may answer the question"),
        ("nothing_to_check", "nothing to check the answer against", "Give contexts"),
        ("not_judged", "Only words were compared", "such as claims"),
        ("language", "reads the language", "--nli ID"),
        ("earlier_version", "an earlier version", "Run the same check again"),
    ],
)
def test_an_unchecked_answer_says_why_and_what_to_do(reason: str, why: str, todo: str) -> None:
    unchecked = result(verdict="unchecked", reason=reason, risk=None, by=None, scores={})
    text = unchecked.explain()
    assert text.startswith("UNCHECKED: ") and why in text and todo in text
    assert "Risk" not in text and why in (unchecked.why_unchecked or "")


def test_a_failure_is_told_with_its_cause() -> None:
    scores = {"claims": Score.failed("the model\nis \x1b[1mgone"), "ngram": Score.of(0.1)}
    failed = result(verdict="unchecked", reason="failed", risk=None, by=None, scores=scores)
    assert "claims: the model is \\x1b[1mgone" in failed.explain()
    assert result(RIGHT).why_unchecked is None


def test_samples_have_their_own_words() -> None:
    agreeing, other = unit("In Mali.", 0, 0.2), unit("In 1900.", 9, 0.7)
    text = result(agreeing, other, verdict="inconsistent").explain()
    assert "    consistent, risk 0.20" in text and ">>> In 1900.\n    inconsistent" in text
    text = result(agreeing, other, verdict="unchecked", reason="not_judged").explain()
    assert "unchecked, risk 0.70" in text
    unlabelled = result(agreeing, other, verdict="unsupported").explain()
    assert "    supported, risk 0.20" in unlabelled and "unsupported, risk 0.70" in unlabelled


def test_hostile_text_stays_in_its_lines() -> None:
    bad = "\x1b]0;owned\x07<script>alert(1)</script>\u202e " + "長" * 90 + " word" * 60
    item = EvidenceItem(kind="sample", index=0, start=0, end=len(bad), text=bad)
    hostile = unit(bad, 0, 0.9, "contradiction", evidence=(item,))
    told = result(hostile, by="ensemble")
    text = plain(pieces(told.shown(), question=bad))
    assert all(columns(line) <= WIDTH for line in text.splitlines())
    assert text.replace("\n", "").isprintable() and "sample 1, characters 0-" in text
    page = as_html(pieces(told.shown(), question=bad))
    assert (
        "<script" not in page
        and "&lt;script&gt;" in page
        and page == as_html(pieces(told.shown(), question=bad))
    )
    assert not re.search(r"(src|href|on\w+)=", page)
    assert told._repr_html_().startswith("<pre style=")


def test_colours_add_nothing_but_themselves() -> None:
    told = result(RIGHT, WRONG)
    coloured = ansi(pieces(told.shown()))
    assert "\x1b[31mCONTRADICTED\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == told.explain()


def test_a_result_as_outputs_show_it() -> None:
    token = EvidenceItem(kind="token", index=3, start=0, end=3, text="Ada")
    words = WRONG.model_copy(update={"level": "span", "text": "1900", "start": 31, "end": 35})
    off = OFF.model_copy(update={"evidence": (evidence(0, 28, index=0), token)})
    shown = result(RIGHT, WRONG, words, off).shown(["a", None])
    assert [piece.text for piece in shown.sentences] == [RIGHT.text, WRONG.text, OFF.text]
    assert [piece.verdict for piece in shown.sentences] == [
        "supported",
        "contradicted",
        "unsupported",
    ]
    assert [piece.text for piece in shown.words] == ["1900"]
    assert shown.worst == shown.sentences[1]
    assert shown.worst_text("all") == WRONG.text
    assert [item.place for item in shown.evidence] == ["context 2, characters 0-28"]
    closest, spelt = shown.sentences[2].evidence
    assert closest.closest and not spelt.closest
    assert closest.place == "context 1 (a), characters 0-28" and closest.source == "context 1"


def test_an_answer_of_which_nothing_was_judged_is_shown_whole() -> None:
    shown = result().shown()
    assert shown.worst is None and shown.evidence == () and shown.worst_text("all") == "all"


@pytest.mark.parametrize("named", ["x", "2", "nan", ""])
def test_a_prior_that_is_none_is_not_shown(named: str) -> None:
    score = Score.of(0.8, raw={"even_risk": 0.8}, units=[WRONG])
    told = result(scores={f"ensemble(prior={named})": score})
    assert told.shown().prior is None and "by ensemble" in told.explain()
