"""What says where an answer is from leaves the judged text, and nothing else does."""

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.core.records import Record
from veridical.core.stated import stated_sentences, stating_sentences
from veridical.text.attribution import attributes_alone, attribution_lead_in, attribution_tail

SAID = "The ferry leaves at noon."
LOW = "the ferry leaves at noon."


@pytest.mark.parametrize(
    "text",
    [
        f"Based on the provided context, {LOW}",
        f"Based on the information you provided, {LOW}",
        f"According to document 1, {LOW}",
        f"According to Document 1 [1], {LOW}",
        f"Based on documents 1 and 2, {LOW}",
        "The ferry leaves at noon【4:0†timetable.pdf】.",
        "The ferry leaves at noon.²³",
        f"According to timetable.pdf, {LOW}",
        f"According to page 3 of the leaflet, {LOW}",
        f"The passage states that {LOW}",
        f"The timetable guide clearly says that {LOW}",
        f"The document says {LOW}",
        f"As mentioned in the text, {LOW}",
        f"As stated above, {LOW}",
        f"In the given article, it is mentioned that {LOW}",
        f"It is stated in the document that {LOW}",
        f"The answer is that {LOW}",
        f"In summary, {LOW}",
        f"To answer your question: {LOW}",
        f"Please note that {LOW}",
        f"It is worth noting that {LOW}",
        f"**Answer:** {SAID}",
        f"Sure! Here is the answer: {LOW}",
        f"Sure, based on the context, {LOW}",
        f"In short, the text says that {LOW}",
        "The ferry leaves at noon, according to the document.",
        "The ferry leaves at noon (source: timetable.pdf).",
        "The ferry leaves at noon (timetable.pdf).",
        "The ferry leaves at noon (see the leaflet) [2].",
        "The ferry leaves at noon (Smith et al., 2020).",
        "The ferry leaves at noon, as stated in the text.",
        f"{SAID} This is stated in the document.",
        f"{SAID} (according to the provided text)",
        f"{SAID} This information can be found in section 2.",
        f"{SAID}\n\nSource: timetable.pdf",
        f"{SAID}\n\n**Sources:**\n1. timetable.pdf\n2. https://ferry.example/times",
        f"{SAID}\n\nReferences:\n[1] Harbour Office, Timetable",
        "The ferry leaves at noon[^1].\n\n[^1]: Clause 4",
        "The ferry leaves at noon¹.\n\n¹ Clause 4",
        f"# Times\n\n{SAID}",
        f"Times:\n{SAID}",
    ],
)
def test_what_is_judged_is_what_is_said(text):
    for wrong in (False, True):
        given = text.replace("noon", "dusk") if wrong else text
        record = Record(response=given, prompt="What about the ferry?")
        judged = stated_sentences(record, stating_sentences(record))
        assert judged == [SAID.replace("noon", "dusk") if wrong else SAID]


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        "According to Dr. Wu, it is safe.",
        "The Morning Courier reports that it is safe.",
        "From the station, go left.",
        "Given the weather, stay at home.",
        "The policy provides the cover for theft.",
        "The page shows the opening hours.",
        "It is the policy of the house.",
        "It costs 5 euros (per person).",
        "It closed for good (May 2020).",
        "It is open (from 9 to 5).",
        "First, wash it.",
        "The document is long.",
        "The contract.",
        "In the contract.",
        "The answer is not known.",
    ],
)
def test_what_states_something_stays(text):
    assert attribution_lead_in(text) == 0
    assert attribution_tail(text) == len(text)
    assert not attributes_alone(text)


@pytest.mark.parametrize(
    "text",
    [
        "Source: the ferry leaves at noon.",
        "[1] The ferry leaves at noon.",
        "Note: the ferry leaves at noon.",
        "This is stated in the document, and the ferry leaves at noon.",
    ],
)
def test_a_statement_among_sources_is_judged(text):
    record = Record(response=f"{SAID}\n\nSources:\n{text}", prompt="What about the ferry?")
    assert len(stating_sentences(record)) == 2


def test_an_answer_that_is_a_name_or_a_file_is_judged():
    for text in (
        "The contract.",
        "A",
        "Result",
        "guide.pdf",
        "https://ferry.example/times",
        "**Leeds**",
    ):
        record = Record(response=text, prompt="Which one?")
        assert [s.text for s in stating_sentences(record)] == [text]


@pytest.mark.parametrize(
    "piece",
    ["according to ", "the document ", "(source: ", "as stated in the ", "in ", "[1] ", "(Smith, 2",
     "based on the provided context, ", "Sources:\n", "note that ", "a, "],
)  # fmt: skip
def test_time_grows_with_length_alone(piece):
    def whole(text):
        attribution_lead_in(text)
        attribution_tail(text)
        attributes_alone(text)

    assert growth(whole, repeated(piece)) < MOST
