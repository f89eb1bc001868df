from __future__ import annotations

import pytest
from nli_evidence import FixedVerdicts

from veridical.core.prompt_text import last_question
from veridical.core.records import Record, Source
from veridical.core.stated import (
    need_statements,
    stated_answer,
    stated_sentences,
    stated_source,
    stated_source_sentences,
    states_nothing,
    stating_sentences,
    without_lead_in,
)
from veridical.errors import NotApplicable
from veridical.scorers.grounding.nli_grounding import nli_grounding

CHAT = [
    {"role": "system", "content": "Who are you?"},
    {"role": "user", "content": "When was it closed?"},
    {"role": "assistant", "content": "In 1950."},
    {"role": "user", "content": [{"type": "text", "text": "Where was it founded?"}]},
    {"role": "assistant", "content": "Why?"},
]


def test_the_last_text_of_the_user_is_the_question():
    assert last_question(CHAT) == "Where was it founded?"
    assert last_question("Where?") == "Where?"
    assert last_question(None) == last_question([]) == last_question(CHAT[:1]) == ""
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    assert last_question([*CHAT, image]) == "Where was it founded?"


def test_the_first_sentence_of_an_answer_is_read_with_the_question():
    record = Record(response="Leeds. Berlin came later. Oslo.", prompt=CHAT)
    assert stated_sentences(record, record.sentences) == [
        "It was founded in Leeds.",
        "Berlin came later.",
        "Oslo.",
    ]
    assert stated_answer(record, record.response) == (
        "It was founded in Leeds. Berlin came later. Oslo."
    )
    assert stated_answer(record, "  ") == "  "
    alone = Record(response="Leeds.")
    assert stated_sentences(alone, alone.sentences) == ["Leeds."]
    assert stated_answer(alone, "Leeds.") == "Leeds."


@pytest.mark.parametrize("kind, text", [("sample", "Is open: no."), ("reference", "It opened.")])
def test_answers_that_are_sentences_stay(kind, text):
    record = Record(response="Yes.", prompt="Did it open?")
    evidence = FixedVerdicts(record)
    assert stated_source(record, evidence, Source(kind, 0, "It opened.")) == "It opened."


def test_samples_and_references_answer_too_and_contexts_do_not():
    record = Record(response="Yes.", prompt="Did the pool open?")
    evidence = FixedVerdicts(record)
    texts = {
        kind: stated_source(record, evidence, Source(kind, 0, "No."))
        for kind in ("sample", "reference", "context")
    }
    opened = "The pool did not open."
    assert texts == {"sample": opened, "reference": opened, "context": "No."}
    for kind, expected in (("sample", opened), ("context", "No.")):
        source = Source(kind, 0, "No.")
        spans = source.sentences()
        assert stated_source_sentences(record, evidence, source, spans) == [expected]


async def test_the_same_short_answer_entails_itself_as_a_sample_or_reference():
    record = Record(response="Seven", prompt="How many bells has it?", reference="Seven.")
    evidence = FixedVerdicts(record)
    found = await nli_grounding(record, evidence, against="reference")
    assert not any(evidence.asked)
    (unit,) = found.units
    assert (unit.label, unit.text) == ("entailment", "Seven")
    assert (unit.evidence[0].kind, unit.evidence[0].text) == ("reference", "Seven.")


async def test_label_probabilities_and_evidence_of_a_unit_agree():
    """The head office of a firm does not contradict where it was founded."""
    office = "Lumo has its head office in Berlin."
    text = "Lumo was founded in Leeds."
    record = Record(response="Leeds", prompt="Where was Lumo founded?", contexts=[office])
    evidence = FixedVerdicts(record, {(office, text): (0.05, 0.15, 0.8)})
    found = await nli_grounding(record, evidence)
    assert evidence.asked == [[(office, text)]]
    (unit,) = found.units
    assert (unit.start, unit.end, unit.text) == (0, 5, "Leeds")
    assert unit.label == "neutral"
    assert unit.probabilities == pytest.approx(
        {"entailment": 0.05, "neutral": 0.95, "contradiction": 0}
    )
    (item,) = unit.evidence
    assert (item.text, item.probability) == (office, pytest.approx(0.95))


def test_citations_by_number_are_left_out_and_places_stay():
    record = Record(response="Leeds [1]. Berlin came later.[2] See [3] for more.", prompt=CHAT)
    assert stated_sentences(record, record.sentences) == [
        "It was founded in Leeds.",
        "Berlin came later.",
        "See [3] for more.",
    ]
    assert stated_answer(record, record.response) == (
        "It was founded in Leeds. Berlin came later. See [3] for more."
    )
    assert record.sentences[0].text == "Leeds [1]."


PARIS = "The tower is in Paris."


@pytest.mark.parametrize(
    "response, prompt, said",
    [
        (f"Sure! {PARIS} I hope this helps.", None, [PARIS]),
        (f"Sure! {PARIS} I hope this helps.", "Where is the tower?", [PARIS]),
        (f"Sure! {PARIS}", "Can you tell me where the tower is?", [PARIS]),
        # the verdict on what was asked is judged with the statement that follows
        (f"No. {PARIS}", "Is the tower in Rome?", [PARIS]),
        ("No. In Paris.", "Is the tower in Rome?", ["No.", "In Paris."]),
        (f"Great question! It is not. {PARIS}", "Is the tower in Rome?", ["It is not.", PARIS]),
        # behind a statement it may belong to that
        (f"Was it in Rome in 1900? It was. {PARIS}", None, None),
        ("--- Sure! ---", "Where is the tower?", []),
        ("Great question! Anything else?", "Where is the tower?", []),
        (f"Sure. {PARIS}", "Is the tower in Rome?", [PARIS]),
        (f"Of course! {PARIS}", "Is the tower in Rome?", [PARIS]),
        ("Oh yes!", "Is the tower in Rome?", ["Oh yes!"]),
        (f"I'd be happy to help! {PARIS}", "Is the tower in Rome?", [PARIS]),
        # a reply may be all that was asked for
        ("Yes.", None, ["Yes."]),
        ("True. Thank you!", "True or false: it is in Rome", ["True."]),
    ],
)
def test_small_talk_states_nothing(response, prompt, said):
    record = Record(response=response, prompt=prompt, contexts=[PARIS])
    found = [s.text.strip() for s in stating_sentences(record)]
    assert found == (said if said is not None else [s.text.strip() for s in record.sentences])
    assert states_nothing(record) is (not found)
    if not found:
        with pytest.raises(NotApplicable, match="states nothing"):
            need_statements(record)


@pytest.mark.parametrize("fields", [{"samples": ["No."]}, {"reference": "No."}])
def test_small_talk_is_compared_with_other_answers(fields):
    record = Record(response="Yes.", **fields)
    assert [s.text for s in stating_sentences(record)] == ["Yes."]
    assert not states_nothing(record)


def test_an_answer_without_words_or_that_declines_states_nothing():
    assert states_nothing(Record(response="?!", samples=["x"]))
    assert states_nothing(Record(response="I don't know.", samples=["x"]))


def test_what_leads_in_is_not_judged_but_a_verdict_is():
    record = Record(response=f"Yes, {PARIS} Well, it is tall.", contexts=[PARIS])
    assert stated_sentences(record, record.sentences) == [PARIS, "It is tall."]
    (first, _) = record.sentences
    cut = without_lead_in(record, first)
    assert record.response[cut.start : cut.end] == cut.text == PARIS
    asked = Record(response="No, it is in Paris.", prompt="Is the tower in Rome?")
    both = ["The tower is not in Rome, and it is in Paris."]
    assert stated_sentences(asked, asked.sentences) == both


def test_code_is_judged_without_its_fence():
    record = Record(response="```python\nfee = 10\n```", contexts=["fee = 10"])
    assert stated_sentences(record, stating_sentences(record)) == ["fee = 10"]


@pytest.mark.parametrize(
    ("response", "judged"),
    [
        ("No. It is in Paris.", "The tower is not in Rome, and it is in Paris."),
        ("Yes, but it was in Paris.", "The tower is in Rome, but it was in Paris."),
        (
            "Yes, but a move after the 20th only counts next month.",
            "The tower is in Rome, but a move after the 20th only counts next month.",
        ),
        ("Of course! It was built there.", "The tower is in Rome, and it was built there."),
        ("Unfortunately not.", "The tower is not in Rome."),
        ("No, in Paris.", "The tower is not in Rome, in Paris."),
    ],
)
def test_yes_and_no_are_judged_with_what_they_lead_to(response, judged):
    record = Record(response=response, prompt="Is the tower in Rome?", contexts=[PARIS])
    assert stated_sentences(record, stating_sentences(record)) == [judged]


def test_yes_on_a_question_that_gives_no_verdict_is_left_out():
    long = (
        "Is the tower that Ann and Bob, who came by the early train, saw from afar in Rome or not?"
    )
    record = Record(response="No, but it was in Paris.", prompt=long, contexts=[PARIS])
    assert stated_sentences(record, stating_sentences(record)) == ["It was in Paris."]


@pytest.mark.parametrize(
    ("advice", "judged"),
    [
        ("Always check with the operator before you travel.", False),
        ("It's best to consult a professional.", False),
        ("Check with the operator, as dogs travel free.", True),
        ("Ask the operator which dogs may travel.", True),
        ("The operator is in Leeds.", True),
    ],
)
def test_advice_after_an_answer_states_nothing(advice, judged):
    record = Record(response=f"{PARIS} {advice}", prompt="Is the tower in Rome?", contexts=[PARIS])
    assert (len(stating_sentences(record)) == 2) is judged
    asked = Record(response=f"{PARIS} {advice}", prompt="Who can I ask?", contexts=[PARIS])
    assert len(stating_sentences(asked)) == 2
    assert len(stating_sentences(Record(response=advice, contexts=[PARIS]))) == 1


@pytest.mark.parametrize(
    "contexts, silent",
    [
        (["The pool opens at 9. Lockers cost 2 euros."], True),
        (["The lift is out of order."], False),
        (["The pool opens at 9. Lockers cost 3 euros."], False),
        ([], True),
    ],
)
def test_what_the_sources_are_said_to_be_about_must_be_in_them(contexts, silent) -> None:
    said = "The page only covers opening hours of the pool and lockers for 2 euros"
    record = Record(response=f"{said}; it does not say who teaches.", contexts=contexts)
    assert states_nothing(record) is silent
    assert [s.text for s in stating_sentences(record)] == ([] if silent else [record.response])
    if not silent:
        assert stated_sentences(record, record.sentences) == [f"{said}."]


@pytest.mark.parametrize(
    "response, said",
    [
        ("The page gives no fee, so dogs travel free.", "Dogs travel free."),
        ("It opened in May, but the page does not say where.", "It opened in May."),
    ],
)
def test_what_stands_beside_a_refusal_is_judged_alone(response: str, said: str) -> None:
    record = Record(response=response, contexts=["The pool opened."])
    assert not states_nothing(record)
    assert stated_sentences(record, record.sentences) == [said]
    cut = without_lead_in(record, record.sentences[0])
    assert response[cut.start : cut.end] == cut.text
    assert cut.text.strip(".").lower() == said.strip(".").lower()
