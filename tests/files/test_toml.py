from __future__ import annotations

from pathlib import Path

import pytest

from veridical.files.toml import MOST_BYTES, parse_toml, read_toml


def test_what_a_table_says_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('a.b = 1\n[c]\nd = "One. Two. Three..."\n')
    assert read_toml(tmp_path / "a.toml") == {"a": {"b": 1}, "c": {"d": "One. Two. Three..."}}
    long = 'a = "' + "Said it. " * 200 + '"\n'
    assert parse_toml(long + long.replace("a =", "b =")).keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a." * 100_000 + "b = 1", "parts"),
        ("[" + '"é"."x y".' * 5000 + "b]", "parts"),
        ("a = " + "[" * 100_000, "too deep"),
        ("a = 1\na = 2", "overwrite"),
        ("#" * (MOST_BYTES + 1), "larger than"),
    ],
)
def test_what_is_too_deep_or_too_large_is_refused_at_once(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "a.toml").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=says):
        read_toml(tmp_path / "a.toml")
