"""Q2 by hand: candidates, valid questions, token F1, the NLI stage, and no question at all."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest
from checkpoint_evidence import FixedCheckpoints
from growing import CHOSEN, MOST, growth

import veridical
from veridical.core.evidence import guarded
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine
from veridical.errors import NotApplicable
from veridical_lab.scorers.q2_questions import answer_f1, candidates, clean, personal

INSTALLED = any(m.name.startswith("en_core_web_sm") for m in pkgutil.iter_modules())
needs_spacy = pytest.mark.skipif(not INSTALLED, reason="SPACY MODEL ABSENT: no en_core_web_sm*")

RESPONSE = "Ann Lee was born in Rome in 1912."
KNOWLEDGE = "The singer Ann Lee grew up in Rome, Italy. She was born in 1921."
QUESTIONS = {"Ann Lee": "Who was born?", "Rome": "Where was she born?", "1912": "When?"}
ON_RESPONSE = {"Who was born?": "Ann Lee", "Where was she born?": "in Rome", "When?": "1912"}
ON_KNOWLEDGE = {"Who was born?": "Ann Lee", "Where was she born?": "Rome, Italy", "When?": "1921"}


def record(**fields) -> Record:
    return Record(**{"response": RESPONSE, "contexts": [KNOWLEDGE], **fields})


def written(source: str) -> list[str]:
    candidate = source.removeprefix("answer: ").partition("  context: ")[0]
    question = f"question: {QUESTIONS[candidate]}"
    return [question, "question: Where do you live?", question + " (again)"]


def answered(question: str, context: str) -> str | None:
    return (ON_RESPONSE if context == RESPONSE else ON_KNOWLEDGE).get(question)


async def score(
    to: Record | None = None, *, write=written, answer=answered, verdicts=None, **given
):
    arguments = {"candidates_by": "regex", **given}
    evidence = FixedCheckpoints(to or record(), write=write, answer=answer, verdicts=verdicts)
    bound = REGISTRY.bind("q2", arguments)
    return await bound(evidence.record, evidence), evidence


async def test_token_f1_by_hand() -> None:
    found, evidence = await score(form="f1")
    # Ann Lee: 1. Rome and "rome italy": 2 * 1 / (1 + 2). 1912 and 1921: 0.
    assert [q["f1"] for q in found.raw["questions"]] == [[1.0], [pytest.approx(2 / 3)], [0.0]]
    assert found.raw["q2"] == pytest.approx((1 + 2 / 3) / 3)
    assert found.risk == pytest.approx(1 - (1 + 2 / 3) / 3)
    assert found.raw["candidates"] == 3
    assert [a[0] for a in evidence.asked] == ["write", "answer", "answer"]


async def test_units_are_candidates_with_the_answers_places() -> None:
    found, _ = await score(form="f1")
    assert [(u.level, u.text) for u in found.units] == [
        ("span", "Ann Lee"),
        ("span", "Rome"),
        ("span", "1912"),
    ]
    assert [u.raw for u in found.units] == pytest.approx([1, 2 / 3, 0])
    assert all(RESPONSE[u.start : u.end] == u.text for u in found.units)
    (item,) = found.units[1].evidence
    assert item.text == "Rome, Italy" == KNOWLEDGE[item.start : item.end]


async def test_the_generator_is_asked_as_published() -> None:
    _, evidence = await score(form="f1")
    method, sources, settings = evidence.asked[0]
    assert method == "write"
    assert sources[1] == ("answer: ", "Rome", "  context: ", RESPONSE, " </s>")
    assert "".join(sources[1]) == f"answer: Rome  context: {RESPONSE} </s>"
    assert settings == {
        "model": "mrm8488/t5-base-finetuned-question-generation-ap",
        "max_tokens": 127,
        "beams": 5,
        "returned": 5,
        "no_repeat": 3,
    }
    _, evidence = await score(form="f1", decoding="greedy")
    settings = evidence.asked[0][2]
    assert (settings["beams"], settings["returned"], settings["no_repeat"]) == (1, 1, 0)


async def test_personal_questions_are_left_out() -> None:
    _, evidence = await score(form="f1")
    assert all("you" not in q for q, _ in evidence.asked[1][1])
    _, evidence = await score(form="f1", keep_personal=True)
    assert any("you" in q for q, _ in evidence.asked[1][1])


async def test_nli_decides_what_is_not_word_for_word() -> None:
    premise, hypothesis = "Where was she born? Rome, Italy.", "Where was she born? Rome."
    wrong = ("When? 1921.", "When? 1912.")
    verdicts = {(premise, hypothesis): (0.9, 0.05, 0.05), wrong: (0.1, 0.2, 0.7)}
    found, evidence = await score(verdicts=verdicts)
    assert [q["score"] for q in found.raw["questions"]] == [1.0, 1.0, 0.0]
    assert found.raw["q2"] == pytest.approx(2 / 3)
    # what is equal is not asked about
    assert evidence.asked[-1] == ("nli", [(premise, hypothesis), wrong], {"model": None})
    found, _ = await score()  # all neutral: the F1 stays
    assert found.raw["q2"] == pytest.approx((1 + 2 / 3) / 3)
    found, _ = await score(verdicts={(premise, hypothesis): (0.1, 0.2, 0.7)})
    assert found.raw["q2"] == pytest.approx(1 / 3)


async def test_no_answer_is_0_and_is_not_asked_about() -> None:
    def answer(question: str, context: str) -> str | None:
        return ON_RESPONSE[question] if context == RESPONSE else None

    found, evidence = await score(answer=lambda q, c: answer(q, c) if q in ON_RESPONSE else None)
    assert found.raw["q2"] == 0 and found.risk == 1
    assert all(method != "nli" for method, _, _ in evidence.asked)
    assert found.raw["questions"][0]["answers"] == [None]


async def test_a_question_answered_otherwise_by_the_response_is_not_valid() -> None:
    def answer(question: str, context: str) -> str | None:
        return "born" if question == "Who was born?" else answered(question, context)

    found, _ = await score(form="f1", answer=answer)
    assert [q["candidate"] for q in found.raw["questions"]] == ["Rome", "1912"]
    assert found.raw["q2"] == pytest.approx((2 / 3) / 2)


async def test_the_first_valid_question_counts_or_all() -> None:
    def answer(question: str, context: str) -> str | None:
        return answered(question.removesuffix(" (again)"), context)

    found, _ = await score(form="f1", answer=answer)
    assert [q["question"] for q in found.raw["questions"]] == list(QUESTIONS.values())
    found, _ = await score(form="f1", answer=answer, questions="all")
    assert len(found.raw["questions"]) == 6 and len(found.units) == 3
    assert found.raw["q2"] == pytest.approx((1 + 2 / 3) / 3)


@pytest.mark.parametrize(
    ("row", "value"), [((0.8, 0.1, 0.1), 1), ((0.1, 0.8, 0.1), 0.5), ((0.1, 0.1, 0.8), 0)]
)
async def test_without_a_valid_question_the_whole_is_judged(row, value: float) -> None:
    verdicts = {(KNOWLEDGE.lower(), RESPONSE): row}
    found, evidence = await score(answer=lambda q, c: None, verdicts=verdicts)
    assert found.raw["q2"] == value and found.risk == 1 - value
    assert found.raw["questions"] == [] and found.units == ()
    assert evidence.asked[-1][1] == [(KNOWLEDGE.lower(), RESPONSE)]
    with pytest.raises(NotApplicable, match="no generated question is answered correctly"):
        await score(answer=lambda q, c: None, form="f1")


async def test_a_response_without_candidates_is_judged_whole() -> None:
    to = record(response="so it is")
    found, evidence = await score(to)
    assert found.raw["candidates"] == 0 and found.raw["q2"] == 0.5
    assert evidence.asked[0][1] == []


async def test_samples_are_votes_and_references_alternatives() -> None:
    other = "It was Ann Lee in Rome, in 1912."

    def answer(question: str, context: str) -> str | None:
        if context == other:
            return {"Who was born?": "Ann Lee", "Where was she born?": "Rome"}.get(question)
        return answered(question, context)

    f1 = {"form": "f1", "answer": answer}
    found, _ = await score(record(samples=[KNOWLEDGE, other]), against="samples", **f1)
    assert found.raw["q2"] == pytest.approx((1 + (2 / 3 + 1) / 2 + 0) / 3)
    found, _ = await score(record(reference=[KNOWLEDGE, other]), against="reference", **f1)
    assert found.raw["q2"] == pytest.approx((1 + 1 + 0) / 3)


async def test_contexts_are_one_text_and_answers_know_their_own() -> None:
    parts = ["The singer Ann Lee grew up in Rome, Italy.", "She was born in 1921."]
    found, _ = await score(record(contexts=parts), form="f1")
    (item,) = found.units[2].evidence
    assert (item.context, item.text) == (1, "1921")
    assert parts[1][item.start : item.end] == "1921"


async def test_long_responses_are_asked_about_in_windows() -> None:
    filler = "So it was said and so it is said. " * 120
    to = record(response=f"{filler}Ann Lee sang. {filler}")
    _, evidence = await score(to, write=lambda s: [], form="nli")
    sources = evidence.asked[0][1]
    (source,) = (s for s in sources if s[1] == "Ann Lee")
    assert len(source[3]) <= 1600 and "Ann Lee sang." in source[3]


def test_cleaning_and_f1_by_hand() -> None:
    assert clean("In the U.S.,  our Capital!") == "us capital"
    assert clean("An apple a day, the end") == "apple day end"
    assert answer_f1("the Eiffel Tower", "Tower of Paris") == pytest.approx(0.4)
    assert answer_f1("Tower Tower", "tower") == pytest.approx(2 / 3)
    assert answer_f1("a", "the") == 0.0  # nothing is left of either


def test_candidates_by_rules() -> None:
    text = "The Nobel Prize went to Marie Curie and her husband on 7 November 1903, in Physics."
    found = candidates(text, "regex")
    assert {s.text for s in found} >= {
        "Nobel Prize",
        "Marie Curie",
        "7 November 1903",
        "Physics",
        "her husband",
    }
    assert all(text[s.start : s.end] == s.text for s in found)
    assert [s.text for s in candidates("I said so.", "regex")] == []
    assert candidates("", "regex") == []


@needs_spacy
@pytest.mark.spacy
def test_candidates_by_spacy() -> None:
    text = "Marie Curie won a prize in Paris. I like the prize, and A PRIZE it is."
    import spacy  # noqa: F401

    found = [s.text for s in candidates(text, "spacy")]
    assert found.index("Paris") < found.index("a prize")  # entities come first
    assert "I" not in found
    lowered = [t.lower() for t in found]
    assert lowered.count("a prize") == 1  # whatever the case
    spans = candidates(text, "spacy")
    assert all(text[s.start : s.end] == s.text for s in spans)


@needs_spacy
@pytest.mark.spacy
def test_personal_questions_by_spacy_and_by_rules() -> None:
    assert personal("Where do you live?", "spacy") and personal("What is my name?", "spacy")
    assert not personal("Who told you?", "spacy")  # no subject
    assert personal("Who told you?", "regex") and not personal("Who is young?", "regex")


@pytest.mark.skipif(INSTALLED, reason="an en_core_web_sm model is installed")
async def test_without_spacy_the_error_says_what_to_install() -> None:
    evidence = FixedCheckpoints(record())
    found = await guarded(REGISTRY.bind("q2", {}), evidence.record, evidence)
    assert found.status == "failed" and "pip install" in found.reason


@pytest.mark.torch
def test_the_published_kinds_of_checkpoints_end_to_end(tmp_path: Path) -> None:
    """Random weights ask no valid question, so that the NLI model judges the whole."""
    pytest.importorskip("torch")
    from reader_checkpoints import save_reader
    from seq2seq_checkpoints import save_t5

    arguments = {
        "candidates_by": "regex",
        "generator": str(save_t5(tmp_path / "generator")),
        "reader": str(
            save_reader(
                tmp_path / "reader", "albert", "QuestionAnswering", max_position_embeddings=900
            )
        ),
    }
    rows = [{"response": RESPONSE, "contexts": [KNOWLEDGE]}] * 2
    with Engine(processes=0) as engine:
        bound = REGISTRY.bind("q2", arguments)
        found = list(veridical.check(rows, [bound], engine=engine))
        planned = veridical.plan(rows, [bound], engine=engine)
    first, second = (r.scores[bound.key] for r in found)
    assert first == second and first.status == "scored"
    for part in ("nli:veridical-nli-mini@", "seq2seq:generator@"):
        assert part in first.signature
    assert first.raw["candidates"] == 3
    counted = {tuple(m["roles"]): m["requests"] for m in planned["models"]}
    assert counted[f"seq2seq {arguments['generator']}",] == 3  # once for both records
    assert counted[f"reader {arguments['reader']}",] == 15  # five beams each


def test_without_nli_no_nli_model_is_loaded() -> None:
    assert REGISTRY.bind("q2", {"form": "f1"}).costs == {"seq2seq"}
    assert REGISTRY.bind("q2", {}).costs == {"seq2seq", "nli"}


@pytest.mark.parametrize(
    "function",
    [
        lambda text: candidates(text, "regex"),
        lambda text: (clean(text), personal(text, "regex"), answer_f1(text, text)),
    ],
    ids=["candidates", "answers"],
)
def test_no_work_on_a_text_grows_with_its_square(function: Callable[[str], object]) -> None:
    function("Ann Lee was born in Rome in 1990. " * 9)
    found = {kind: growth(function, family) for kind, family in CHOSEN.items()}
    assert not {kind: times for kind, times in found.items() if times > MOST}
