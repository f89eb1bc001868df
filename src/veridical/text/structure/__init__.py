"""Structured texts with places: JSON, YAML, XML, tables and named lines."""

from veridical.text.structure.answers import (
    AnswerUnit,
    answer_units,
    judged_units,
    source_pieces,
)
from veridical.text.structure.parts import Block, Leaf, Row, Structured
from veridical.text.structure.reading import read_structure

__all__ = [
    "AnswerUnit",
    "Block",
    "Leaf",
    "Row",
    "Structured",
    "answer_units",
    "judged_units",
    "read_structure",
    "source_pieces",
]
