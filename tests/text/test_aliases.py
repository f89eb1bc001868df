"""Short and long names of one thing."""

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.aliases import definitions, in_words_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Lake Rescue Fund (LRF) pays.", [("LRF", "Lake Rescue Fund")]),
        ("Ask the DPO (your data protection officer).", [("DPO", "data protection officer")]),
        ("The DPO, short for data protection officer, asks.", [("DPO", "data protection officer")]),
        ("NCD stands for no-claims discount: 5 %.", [("NCD", "no-claims discount")]),
        ("The tower (open daily) is tall (TALL).", []),
        ("He met Ann Lee (AB) there.", []),
    ],
)
def test_definitions(text, found):
    assert list(definitions(text)) == found


@pytest.mark.parametrize(
    ("statement", "text", "put"),
    [
        ("LRF pays.", "The Lake Rescue Fund pays.", "Lake Rescue Fund pays."),
        ("The Lake Rescue Fund pays.", "The LRF pays.", "The LRF pays."),
        ("The United States voted.", "The U.S. voted.", "The U.S. voted."),
        ("The email came on Monday.", "The e-mail came on Mon.", "The e-mail came on Mon."),
        ("The UK voted.", "The U.S. voted.", "The UK voted."),
        ("LRF pays.", "The Lake Sports Fund pays.", "LRF pays."),
        ("LRF pays.", "LRF is the Lake Rescue Fund.", "LRF pays."),
        ("Who told us?", "The US and the WHO.", "Who told us?"),
    ],
)
def test_statements_are_put_in_the_words_of_the_text(statement, text, put):
    assert in_words_of(statement, text) == put


def test_what_the_passage_defines():
    defined = definitions("The DPO, short for data protection officer, asks.")
    said = in_words_of("The data protection officer signs.", "The DPO signs.", defined)
    assert said == "The DPO signs."


@pytest.mark.parametrize(
    "piece", ["A B ", "(AB) ", "Ab Cd ", "Aa of ", "AB stands for ", "AB (a b ", "AB ", "Aa "]
)
def test_time_grows_with_length_alone(piece):
    assert growth(definitions, repeated(piece)) < MOST
    assert growth(lambda text: in_words_of("ABC is Xy Zz.", text), repeated(piece)) < MOST
