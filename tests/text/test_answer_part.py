from __future__ import annotations

import pytest

from veridical.text.answer_part import part_finder


@pytest.mark.parametrize(
    ("spec", "text", "part"),
    [
        ("number", "The answer is 42. I checked 7 times.", "42"),
        ("number", "so 1,200.0 in all", "1200"),
        ("number", "1/3", "0.333333"),
        ("number", "50 %", "50%"),
        ("number", "minus five", "-5"),
        ("number", "none", None),
        ("regex:[A-D]", "It is C, not D", "C"),
        (r"regex:answer: (\w+)", "x answer: Paris y", "Paris"),
        (r"regex:(\d+)|([a-z]+)", "ab", "ab"),
        (r"regex:(\d+)?x", "x", None),  # the group took no part
        ("regex: +", "a b", None),  # blank
        ("regex:a:b", "xa:by", "a:b"),
        ("json:city", '{"city": " Paris "}', "Paris"),
        ("json:city", 'Sure:\n```json\n{"x": {"city": 1}}\n```', None),
        ("json:x.city", 'Sure:\n```json\n{"x": {"city": 1}}\n```', "1"),
        ("json:a.1", 'so {a} is {"a": [1, {"c": 2, "b": 1}]}', '{"b": 1, "c": 2}'),
        ("json:a", '{"b": 1} {"a": true}', "true"),
        ("json:a", '{"a": null}', None),
        ("json:a", '{"a": NaN}', None),
        ("json:a.9", '{"a": [1]}', None),
        ("json:a", "[1, 2]", None),
        ("json:a", "{" * 5000, None),
        ("json:a", '{"a":' * 20_000, None),
    ],
)
def test_parts(spec: str, text: str, part: str | None) -> None:
    assert part_finder(spec)(text) == part


@pytest.mark.parametrize(
    "spec",
    ["", "numbers", "number:1", "regex:", "regex:(", "json:", "json:a..b", "regex:" + "a" * 1000],
)
def test_what_is_no_part_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match=r"must be|valid pattern"):
        part_finder(spec)
