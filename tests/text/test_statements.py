from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.statements import answers_yes_or_no, is_sentence, statement, to_judge

#: question | answer | statement, written by hand
CONVERTED = Path(__file__).with_name("statement_triples.txt").read_text("utf-8").splitlines()

JOINED = """
Name a river in Vastland. | The Elm
how the clock works | Gears
When did the meeting end? | The vote
Wo liegt das Museum? | In Bern
Quelle est la capitale ? | Orrin
首都はどこですか？ | オリン
How was the concert? | Great
What did the mayor do? | Nothing
Capital of Vastland | Orrin
Translate the word. | Haus
Was Lenz president in 1910? | Yes.
Is the king of Vastland bald? | No.
Is Orrin in? | Yes.
""".strip().splitlines()

SENTENCES = """
Where was it founded? | It was founded in Leeds.
Who wrote it? | Ann Lee wrote the hymn in 1912.
How many bells are there? | There are seven.
What should I bring? | Bring a towel and a hat.
Who pays? | The customer pays for shipping unless the item is faulty.
Where does the Danube end? | The Danube flows into the Black Sea.
Why does dough rise? | Yeast makes gas in the dough.
What happened? | She's moved to Oslo.
When did he die? | He died in 1912.
Can pigs fly? | Pigs can't fly.
Does the sauce contain milk? | No, it is free from milk.
Can pigs fly? | No, pigs cannot fly.
Why are they late? | Trains break down in the cold.
""".strip().splitlines()


def _rows(lines):
    return [tuple(part.strip() for part in line.split(" | ")) for line in lines]


def test_there_are_enough_of_them():
    assert len(CONVERTED) + len(JOINED) + len(SENTENCES) >= 120


@pytest.mark.parametrize("question, answer, expected", _rows(CONVERTED))
def test_short_answers_become_statements(question, answer, expected):
    found = statement(question, answer)
    assert found.text == expected
    assert found.how == "converted"
    assert_holds(found, answer)


@pytest.mark.parametrize("question, answer", _rows(JOINED))
def test_where_no_rule_is_sure_both_are_joined(question, answer):
    found = statement(question, answer)
    assert (found.text, found.how) == (f"{question} {answer}", "joined")
    assert found.text[found.start : found.end] == answer


@pytest.mark.parametrize("question, answer", _rows(SENTENCES))
def test_sentences_say_what_they_say(question, answer):
    assert statement(question, answer) == (answer, 0, len(answer), "answer")


@pytest.mark.parametrize("question", [None, "", "  ", "\n"])
def test_without_a_question_the_answer_is_the_statement(question):
    assert statement(question, "Leeds") == ("Leeds", 0, 5, "answer")


def test_long_answers_and_those_without_a_word_are_as_they_are():
    long = " ".join(["town"] * 21)
    assert statement("Where was it?", long).how == "answer"
    assert statement("Where was it?", "...") == ("...", 0, 3, "answer")
    assert statement(f"{'very ' * 100}?", "so").how == "answer"


def test_the_last_question_of_a_prompt_counts():
    prompt = "Ann Lee lived in Leeds. Did she travel? Where did Ann Lee die? Answer in one word."
    assert statement(prompt, "York").text == "Ann Lee died in York."


def test_yes_alone_leaves_no_words_of_the_answer():
    assert statement("Is it open?", "Yes.")[1:] == (0, 0, "converted")
    found = statement("Was it open?", "Yes, until noon.")
    assert found.text[found.start : found.end] == "until noon"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Leeds, where it was founded", False),
        ("the man who wrote it", False),
        ("In the north of the island", False),
        ("Focus stacking and support for large cards", False),
        ("The first one that was built wins the prize", True),
        ("Unless you ask, it uses port 80", True),
        ("Ann Lee founded it", True),
    ],
)
def test_what_a_sentence_is(text, expected):
    assert is_sentence(text) is expected


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=120), st.text(max_size=60))
def test_any_text_has_a_statement(question, answer):
    assert_holds(statement(question, answer), answer)


_VOCABULARY = """
who what which where when why how many is was did does can or and the a of in to that X Leeds
founded found been not , ? open it there both yes no 7 old if long
"""
_WORDS = st.lists(st.sampled_from(_VOCABULARY.split()), max_size=14).map(" ".join)


@settings(deadline=None, max_examples=800)
@given(_WORDS, _WORDS)
def test_any_order_of_such_words_has_a_statement(question, answer):
    assert_holds(statement(question, answer), answer)


def assert_holds(found, answer):
    """The answer's words are in the statement, at the offsets; but for yes and no."""
    assert 0 <= found.start <= found.end <= len(found.text)
    said = found.text[found.start : found.end]
    assert said in answer
    if found.how != "converted":
        assert said == answer
    else:
        lost = answer.replace(said, "", 1) if said else answer
        kept = [w for w in lost.replace(",", " ").split() if any(map(str.isalnum, w))]
        assert len(kept) <= 1, (found, kept)  # "Yes, ..."


def _public(shared_data):
    qa = shared_data / "qa" / "NQ-open.dev.jsonl"
    for line in qa.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield "NQ-open", row["question"], row["answer"][0]
    halueval = shared_data / "halueval" / "dataset_halueval_qa.jsonl"
    for line in halueval.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield "HaluEval right", row["question"], row["right_answer"]
        yield "HaluEval wrong", row["question"], row["hallucinated_answer"]
    with (shared_data / "truthfulqa" / "TruthfulQA.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            yield "TruthfulQA", row["Question"], row["Best Answer"]


def test_public_questions(shared_data):
    shares: dict[str, Counter[str]] = {}
    for name, question, answer in _public(shared_data):
        found = statement(question, answer)
        assert_holds(found, answer)
        shares.setdefault(name, Counter())[found.how] += 1
    for name, counts in shares.items():
        print(name, {how: f"{n / counts.total():.0%}" for how, n in sorted(counts.items())})
    assert shares["NQ-open"]["converted"] >= 0.8 * shares["NQ-open"].total()
    assert shares["HaluEval right"]["converted"] >= 0.65 * shares["HaluEval right"].total()


@pytest.mark.parametrize("question", ["to how", "in which?", "until when", "by whom?", "how"])
def test_questions_that_break_off(question):
    assert statement(question, "the end").how in ("joined", "answer")


def test_long_questions_are_joined_for_a_model():
    question = "Where did the old painter Ann Lee found the company Lumo?"
    assert statement(question, "Leeds").how == "converted"
    joined = to_judge(question, "Leeds")
    assert joined.how == "joined" and joined.text == f"{question} Leeds"
    assert joined.text[joined.start : joined.end] == "Leeds"
    assert to_judge("Where was it founded?", "Leeds").how == "converted"
    closed = "Is the old theatre in the middle of the town still open today?"
    assert to_judge(closed, "No.").how == "converted"
    assert to_judge(None, "Leeds") == ("Leeds", 0, 5, "answer")


@pytest.mark.parametrize(
    "question, sentence, expected",
    [
        ("Is it in Rome?", "No, it isn't.", True),
        ("Hello! Isn't it in Rome?", "That's right.", True),
        ("Is it in Rome?", "Oh yes, sure!", True),
        ("Is it in Rome?", "Of course.", True),
        ("Is it in Rome?", "Great question!", False),
        ("Where is it?", "Sure!", False),
        ("Do you know where it is?", "Yes.", False),
        ("Can you tell me where it is?", "Sure!", False),
        ("Can you eat it raw?", "No.", True),
        (" ", "No.", False),
        (None, "No.", False),
    ],
)
def test_a_verdict_on_a_question(question, sentence, expected):
    assert answers_yes_or_no(question, sentence) is expected
