"""The output file: resumed at any byte, refused when foreign, failed rows put in their places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sampling_chat import ScriptedChat, echo, prompts, question

from veridical.core.messages import ChatRequest, LlmError
from veridical.errors import UsageError
from veridical.io import open_source
from veridical.sampling.answers_file import AnswersFile, errors_path, kept_answers
from veridical.sampling.sample_run import sample_into
from veridical.sampling.sampling import Sampler, Sampling, SamplingProgress

SAMPLING = Sampling(n=2)


def identity(**more: Any) -> dict[str, Any]:
    return {"inputs": "abc", **SAMPLING.parameters(), **more}


async def run(
    path: Path, chat: Any, n: int = 12, *, rows: Any = None, **options: Any
) -> tuple[SamplingProgress, tuple[int, int]]:
    source = open_source(rows or prompts(n), prompts=True)
    progress = SamplingProgress()
    with AnswersFile(path, identity()) as file:
        sampler = Sampler(chat, SAMPLING, {"run": file.run})
        await sample_into(file, source, sampler, progress, window=4, **options)
        return progress, file.counts()


def broken(request: ChatRequest) -> Any:
    number = int(question(request).split()[1])
    bad = number in (0, 4, 5, 11)
    return LlmError("malformed", "nonsense", possibly_paid=1) if bad else echo(request)


def test_nothing_to_do_leaves_no_file_of_failures(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with AnswersFile(path, identity()):
        assert errors_path(path).exists()
    assert not errors_path(path).exists() and path.read_bytes() == b""


async def test_cut_at_any_byte_it_goes_on_to_the_same_file(tmp_path: Path) -> None:
    """A kill leaves a beginning of the file. Line ends, and bytes around them, are the risk."""
    whole = tmp_path / "whole.jsonl"
    await run(whole, ScriptedChat())
    data = whole.read_bytes()
    ends = [i for i, b in enumerate(data) if b == 10]
    cuts = {0, 1, 7, len(data) // 2, len(data) - 1, len(data), *ends, *(e + 1 for e in ends[::4])}
    for cut in sorted(cuts):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(data[:cut])
        chat = ScriptedChat()
        await run(path, chat)
        assert path.read_bytes() == data
        kept = data[:cut].count(b"\n")
        assert len(chat.asked) == 3 * (12 - kept), "what is in the file is not asked again"


async def test_failures_beside_answers_in_input_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [*prompts(12), {"id": "bad", "prompt": ""}]
    progress, counts = await run(path, ScriptedChat(broken, delay=0.005), rows=rows)
    assert counts == (8, 5)
    assert (progress.answered, progress.failed, progress.bad_rows) == (8, 4, 1)
    failed = [json.loads(x) for x in errors_path(path).read_text().splitlines()]
    assert [(f["row"], f.get("id")) for f in failed[:4]] == [
        (0, "p0"),
        (4, "p4"),
        (5, "p5"),
        (11, "p11"),
    ]
    assert failed[0]["trouble"] == "malformed" and failed[0]["possibly_paid"] == 3
    assert failed[4]["field"] == "prompt" and "blank" in failed[4]["error"]
    ids = [json.loads(x)["id"] for x in path.read_text().splitlines()]
    assert ids == [f"p{i}" for i in range(12) if i not in (0, 4, 5, 11)]
    chat = ScriptedChat()
    await run(path, chat, rows=rows)
    assert chat.asked == [], "a resume is not a retry"


async def test_retry_failed_puts_answers_in_their_places(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.jsonl", tmp_path / "whole.jsonl"
    rows = [*prompts(12), {"id": "bad", "prompt": ""}]
    await run(path, ScriptedChat(broken), rows=rows)
    await run(whole, ScriptedChat(), rows=rows)
    chat = ScriptedChat()
    _, counts = await run(path, chat, rows=rows, retry_failed=True)
    assert path.read_bytes() == whole.read_bytes()
    assert errors_path(path).read_bytes() == errors_path(whole).read_bytes()
    assert counts == (12, 1) and len(chat.asked) == 4 * 3
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".tmp") == []


async def test_a_retry_that_stops_half_way_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    await run(path, ScriptedChat(broken))

    def poor(request: ChatRequest) -> Any:
        number = int(question(request).split()[1])
        return LlmError("budget", "over") if number == 5 else echo(request)

    with pytest.raises(LlmError, match="over"):
        await run(path, ScriptedChat(poor), retry_failed=True)
    rows = [json.loads(x)["meta"]["sampling"]["row"] for x in path.read_text().splitlines()]
    assert rows == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    failed = [json.loads(x)["row"] for x in errors_path(path).read_text().splitlines()]
    assert failed == [5, 11]
    await run(path, ScriptedChat(), retry_failed=True)
    assert path.read_text().count("\n") == 12 and not errors_path(path).exists()


async def test_a_limit_is_gone_beyond_later(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.jsonl", tmp_path / "whole.jsonl"
    await run(path, ScriptedChat(), limit=5)
    assert path.read_text().count("\n") == 5
    await run(path, ScriptedChat())
    await run(whole, ScriptedChat())
    assert path.read_bytes() == whole.read_bytes()


async def test_another_sampling_is_refused_and_what_differs_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    await run(path, ScriptedChat())
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"temperature \(file: 1\.0, this run: 0\.7\)"):
        AnswersFile(path, identity(temperature=0.7))
    with pytest.raises(UsageError, match="the prompts"):
        AnswersFile(path, identity(inputs="other"))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "data",
    [
        b'{"id": 1, "prompt": "mine"}\n',
        b'{"id":1,"prompt":"mine"}',
        b"id,prompt\n1,x\n",
        b"\x00\xff\xfe",
        b'{"meta": {"sampling": {"run": 7, "row": 1}}}\n',
        b'{"meta": [1]}\n',
    ],
)
def test_a_foreign_file_is_left_alone(tmp_path: Path, data: bytes) -> None:
    for name in ("a.jsonl", "b.jsonl.errors.jsonl"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UsageError, match="not a file of sampled answers"):
            AnswersFile(tmp_path / name.removesuffix(".errors.jsonl"), identity())
        assert (tmp_path / name).read_bytes() == data


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        AnswersFile(tmp_path, identity())
    with pytest.raises(UsageError, match="cannot write"):
        AnswersFile(tmp_path / "none" / "a.jsonl", identity())


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with (
        AnswersFile(path, identity()),
        pytest.raises(UsageError, match="another process"),
    ):
        AnswersFile(path, identity())
    AnswersFile(path, identity()).close()


@pytest.mark.parametrize("damage", ["cut", "broken", "twice", "swapped", "first"])
async def test_a_row_that_has_lost_its_line_is_asked_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.jsonl"
    await run(path, ScriptedChat(broken))
    whole = path.read_bytes()
    failures = errors_path(path).read_bytes()
    lines = whole.splitlines(keepends=True)
    if damage == "cut":
        del lines[2:4]
    elif damage == "broken":
        lines[2] = lines[2].replace(b'"', b"'", 1)
    elif damage == "twice":
        lines.insert(5, lines[2])
    elif damage == "swapped":
        lines[2], lines[3] = lines[3], lines[2]
    else:
        lines[0] = b"\xff" + lines[0]
    path.write_bytes(b"".join(lines))
    path.chmod(0o640)
    (tmp_path / "a.jsonl.tmp").symlink_to(tmp_path / "victim")
    chat = ScriptedChat(broken)
    with AnswersFile(path, identity()) as file:
        assert file.next_row == 12 and file.gaps == (damage != "twice")
        assert file.distrusted.count == (damage != "cut")
    await run(path, chat)
    assert path.read_bytes() == whole and errors_path(path).read_bytes() == failures
    asked = {"cut": 2, "broken": 1, "twice": 0, "swapped": 1, "first": 1}[damage]
    assert len({question(r) for r in chat.asked}) == asked
    assert path.stat().st_mode & 0o777 == 0o640 and not (tmp_path / "victim").exists()


async def test_what_is_kept_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    empty = kept_answers(path, identity())
    assert (empty.next_row, empty.gaps) == (0, False) and not path.exists()
    await run(path, ScriptedChat(broken))
    lines = path.read_bytes().splitlines(keepends=True)
    half = b"".join([*lines[:2], *lines[3:], lines[2][:30]])
    path.write_bytes(half)
    kept = kept_answers(path, identity())
    assert path.read_bytes() == half
    assert kept.gaps and list(kept.failed_rows()) == [0, 4, 5, 11]
    with AnswersFile(path, identity()) as file:
        assert (list(file.seen), file.next_row) == (list(kept.seen), kept.next_row)
        assert path.read_bytes() != half, "it is mended where it is gone on with"
        with pytest.raises(UsageError, match="being written by another process"):
            kept_answers(path, identity())
    with pytest.raises(UsageError, match="belongs to another sampling"):
        kept_answers(path, identity(temperature=2))
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="not a regular file"):
        kept_answers(tmp_path / "folder", identity())
