"""Hostile bytes: no exception, every row accounted for, flat memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hostile
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.io.formats import begins_json_list
from veridical.io.readers import READERS

RELAXED = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PIECES = [b"\n", b"\r\n", b'"', b",", b"\t", b"{", b"}", b"[", b"]", b'{"response": "a"}', b"\xff"]
PIECES += [
    b'"response":',
    b"\x00",
    b"\xef\xbb\xbf",
    "\u2028é😀".encode(),
    b"response,label\n",
    b"1e999",
]
SOUP = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=8), max_size=40).map(b"".join),
    st.lists(st.sampled_from(hostile.LINES), max_size=12).map(b"\n".join),
)


def check_errors(items: list[Record | RowError]) -> None:
    assert [x.row for x in items] == list(range(len(items)))
    for item in items:
        if isinstance(item, RowError):
            assert item.error and item.error.isprintable() and len(item.error) <= 400
            assert item.field is None or (item.field.isprintable() and len(item.field) <= 80)


def test_corpus(tmp_path: Path) -> None:
    assert len(set(hostile.LINES)) == len(hostile.LINES) >= 300
    assert not any(b"\n" in line for line in hostile.LINES)
    path = tmp_path / "a.jsonl"
    # A leading row keeps a byte-order mark away from the start of the file.
    path.write_bytes(b"\n".join([b"{}", *hostile.LINES]))
    _, *items = open_source(path).rows()
    check = [isinstance(x, RowError) for x in items]
    assert check == [True] * len(hostile.BAD) + [False] * len(hostile.ODD)
    assert [x.line for x in items if isinstance(x, RowError)] == list(
        range(2, len(hostile.BAD) + 2)
    )
    check_errors([RowError(0, "", 1, None, "x"), *items])
    assert [x.response for x in items[len(hostile.BAD) :][: len(hostile.TEXTS)]] == hostile.TEXTS


@RELAXED
@given(data=SOUP)
def test_any_bytes_as_jsonl(data: bytes, tmp_path: Path) -> None:
    text = data.removeprefix(b"\xef\xbb\xbf")
    start = text.lstrip()
    assume(not (start.startswith(b"[") and begins_json_list(start)))  # that may be one document
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    source = open_source(path)
    items = list(source.rows())
    rows = [line for line in text.split(b"\n") if line.strip()]
    assert len(items) == len(rows)
    check_errors(items)
    assert list(source.rows(len(items) // 2)) == items[len(items) // 2 :]


@RELAXED
@given(
    data=SOUP, name=st.sampled_from(["a.csv", "a.tsv", "a.json", "a.parquet", "a.x", "a.csv.gz"])
)
def test_any_bytes_as_another_format(data: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    try:
        items = list(open_source(path).rows())
    except UsageError as e:
        assert str(e).isprintable()
        return
    check_errors(items)


# fmt: off
KEYS = st.sampled_from([
    "gpt3_text", "gpt3_sentences", "annotation", "gpt3_text_samples", "wiki_bio_text", "id",
    "chatgpt_response", "hallucination", "right_answer", "hallucinated_answer", "right_summary",
    "document", "knowledge", "question", "response", "labels", "begin_label", "message", "triplet",
    "human_label", "doc", "claim", "label", "Question", "target_scores", "input",
    "correct_answers", "incorrect_answers",
])
# fmt: on
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["yes", "accurate", "Generic", "Neutral", "a; b"]),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(st.sampled_from(["start", "end", "text", "a"]), v, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(row=st.dictionaries(KEYS, VALUES, max_size=8), reader=st.sampled_from(sorted(READERS)))
def test_any_row_through_any_reader(row: dict[str, object], reader: str) -> None:
    items = list(open_source([row, row], reader=reader).rows())
    assert len(items) >= 2
    check_errors(items)


MEASURE = """
import resource, sys
from veridical.io import open_source
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
small, large = sys.argv[1:]
n = sum(1 for _ in open_source(small).rows())
before = peak()
n = sum(1 for _ in open_source(large).rows())
print(n, peak() - before)
"""


def test_memory_is_flat(tmp_path: Path) -> None:
    line = b'{"response": "%s", "samples": ["%s", "%s"]}\n' % (
        b"word " * 100,
        b"x" * 500,
        b"y " * 250,
    )
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    small.write_bytes(line * 500)
    with large.open("wb") as f:
        for _ in range(75):  # 113 MB, and one line of 40 MB that must not be held
            f.write(line * 1000)
        f.write(b"x" * 40_000_000)
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(small), str(large)],
        capture_output=True,
        text=True,
        check=True,
    )
    rows, grown = run.stdout.split()
    assert int(rows) == 75_001
    assert float(grown) < 30, f"memory grew by {grown} MB"
