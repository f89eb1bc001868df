"""Tests of names and values that a statement mixes up."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.structure.owners import other_value

LINES = "Head of Data: Priya Nair\nHead of Design: Lukas Brandt\nCFO: Ines Moreau"
TABLE = (
    "| Role | Name |\n|---|---|\n| Head of Data | Priya Nair |\n| Head of Design | Lukas Brandt |\n"
    "| CFO | Ines Moreau |"
)
JSON = '{"head_of_data": "Priya Nair", "head_of_design": "Lukas Brandt", "cfo": "Ines Moreau"}'
PROSE = "Priya Nair is head of data, Lukas Brandt is head of design, and Ines Moreau is the CFO."
TEAMS = "Team,Lead,Deputy\nCore,Bo Lund,Cy Marsh\nWeb,Cy Marsh,Bo Lund"


@pytest.mark.parametrize("source", [LINES, TABLE, JSON, PROSE])
@pytest.mark.parametrize(
    ("statement", "question", "value"),
    [
        ("The CFO is Ines Moreau.", "", None),
        ("Ines Moreau is our CFO.", "", None),
        ("Priya Nair was the Head of Data.", "", None),
        ("The CFO is Lukas Brandt.", "", "Ines Moreau"),
        ("Lukas Brandt is the CFO.", "", "Ines Moreau"),
        ("The CFO is Ines Moreau and the head of data is Lukas Brandt.", "", "Priya Nair"),
        ("Lukas Brandt.", "Who is the CFO?", "Ines Moreau"),
        ("Ines Moreau", "Who is the CFO?", None),
        # other relations, hedges and names that the source lacks are not decided
        ("Lukas Brandt.", "Whom does the CFO report to?", None),
        ("The boss of the CFO is Lukas Brandt.", "", None),
        ("The CFO is not Lukas Brandt.", "", None),
        ("The former CFO is Lukas Brandt.", "", None),
        ("The CFO is Ann Lee.", "", None),
        ("The CTO is Lukas Brandt.", "", None),
        ("The CFO is", "", None),
    ],
)
def test_a_name_has_the_value_of_another(
    source: str, statement: str, question: str, value: str | None
) -> None:
    found = other_value(statement, question, ("It rained.", source))
    if value is None:
        assert found is None
    else:
        assert found is not None and found.source == 1
        said = source[found.start : found.end]
        assert value in said or (source == PROSE and said == " Lukas Brandt is head of design")


def test_a_source_that_gives_the_value_settles_it() -> None:
    both = (LINES, "Since May, Lukas Brandt is the CFO.", "Lukas Brandt is the CFO.")
    assert other_value("The CFO is Lukas Brandt.", "", both) is None


def test_values_in_several_columns_of_a_row() -> None:
    assert other_value("The lead of Core is Cy Marsh.", "", (TEAMS,)) is not None
    assert other_value("The lead of Core is Bo Lund.", "", (TEAMS,)) is None
    assert other_value("The lead is Cy Marsh.", "", (TEAMS,)) is None


@pytest.mark.parametrize(
    ("statement", "source"),
    [
        ("Dee Low is a runner.", "Bo Lund is a runner. Dee Low is a doctor."),
        ("The soup is sweet.", "The soup is hot. The tea is sweet."),
        ("Ann Lee is the mayor of Ulm.", "Ann Lee may be the mayor of Bonn."),
    ],
)
def test_prose_gives_definite_roles_only(statement: str, source: str) -> None:
    assert other_value(statement, "", (source,)) is None


@pytest.mark.parametrize(
    "piece", ["Ann Lee is the CFO. ", "CFO: Ann Lee\n", "A is ", "is the of, "]
)
def test_time_grows_with_length(piece: str) -> None:
    said = "The CFO is Bo Lund."
    assert growth(lambda text: other_value(said, "", (text,)), repeated(piece)) < MOST
