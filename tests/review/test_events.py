"""The file of labels: it only grows, survives its writer, and takes nothing that is no event."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from veridical.errors import UsageError
from veridical.review.events import (
    Draw,
    LabelLog,
    ReviewEvent,
    UnitPlace,
    in_order,
    now,
    read_events,
)
from veridical.review.labels import Labels

UNIT = UnitPlace(level="sentence", start=0, end=4, text="Text")


def event(**changes: object) -> ReviewEvent:
    fields = {
        "event": "label",
        "at": now(),
        "who": "ann",
        "row": 3,
        "record": "a" * 32,
        "unit": UNIT,
        "label": "supported",
        "seconds": 2.5,
        "draw": Draw(order="random", p=0.01),
    }
    return ReviewEvent(**{**fields, **changes})


def test_a_line_has_all_that_was_said(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    log = LabelLog(path)
    given = [event(), event(event="done", unit=None, label=None), event(who="ben", blind=False)]
    log.append(*given)
    log.close()
    assert list(read_events(path)) == given
    assert b'"draw":{"order":"random","p":0.01}' in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_only_grows_and_the_newest_counts(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    log = LabelLog(path)
    log.append(event(at="1"))
    before = path.read_bytes()
    log.append(event(at="2", label="contradicted"), event(at="3", event="done"))
    log.append(event(at="4", label="says_nothing", blind=False))
    log.close()
    assert path.read_bytes().startswith(before)
    said = Labels.from_events(read_events(path)).of[3]["ann"]
    assert said.units[UNIT.key].label == "says_nothing"
    assert said.blind[UNIT.key].label == "contradicted"


def test_an_undo_takes_the_label_back() -> None:
    labels = Labels.from_events([event(at="1"), event(at="2", label=None)])
    assert labels.of[3]["ann"].units == {}


def test_a_half_line_of_a_killed_writer_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(event().line() + b"\n" + event().line()[:40])
    assert len(list(read_events(path))) == 1
    log = LabelLog(path)
    log.append(event(who="ben"))
    log.close()
    assert [e.who for e in read_events(path)] == ["ann", "ben"]


def test_files_of_several_people_go_together_in_any_order(tmp_path: Path) -> None:
    given = [event(at=f"{i:03d}", who=f"p{i % 3}", label="supported") for i in range(30)]
    given += [event(at=f"{i:03d}x", who=f"p{i % 3}", label="contradicted") for i in range(30)]
    shuffled = [*given, *given[:10]]
    random.Random(0).shuffle(shuffled)
    assert in_order(shuffled) == sorted(given, key=lambda e: e.at)
    people = Labels.from_events(shuffled).of[3]
    assert {said.units[UNIT.key].label for said in people.values()} == {"contradicted"}


@pytest.mark.parametrize(
    "line, told",
    [
        (b"{}\n", "event"),
        (b"nonsense\n", "line"),
        (b"[" * 5000 + b"\n", "line"),
        (event().line().replace(b'"supported"', b'"maybe"') + b"\n", "label"),
        (event().line().replace(b'"row":3', b'"row":-1') + b"\n", "row"),
        (event().line().replace(b'"who":"ann"', b'"who":"a\\u0007"') + b"\n", "who"),
    ],
)
def test_what_is_no_event_is_told_with_its_line_and_field(
    tmp_path: Path, line: bytes, told: str
) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(event().line() + b"\n" + line)
    with pytest.raises(UsageError, match=f"labels.jsonl, line 2: .*{told}|line 2: {told}"):
        list(read_events(path))


def test_a_link_in_its_place_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    (tmp_path / "labels.jsonl").symlink_to(tmp_path / "other")
    with pytest.raises(UsageError, match="is a link"):
        LabelLog(tmp_path / "labels.jsonl")
