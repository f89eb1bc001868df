"""Hostile input end to end: whatever the texts hold, a run ends and accounts for every row.

More than 2,000 rows: the corpus of ``helpers/hostile.py`` (bad lines, odd records), its texts and
the ones below in every field of a record, and records that hypothesis makes up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import hostile
import pytest
from growing import MOST, growth
from hostile_texts import repeated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from places import ROOT

import veridical
from veridical import Record
from veridical.core.evidence import score_locally
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine
from veridical.io import open_source
from veridical.text.sentences import split_anew

PLAIN = "The tower is 57 m tall. It was built in 1907 by Ada Stone."

#: What regular expressions, splitters and counters that go wrong go wrong on.
ENDLESS = {
    "dots": "a." * 25_000,
    "open": "(" * 50_000,
    "nested": "(((((" * 3_000 + ")))))" * 3_000,
    "commas": "1," * 25_000,
    "initials": "A.B.C.D. " * 5_500,
    "word": "x" * 100_000,
    "capital": "A" * 50_000,
    "camel": "Aa" * 25_000,
    "digits": "1" * 50_000,
    "ones": "1 " * 10_000,
    "dashed": "1-" * 10_000,
    "version": "1.1.1." * 8_000,
    "times": "12:30:" * 8_000,
    "money": "$1,000,000.00 " * 1_500,
    "spelt": "one hundred and " * 2_000,
    "dates": "January 1, 1900 " * 1_500,
    "newlines": "\n" * 5_000,
    "lines": "a\n" * 5_000,
    "returns": "\r\n" * 10_000,
    "tabs": "\t" * 50_000,
    "spaces": " " * 50_000 + "a",
    "list": "- item\n" * 2_000,
    "numbered": "1. item\n" * 1_500,
    "titles": "Dr. " * 12_000,
    "people": "Mr. A. B. " * 4_000,
    "abbreviations": "e.g. " * 10_000,
    "marks": "?!" * 25_000,
    "ellipses": "...." * 12_500,
    "quotes": "“" * 20_000,
    "apostrophes": "a'" * 25_000,
    "straight": '"a" ' * 10_000,
    "negations": "no, " * 10_000,
    "hyphens": "a-b-" * 12_000,
    "underscores": "_" * 50_000,
    "address": "http://a.b/" + "a/" * 20_000,
    "tags": "<a>" * 15_000,
    "links": "[a](b) " * 6_000,
    "mixed": "aA1 " * 10_000,
    "separators": "a,b;c:d " * 5_000,
    "names": "New York " * 5_000,
    "chain": "X of the " * 4_000,
    "different words": " ".join(f"w{i}" for i in range(8_000)),
    "sentences": " ".join(f"W{i} is {i}." for i in range(800)),
    "denials": " ".join(f"Town {i} is not in Peru{i}." for i in range(400)),
    "accents": "e\u0301" * 20_000,
    "marked words": "word\u0301 " * 6_000,
    "chinese": "你" * 20_000,
    "chinese sentences": "你好。" * 5_000,
    "arabic": "مرحبا " * 5_000,
    "emoji": "😀" * 20_000,
    "families": "👩‍👩‍👧‍👦" * 2_000,
    "overrides": "\u202e" * 20_000,
    "separated": "a\u2028b\u2029" * 3_000,
    "markup": "# x\n\n> y\n\n| z |\n" * 1_500,
}


@pytest.fixture(scope="module")
def engine():
    with Engine(processes=0) as engine:
        yield engine


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads((ROOT / "docs" / "result.schema.json").read_text()))


def roles(name: str, text: str) -> list[dict[str, Any]]:
    """A text in every place that a record has for one."""
    half = len(text) // 2
    return [
        {"id": f"{name}/0", "response": text, "samples": [text[::-1], PLAIN]},
        {"id": f"{name}/1", "response": PLAIN, "samples": [text, text, PLAIN]},
        {"id": f"{name}/2", "response": PLAIN, "contexts": [text, PLAIN], "prompt": text},
        {"id": f"{name}/3", "response": text, "contexts": [text[half:]], "reference": [text]},
        {"id": f"{name}/4", "response": text, "samples": [text], "sentences": [[0, half]]},
    ]


def generated(most: int) -> list[dict[str, Any]]:
    """Rows of every text in every role, no text longer than ``most``."""
    texts = {f"t{i}": t for i, t in enumerate(hostile.TEXTS)} | ENDLESS
    return [row for name, text in texts.items() for row in roles(name, text[:most])]


def examine(results: veridical.Results, items: Sequence[Any]) -> None:
    """Results and row errors against what the reader gave, row by row."""
    records = {x.row: x for x in items if isinstance(x, Record)}
    bad = {x.row for x in items if not isinstance(x, Record)}
    lines = [json.loads(line) for line in results.lines()]
    assert [x["row"] for x in lines] == sorted(records)
    assert {e.row for e in results.errors()} == bad and not bad & records.keys()
    assert len(records) + len(bad) == len(items)
    for found in lines:
        if sum(len(s["units"]) for s in found["scores"].values()) < 300:  # the schema is slow
            validator().validate(found)
        record = records[found["row"]]
        assert found["id"] == (record.row if record.id is None else record.id)
        assert (found["risk"] is None) == all(s["risk"] is None for s in found["scores"].values())
        for name, score in found["scores"].items():
            examine_score(f"{found['id']!r:.40} {name}", score, record)


def examine_score(where: str, score: dict[str, Any], record: Record) -> None:
    if score["status"] == "failed":  # log-probabilities of some other text, and nothing else
        assert "MisalignedTokens: " in score["reason"], f"{where}: {score['reason']}"
        assert record.logprobs
        assert "".join(t.token for t in record.logprobs).strip() != record.response.strip()
    else:
        assert score["status"] in ("scored", "not_applicable"), where
    scored = score["status"] == "scored"
    assert (score["risk"] is not None) == scored == (score["reason"] is None), where
    assert not scored or 0 <= score["risk"] <= 1, where
    sources = {
        "sample": [s.text for s in record.samples],
        "context": [c.text for c in record.contexts],
        "reference": list(record.reference),
    }
    for unit in score["units"]:
        assert unit["text"] == record.response[unit["start"] : unit["end"]], where
        assert unit["risk"] is None or 0 <= unit["risk"] <= 1, where
        for item in unit["evidence"]:
            if item["kind"] == "token":  # a token is a slice of the response
                source = record.response
            else:
                source = sources[item["kind"]][item["index"]]
            assert item["text"] == source[item["start"] : item["end"]] != "", where
            assert item.get("context") == (item["index"] if item["kind"] == "context" else None)


def test_there_are_enough_rows() -> None:
    assert len(hostile.LINES) + len(generated(1)) + EXAMPLES * PER_EXAMPLE >= 2_000


@pytest.mark.parametrize("processes", [0, 2])
def test_every_line_of_the_corpus(processes: int, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    mine = [
        json.dumps(row, ensure_ascii=i % 2 == 0).encode() for i, row in enumerate(generated(3000))
    ]
    lines = [b'{"response": "a first row"}', *hostile.LINES, *mine]
    path.write_bytes(b"\n".join(lines))
    results = veridical.check(path, preset="fast", processes=processes)
    items = list(open_source(path).rows())
    assert len(items) == len(lines) - len(hostile.BLANK)
    assert sum(not isinstance(x, Record) for x in items) == len(hostile.BAD)
    examine(results, items)
    tail = [r.id for r in results][-len(mine) :]
    assert tail == [row["id"] for row in generated(1)]


def test_all_scorers(engine: Engine) -> None:
    rows = [*generated(400)[::8], *[json.loads(x) for x in hostile.ODD[len(hostile.TEXTS) :: 2]]]
    rows += roles("long", "Ünïcödé 😀 words — and (brackets) 1,000 times. " * 30)
    assert len(rows) >= 120
    results = veridical.check(rows, preset="auto", engine=engine)
    examine(results, list(open_source(rows).rows()))


@pytest.mark.parametrize("name", ENDLESS)
def test_every_record_is_scored(name: str) -> None:
    """All model-free scorers, with the text in every role at once."""
    text = ENDLESS[name]
    free = [b for s in REGISTRY.all() if s.cost == "free" for b in REGISTRY.parse(s.name)]
    record = Record(
        response=text,
        samples=[text[::-1], text, PLAIN],
        contexts=[text[: len(text) // 2], PLAIN],
        reference=["a" + text[1:]],
    )
    scores = score_locally(record, free)
    for bound, score in zip(free, scores, strict=True):
        examine_score(bound.key, score.model_dump(mode="json"), record)


def test_splitting_stays_near_linear() -> None:
    for name in ("dots", "initials", "nested", "links", "people"):
        assert growth(split_anew, repeated(ENDLESS[name])) < MOST, name


PIECES = [
    *(t[:50] for t in hostile.TEXTS),
    *(t[:50] for t in ENDLESS.values()),
    "Dr. Who ",
    "in 1907. ",
    "not ",
    "Ada Stone ",
    "3.5 % ",
    "\n\n",
    " ",
]
TEXT = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join),
    st.builds(lambda t, n: t * n, st.text(min_size=1, max_size=4), st.integers(1, 3000)),
)
ROW = st.fixed_dictionaries(
    {"response": TEXT},
    optional={
        "prompt": TEXT,
        "samples": st.lists(TEXT, max_size=4),
        "contexts": st.lists(TEXT, max_size=3) | TEXT,
        "reference": TEXT,
        "id": st.integers(-(2**63), 2**63 - 1) | TEXT,
        "extra": st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
    },
)
EXAMPLES, PER_EXAMPLE = 60, 20


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(ROW, min_size=PER_EXAMPLE, max_size=PER_EXAMPLE))
def test_any_records(rows: list[dict[str, Any]], engine: Engine) -> None:
    results = veridical.check(rows, preset="fast", engine=engine)
    items = list(open_source(rows).rows())
    for item, row in zip(items, rows, strict=True):
        if isinstance(item, Record):
            assert item.response == row["response"]
        else:
            assert "\x00" in json.dumps(row, ensure_ascii=False) or "\\u0000" in json.dumps(row)
    examine(results, items)
