"""What is unsupported in a response, and what its sentences become, by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest

from veridical.core.records import Record
from veridical.core.scores import Result, Score, Unit
from veridical.decide.repair import apply, changes_of
from veridical.decide.unsupported import Flaw, as_sentences, count, flaws, scorer_of
from veridical.text.spans import Span

TEXT = "Ann Lee was born in Rome and moved to Oslo. It rained. She sang."


def span(text: str, part: str) -> Span:
    start = text.index(part)
    return Span(start, start + len(part), part)


def claims(text: str, *told: tuple[str, str, tuple[str, ...]]) -> Score:
    """A score of the scorer ``claims``: text, label and parts (verbatim) of each claim."""
    units, raw = [], []
    for statement, label, parts in told:
        places = [span(text, p) for p in parts]
        whole = Span(places[0].start, places[-1].end, text[places[0].start : places[-1].end])
        units.append(Unit.of(whole, 0.5, level="claim", label=label))
        raw.append({"text": statement, "parts": [[p.start, p.end] for p in places]})
    return Score.of(0.5, raw={"risk": 0.5, "claims": raw}, units=units)


def sentences(record: Record, *risks: float | None) -> Score:
    units = [Unit.of(s, r) for s, r in zip(record.sentences, risks, strict=True)]
    return Score.of(0.5, units=units)


def repaired(record: Record, score: Score) -> str:
    plan = flaws(record, score)
    written = [as_sentences(f.supported, f.sentence.text) for f in plan]
    return apply(record.response, changes_of(record.response, plan, written))


def test_a_sentence_keeps_its_supported_claims_in_its_own_words() -> None:
    record = Record(response=TEXT)
    score = claims(
        TEXT,
        ("Ann Lee was born in Rome", "contradiction", ("Ann Lee was born in Rome",)),
        ("Ann Lee moved to Oslo.", "entailment", ("Ann Lee", "moved to Oslo.")),
        ("It rained.", "neutral", ("It rained.",)),
        ("She sang.", "entailment", ("She sang.",)),
    )
    first, second = flaws(record, score)
    assert first.unsupported == ("Ann Lee was born in Rome",)
    assert first.supported == ("Ann Lee moved to Oslo.",)
    assert second == Flaw(record.sentences[1], ("It rained.",), ())
    assert count(score) == 2
    assert repaired(record, score) == "Ann Lee moved to Oslo. She sang."


def test_claims_in_words_of_their_own_take_the_sentence_with_them() -> None:
    record = Record(response=TEXT)
    score = claims(
        TEXT,
        ("Ann Lee's birthplace is Rome.", "neutral", ("born in Rome",)),
        ("Ann Lee moved to Oslo.", "entailment", ("Ann Lee", "moved to Oslo.")),
    )
    assert repaired(record, score) == "It rained. She sang."


def test_a_claim_over_two_sentences_is_held_against_both() -> None:
    record = Record(response=TEXT)
    score = claims(TEXT, ("It rained. She sang.", "contradiction", ("It rained. She sang.",)))
    assert repaired(record, score) == "Ann Lee was born in Rome and moved to Oslo."


def test_sentences_are_unsupported_by_their_risk() -> None:
    record = Record(response=TEXT)
    assert repaired(record, sentences(record, 0.49, 0.5, None)) == TEXT.replace(" It rained.", "")
    assert repaired(record, sentences(record, 0.1, 0.2, 0.3)) == TEXT
    assert repaired(record, sentences(record, 0.9, 0.9, 0.9)) == ""


def test_a_claims_label_counts_before_its_risk() -> None:
    unit = Unit.of(Span(0, 3, "Ann"), 0.9, level="claim", label="entailment")
    assert count(Score.of(0.9, units=[unit])) == 0
    labelled = Unit.of(Span(0, 3, "Ann"), 0.1, label="contradiction")
    assert count(Score.of(0.1, units=[labelled])) == 0  # a sentence's label is no verdict on it
    assert count(Score.failed("boom")) is None


@pytest.mark.parametrize(
    ("text", "gone", "left"),
    [
        ("One. Two. Three.", ["One."], "Two. Three."),
        ("One. Two. Three.", ["Two."], "One. Three."),
        ("One. Two. Three.", ["Three."], "One. Two."),
        ("One. Two. Three.", ["Two.", "Three."], "One."),
        ("One. Two. Three.", ["One.", "Three."], "Two."),
        ("One. Two. Three.", ["One.", "Two.", "Three."], ""),
        ("One. Two.\n\nThree. Four.", ["Two."], "One.\n\nThree. Four."),
        ("One. Two.\n\nThree. Four.", ["Three."], "One. Two.\n\nFour."),
        ("One.\n\nTwo.\n\nThree.", ["Two."], "One.\n\nThree."),
        ("One.\n\nTwo.\n\nThree.", ["One."], "Two.\n\nThree."),
        ("One.\n\nTwo.\n\nThree.", ["Three."], "One.\n\nTwo."),
        ("  One. Two.  ", ["Two."], "  One."),
        ("🙂 One. 🙃 Two. Three.", ["🙃 Two."], "🙂 One. Three."),
        ("一つ。二つ。三つ。", ["二つ。"], "一つ。三つ。"),
    ],
)
def test_the_white_space_of_a_sentence_goes_with_it(text: str, gone: list[str], left: str) -> None:
    plan = [Flaw(span(text, g), (g,), ()) for g in gone]
    changes = changes_of(text, plan, [""] * len(plan))
    assert apply(text, changes) == left


def test_changes_are_slices_in_order_that_do_not_overlap() -> None:
    rng = random.Random(0)
    for _ in range(500):
        text = "".join(rng.choice(["A b. ", "Cd!\n", "É🙂.  ", "\n\n", "Ef. "]) for _ in range(8))
        record = Record(response=text)
        some = [s for s in record.sentences if rng.random() < 0.6]
        plan = [Flaw(s, ("why",), ()) for s in some]
        written = [rng.choice(["", "New.", s.text]) for s in some]
        changes = changes_of(text, plan, written)
        at = 0
        for change in changes:
            assert at <= change.start <= change.end <= len(text)
            assert change.text == text[change.start : change.end] != change.new
            at = change.end
        made = apply(text, changes)
        kept = [s for s in record.sentences if s not in some]
        expected = [w for s, w in zip(some, written, strict=True) if w] + [s.text for s in kept]
        assert sorted("".join(made.split())) == sorted("".join("".join(expected).split()))


@pytest.mark.parametrize(
    ("statements", "ending", "made"),
    [
        ((), "X.", ""),
        (("the tower is tall",), "It is so!", "The tower is tall!"),
        (("it is closed,", "She left."), "x", "It is closed. She left."),
        (("élan",), "x…", "Élan…"),
        (("塔は高い",), "塔は高い。", "塔は高い。"),
    ],
)
def test_statements_as_sentences(statements: tuple[str, ...], ending: str, made: str) -> None:
    assert as_sentences(statements, ending) == made


def result(**scores: Score) -> Result:
    return Result(id=0, row=0, risk=None, by=None, scores=scores)


def test_which_scorer_is_asked() -> None:
    record = Record(response=TEXT)
    some = sentences(record, 0.1, 0.1, 0.1)
    words = Score.of(0.5, units=[Unit.of(Span(0, 3, "Ann"), 0.9, level="token")])
    assert scorer_of(result(a=some, nli_grounding=some)) == "nli_grounding"
    given: dict[str, Any] = {"a": some, "claims(extractor=triplets)": claims(TEXT)}
    assert scorer_of(result(**given)) == "claims(extractor=triplets)"  # it found none to dispute
    assert scorer_of(result(ensemble=some, b=some)) == "b"
    assert scorer_of(result(ensemble=some)) == "ensemble"
    assert scorer_of(result(a=words, claims=Score.failed("boom"))) is None


@pytest.mark.parametrize(
    "raw",
    [
        None,
        {"claims": 7},
        {"claims": [None]},
        {"claims": [{"parts": [[0, 10**9]], "text": 3}]},
        {"claims": [{"parts": [["0", "1"]]}]},
        {"claims": [{"parts": 5}]},
    ],
)
def test_raw_values_of_another_form_do_no_harm(raw: Any) -> None:
    record = Record(response=TEXT)
    unit = Unit.of(span(TEXT, "It rained."), 0.9, level="claim", label="neutral")
    score = Score(risk=0.9, raw=raw, units=(unit,))
    assert repaired(record, score) == TEXT.replace(" It rained.", "")
