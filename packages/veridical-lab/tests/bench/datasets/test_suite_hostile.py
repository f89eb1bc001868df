"""Wrong, broken and hostile data: a clear error or a counted bad row, never a crash or a mix-up."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veridical.errors import UsageError
from veridical_lab.bench.datasets import NAMES, find_suite, locate
from veridical_lab.bench.datasets.suite import BadItem, Item

SUITES = pytest.mark.parametrize("name", NAMES)


def read(name: str, path: Path) -> tuple[list[Item], list[BadItem]]:
    rows = list(find_suite(name).load(path))
    return [r for r in rows if isinstance(r, Item)], [r for r in rows if isinstance(r, BadItem)]


HOSTILE: dict[str, tuple[str, bytes]] = {
    "empty": ("a.jsonl", b""),
    "blank": ("a.jsonl", b"\n \n\n"),
    "empty csv": ("a.csv", b""),
    "header only": ("a.csv", b"response,label\n"),
    "numbers": ("a.jsonl", b"1\n2\n"),
    "null": ("a.json", b"null"),
    "empty list": ("a.json", b"[]"),
    "an object": ("a.json", b'{"a": 1}'),
    "cut short": ("a.json", b'[{"a": 1}, {'),
    "other columns": ("a.csv", b"x,y\n1,2\n"),
    "other rows": ("a.jsonl", b'{"x": 1}\n{"y": "z"}\n'),
    "binary": ("a.bin", bytes(range(256)) * 8),
    "binary jsonl": ("a.jsonl", bytes(range(256)) * 8),
    "utf-16": ("a.jsonl", '{"response": "a"}'.encode("utf-16")),
    "no parquet": ("a.parquet", b"PAR1 and nothing"),
    "cut gzip": ("a.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 999)[:-9]),
    "html": ("a.html", b"<html>a data set was here</html>"),
}


@SUITES
@pytest.mark.parametrize("case", HOSTILE)
def test_nothing_of_the_format(name: str, case: str, tmp_path: Path) -> None:
    file, content = HOSTILE[case]
    path = tmp_path / file
    path.write_bytes(content)
    for place in (path, tmp_path):
        with pytest.raises(UsageError) as e:
            read(name, place)
        assert find_suite(name).needs in str(e.value)
        assert str(tmp_path) in str(e.value)


@SUITES
def test_folders_of_other_things(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it is empty"):
        read(name, tmp_path)
    (tmp_path / "notes.txt").write_text("response label")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "loop").symlink_to(tmp_path)
    (tmp_path / "deep" / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / ".hidden.jsonl").write_text('{"response": "a", "label": 1}')
    with pytest.raises(UsageError, match=r"no file in the folder .*notes\.txt"):
        read(name, tmp_path)


@SUITES
def test_a_pipe_is_read_or_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs"):
        read(name, Path(os.devnull))


WRONG = [None, "", "text", 5, -1, 2.5, True, [], {}, [None], [5], [{}], {"a": 1}, "\x00", "\ud800"]


@SUITES
def test_wrong_types_in_every_field(name: str, published: Any, tmp_path: Path) -> None:
    """Each field of a good row made wrong or left out: the row is read, or named as bad."""
    file, good = published[name]
    if file.endswith(".tsv"):
        file = file.replace(".tsv", ".jsonl")
    targets: list[tuple[Any, ...]] = [(key,) for key in good]
    if name == "faithdial":
        targets += [("utterances", 0, key) for key in good["utterances"][0]]
    rows = []
    for place in targets:
        for value in [*WRONG, ...]:
            row = json.loads(json.dumps(good))
            inner = row
            for key in place[:-1]:
                inner = inner[key]
            if value is ...:
                del inner[place[-1]]
            else:
                inner[place[-1]] = value
            rows.append(row)
    path = tmp_path / file
    path.write_text("".join(json.dumps(r) + "\n" for r in [good, *rows]))
    items, bad = read(name, path)
    assert items and bad
    for item in bad:
        assert item.error.file == str(path) and item.error.error
        assert item.part  # every bad row counts somewhere
    assert {b.part for b in bad} <= {i.part for i in items}


def test_a_broken_row_counts_in_its_part(published: Any, write: Any, load: Any) -> None:
    _, row = published["begin"]
    path = write("b/test_wow.tsv", [row, {**row, "begin_label": "Maybe"}, row])
    (bad,) = load("begin", path.parent).bad
    assert bad.part == "wow/test" and bad.error.line == 3
    assert bad.error.field == "begin_label" and "Fully attributable" in bad.error.error
    turn = published["faithdial"][1]["utterances"][0]
    path = write("f/test.json", [{"utterances": [turn, {**turn, "knowledge": 7}]}, 3])
    first, second = load("faithdial", path).bad
    assert (first.error.row, first.error.field) == (0, "utterances[1].knowledge")
    assert second.error.row == 1 and "must be a JSON object" in second.error.error


def test_a_pair_broken_in_one_half_keeps_the_other(published: Any, write: Any, load: Any) -> None:
    _, row = published["halueval"]
    path = write("qa_data.jsonl", [row, {**row, "hallucinated_answer": "\x00"}, row])
    loaded = load("halueval", path)
    assert [i.record.label for i in loaded.items] == [0, 1, 0, 0, 1]
    assert [b.part for b in loaded.bad] == ["qa"]


def test_bad_rows_are_rows_of_the_held_out_fifth(published: Any, write: Any, load: Any) -> None:
    _, row = published["halueval"]
    path = write("qa_data.jsonl", [row, 1, 2, 3, row])
    held = [i.facets["heldout"] for i in load("halueval", path).items]
    assert held == ["", "", "yes", "yes"]


def test_locate(tmp_path: Path) -> None:
    suite = find_suite("wikibio")
    assert locate(suite, tmp_path) == tmp_path and locate(suite, str(tmp_path)) == tmp_path
    for wrong in ("nowhere.jsonl", "/no/such/place", "a/b/c", tmp_path / "x", "x" * 5000, "a\0b"):
        with pytest.raises(UsageError, match="--data"):
            locate(suite, wrong)
    with pytest.raises(UsageError, match=r"gpt3_sentences.*potsawee/wiki_bio_gpt3_hallucination"):
        locate(suite, "nowhere.jsonl")


Writer = Callable[[list[tuple[str, float]]], tuple[str, list[dict[str, Any]]]]


def as_wikibio(pairs: list[tuple[str, float]]) -> tuple[str, list[dict[str, Any]]]:
    words = {0.0: "accurate", 1.0: "major_inaccurate"}
    return "w.jsonl", [
        {"gpt3_text": t, "gpt3_sentences": [t], "annotation": [words[y]]} for t, y in pairs
    ]


def as_begin(pairs: list[tuple[str, float]]) -> tuple[str, list[dict[str, Any]]]:
    words = {0.0: "Fully attributable", 1.0: "Not fully attributable"}
    return "dev_tc.jsonl", [
        {"knowledge": "k", "message": "m", "response": t, "begin_label": words[y]} for t, y in pairs
    ]


def as_general(pairs: list[tuple[str, float]]) -> tuple[str, list[dict[str, Any]]]:
    words = {0.0: "no", 1.0: "yes"}
    return "g.jsonl", [{"chatgpt_response": t, "hallucination": words[y]} for t, y in pairs]


def as_claims(pairs: list[tuple[str, float]]) -> tuple[str, list[dict[str, Any]]]:
    words = {0.0: "Entailment", 1.0: "Contradiction"}
    return "c.jsonl", [
        {"setting": "zero_context", "id": "1", "triplet": [t], "human_label": words[y]}
        for t, y in pairs
    ]


def as_ragtruth(pairs: list[tuple[str, float]]) -> tuple[str, list[dict[str, Any]]]:
    span = [{"start": 0, "end": 1}]
    return "r.jsonl", [{"response": t, "labels": span if y else []} for t, y in pairs]


def as_truthfulqa(pairs: list[tuple[str, float]]) -> tuple[str, list[dict[str, Any]]]:
    return "t.jsonl", [{"input": "q", "target_scores": {t: int(1 - y)}} for t, y in pairs]


def as_faithdial(pairs: list[tuple[str, float]]) -> tuple[str, list[dict[str, Any]]]:
    words = {0.0: "Entailment", 1.0: "Hallucination"}
    return "test.jsonl", [
        {"utterances": [{"knowledge": "k", "response": t, "BEGIN": [words[y]]}]} for t, y in pairs
    ]


def as_graded(pairs: list[tuple[str, float]]) -> tuple[str, list[dict[str, Any]]]:
    return "m.jsonl", [{"response": t, "label": y} for t, y in pairs]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("wikibio", as_wikibio),
        ("begin", as_begin),
        ("halueval", as_general),
        ("refchecker", as_claims),
        ("ragtruth", as_ragtruth),
        ("truthfulqa", as_truthfulqa),
        ("faithdial", as_faithdial),
        ("graded", as_graded),
    ],
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_every_label_lands_on_its_response(
    name: str, written: Writer, tmp_path: Path, data: st.DataObject
) -> None:
    """Bad rows among the good ones shift nothing."""
    text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
    pairs = data.draw(
        st.lists(st.tuples(text, st.sampled_from([0.0, 1.0])), min_size=1, unique_by=lambda p: p[0])
    )
    file, good = written(pairs)
    rows: list[Any] = []
    for row in good:
        rows += data.draw(st.lists(st.sampled_from([{"x": 1}, 5, [], {}]), max_size=2))
        rows.append(row)
    path = tmp_path / file
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    items, bad = read(name, path)
    assert {i.record.response: i.record.label for i in items} == dict(pairs)
    assert [i.record.response for i in items] == [t for t, _ in pairs]
    assert len(bad) == len(rows) - len(good)
    assert [b.error.line for b in bad] == [n for n, r in enumerate(rows, 1) if r not in good]


def test_broken_claims_of_a_published_answer(published: Any, write: Any, load: Any) -> None:
    good = {"triplet": ["a", "is", "b"], "human_label": "Neutral"}
    bad = [
        {"id": "2", "claude2_response_kg": "none"},
        {"id": "3", "claude2_response_kg": [good, 7, {**good, "human_label": "Maybe"}]},
        {"id": None, "claude2_response_kg": [good]},
        {"id": "4", "claude2_response_kg": [{**good, "triplet": "a is b"}]},
    ]
    path = write("msmarco_gpt4_answers.json", [{"id": "1", "claude2_response_kg": [good]}, *bad, 5])
    loaded = load("refchecker", path)
    assert [(i.group, i.part) for i in loaded.items] == [
        ("1", "noisy_context"),
        ("3", "noisy_context"),
    ]
    assert [b.error.field for b in loaded.bad] == [
        "claude2_response_kg",
        "claude2_response_kg[1]",
        "human_label",
        "id",
        "triplet",
        None,
    ]


@pytest.mark.parametrize(
    ("name", "beside", "row", "said"),
    [
        ("ragtruth", "source_info.jsonl", 5, "must be a JSON object"),
        ("ragtruth", "source_info.jsonl", {"source_info": "x"}, "'source_id'"),
        ("ragtruth", "source_info.jsonl", {"source_id": "1", "source_info": 5}, "'source_info'"),
        ("ragtruth", "source_info.jsonl", {"source_id": 1, "source_info": "\0"}, "NUL"),
        (
            "ragtruth",
            "source_info.jsonl",
            {"source_id": 1, "source_info": "x", "prompt": ["y"]},
            "'prompt'",
        ),
        ("refchecker", "references.jsonl", [], "must be a JSON object"),
        ("refchecker", "references.jsonl", {"references": "x"}, "'id'"),
        ("refchecker", "references.jsonl", {"id": "1", "references": ["x", 5]}, "'references[1]'"),
        ("refchecker", "references.jsonl", {"id": "1", "setting": "odd"}, "'setting'"),
        ("refchecker", "references.jsonl", {"id": "1", "question": 5}, "'question'"),
    ],
)
def test_a_broken_joined_file_stops_the_suite(
    name: str, beside: str, row: Any, said: str, published: Any, write: Any, load: Any
) -> None:
    """Else records would lose what they are compared with, and nobody would know."""
    file, good = published[name]
    path = write(file, [good])
    fine = {"id": "9", "source_id": "9", "references": "x", "source_info": "x"}
    write(beside, [fine, row])
    with pytest.raises(UsageError) as e:
        load(name, path)
    assert f"{beside}:2: row 1" in str(e.value) and said in str(e.value)
