"""Addresses and telephone numbers of a text."""

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.identifiers import identifiers, only_points


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See https://www.Tower.example/Visit/.", {"tower.example/visit"}),
        ("See [the page](https://tower.example/a).", {"tower.example/a"}),
        ("www.tower.example is new", {"tower.example"}),
        ("Write to info@tower.example.", {"info@tower.example"}),
        ("Call +49 30 123456 or 555-0142.", {"4930123456", "5550142"}),
        ("from 1990-1995, 10-18 h, 9:00-16:00, 2019-2020", set()),
        ("1,200 and 5 000 000 of 12-15 euros", set()),
        ("e.g. this. That is it.", set()),
    ],
)
def test_identifiers(text, found):
    assert identifiers(text) == found


def test_what_only_points_to_an_address():
    assert only_points("More information at https://tower.example/a.")
    assert only_points("[Visit](https://tower.example/a) the page.")
    assert not only_points("The lift stops: https://tower.example/a.")
    assert not only_points("See the page.")


@pytest.mark.parametrize(
    "piece", ["a.", "a@", "https://a", "12-", "555 ", "www.", "more at a.org "]
)
def test_time_grows_with_length_alone(piece):
    def whole(text):
        identifiers(text)
        only_points(text)

    assert growth(whole, repeated(piece)) < MOST
