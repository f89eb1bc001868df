"""What people's labels are taken to say."""

from __future__ import annotations

import numpy as np

from veridical_lab.rank.answers import RankedAnswer
from veridical_lab.rank.people import by_people


def answer(label=None, units=None):
    return RankedAnswer("m", "all", "p", "p", "1", "scored", "", (1, 0, 0), 1, False, label, units)


def told(answers, name="hallucination", **more):
    return by_people(answers, **more)[name].tolist()


def test_the_label_counts_before_units():
    assert told([answer(0.25, (1.0, 1.0)), answer(1.0)]) == [0.25, 1.0]


def test_units_of_both_kinds_give_a_share():
    found = told([answer(units=(0.0, 1.0, 0.5)), answer(units=(0.0,)), answer(units=()), answer()])
    assert found[:2] == [2 / 3, 0.0]
    assert np.isnan(found[2:]).all()


def test_where_only_wrong_spans_are_marked_the_rest_is_right():
    assert told([answer(units=(1.0, 1.0)), answer(units=())]) == [1.0, 0.0]


def test_contradiction_takes_three_way_labels():
    answers = [answer(units=(0.0, 0.5, 1.0, 1.0)), answer(units=(0.0,)), answer(units=())]
    assert "contradiction" not in by_people(answers)
    found = told(answers, "contradiction", three_way=True)
    assert found[:2] == [0.5, 0.0] and np.isnan(found[2])


def test_no_labels_say_nothing():
    assert by_people([answer(), answer(units=())], three_way=True) == {}
