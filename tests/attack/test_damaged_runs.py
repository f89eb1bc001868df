"""Whatever happens to the files of a finished run, the same command gives the same table, or says
clearly why not."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veridical.api import Job, reopen
from veridical.core.messages import ChatRequest, LlmError
from veridical.engine.engine import Engine
from veridical.errors import UsageError
from veridical.files.rundir import RunDirectory
from veridical.llm.fake import FakeLlm
from veridical.sampling.sampling import Sampling

TRIALS = 120
Damage = Callable[[random.Random, bytes], bytes]


def rows(count: int = 24) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {
            "id": f"r{i}",
            "response": f"It is {i + 20} m tall. It is in Mali.",
            "samples": [f"It is {i + n} m tall. It is in Mali." for n in (40, 40, 60)],
            "contexts": f"It is {i % 7} m tall and in Mali.",
        }
        for i in range(count)
    ]
    made[5] = {"id": "bad", "response": 7}
    return made


def said(request: ChatRequest) -> Any:
    number = int(request.messages[-1]["content"].split()[1])
    if number % 7 == 3 and request.ordinal == 1:
        return LlmError("malformed", "no JSON")
    return f"It is {number + request.ordinal % 2} m tall. It is in Mali."


def write(path: Path, made: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in made), "utf-8")
    return path


def settings_of(kind: str, folder: Path) -> dict[str, Any]:
    if kind == "prompts":
        prompts = [{"id": f"p{i}", "prompt": f"question {i}"} for i in range(24)]
        path = write(folder / "prompts.jsonl", prompts)
        return {
            "inputs": path,
            "scorers": "exact_match, ngram_presence",
            "sampling": Sampling(n=2),
        }
    path = write(folder / "answers.jsonl", rows())
    if kind == "plain":
        return {"inputs": path, "scorers": "ngram_presence, support(against=contexts)"}
    policy = folder / "policy.toml"
    policy.write_text("accept = 0.3\nreject = 0.7\n")
    return {
        "inputs": path,
        "scorers": "ngram_presence, support(against=contexts)",
        "policy": policy,
        "select": "best",
        "repair": "drop",
    }


def flip(rng: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def cut(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randint(1, 400) :]


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def duplicate(rng: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"".join(lines)


def reorder(rng: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def drop(rng: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def renumber(rng: random.Random, data: bytes) -> bytes:
    """A huge row number, and a risk that is none."""
    number = rng.choice((b"99999999999999", b"-1", b"1e9"))
    return data.replace(b'"row":2,', b'"row":' + number + b",").replace(b'"risk":0.', b'"risk":7.')


DAMAGES: tuple[Damage, ...] = (flip, flip, cut, truncate, duplicate, reorder, drop, renumber)


class Runs:
    """Runs of one kind, in folders of their own."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.settings = settings_of(kind, folder)
        self.engine = Engine(processes=0, llm=FakeLlm(said) if kind == "prompts" else None)

    def table(self, out: Path) -> tuple[list[bytes], list[int], int]:
        results = Job(**self.settings, out=out, engine=self.engine).wait()
        lines = list(results.lines())
        shown = [record.row for record, _ in results.pairs()]
        assert shown == [json.loads(line)["row"] for line in lines]
        return lines, [e.row for e in results.errors()], results.summary().records


@pytest.fixture(params=["plain", "policy", "prompts"])
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = Runs(request.param, tmp_path)
    yield made
    made.engine.close()


def files_of(run: Path) -> list[Path]:
    """What a run has written; its journal has checksums of its own, and is tested with it."""
    found = [p for p in run.rglob("*") if p.is_file() and p.stat().st_size]
    return sorted(p for p in found if not p.name.startswith("journal"))


def test_a_damaged_run_is_mended_by_the_same_command(runs: Runs, tmp_path: Path) -> None:
    whole = runs.table(tmp_path / "whole")
    assert runs.table(tmp_path / "whole") == whole
    rng = random.Random(7)
    refused = 0
    names = set()
    for trial in range(TRIALS):
        run = tmp_path / f"trial{trial}"
        shutil.copytree(tmp_path / "whole", run)
        victim = rng.choice(files_of(run))
        damage = rng.choice(DAMAGES)
        victim.write_bytes(damage(rng, victim.read_bytes()))
        names.add(victim.name)
        where = f"{victim.relative_to(run)} by {damage.__name__}"
        try:
            assert runs.table(run) == whole, where
        except UsageError as e:
            assert victim.name == "manifest.json" and "--fresh" in str(e), f"{where}: {e}"
            refused += 1
        shutil.rmtree(run)
    assert refused < TRIALS / 2 and "results.jsonl" in names


def test_a_damaged_run_is_shown_or_refused(runs: Runs, tmp_path: Path) -> None:
    """Without running anything: a report is written, or it is said what is wrong."""
    runs.table(tmp_path / "whole")
    rng = random.Random(8)
    for trial in range(TRIALS // 3):
        run = tmp_path / f"trial{trial}"
        shutil.copytree(tmp_path / "whole", run)
        victim = rng.choice(files_of(run))
        victim.write_bytes(rng.choice(DAMAGES)(rng, victim.read_bytes()))
        try:
            results = reopen(run)
            results.report(tmp_path / "report.html")
            assert all(r.risk is None or 0 <= r.risk <= 1 for r in results)
        except UsageError as e:
            assert str(e)
        shutil.rmtree(run)


def test_a_bad_line_is_named_and_its_row_run_again(tmp_path: Path) -> None:
    made = Runs("plain", tmp_path)
    whole = made.table(tmp_path / "run")
    path = tmp_path / "run" / "results.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"risk":0.', b'"risk":7.')
    path.write_bytes(b"".join(lines))
    job = Job(**made.settings, out=tmp_path / "run", engine=made.engine)
    summary = job.wait().summary()
    assert job.directory.distrusted.lines == (f"not trusted: {path}: line 4",)
    assert (summary.resumed, summary.untrusted) == (22, 1) and job.progress.records == 1
    assert made.table(tmp_path / "run") == whole
    made.engine.close()


def test_answers_that_are_gone_are_asked_again(tmp_path: Path) -> None:
    """And no row loses its record in silence."""
    made = Runs("prompts", tmp_path)
    whole = made.table(tmp_path / "run")
    path = tmp_path / "run" / "answers.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4] + lines[6:]))
    with pytest.raises(UsageError, match="its record is missing"):
        reopen(tmp_path / "run").report(tmp_path / "r.html")
    job = Job(**made.settings, out=tmp_path / "run", engine=made.engine)
    job.wait()
    assert job.progress.records == 2
    assert made.table(tmp_path / "run") == whole
    made.engine.close()


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"identity": 7}', "[" * 100_000, "\x80"])
def test_a_damaged_manifest_is_named_and_fresh_mends_it(tmp_path: Path, text: str) -> None:
    RunDirectory(tmp_path / "run", {"a": 1}, {}).close()
    (tmp_path / "run" / "manifest.json").write_text(text, "latin-1")
    with pytest.raises(UsageError, match=r"manifest\.json.*--fresh"):
        RunDirectory(tmp_path / "run", {"a": 1}, {})
    RunDirectory(tmp_path / "run", {"a": 1}, {}, fresh=True).close()
    RunDirectory(tmp_path / "run", {"a": 1}, {}).close()


@pytest.mark.parametrize(
    "part",
    [
        {"inputs": [7]},
        {"inputs": []},
        {"mapping": "x"},
        {"samples": "x"},
        {"samples": 0},
        {"scorers": 7},
        {"reader": 1},
    ],
)
def test_a_manifest_of_the_wrong_kind_is_a_clear_error(tmp_path: Path, part: Any) -> None:
    made = Runs("plain", tmp_path)
    made.table(tmp_path / "run")
    made.engine.close()
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["request"] |= part
    path.write_text(json.dumps(manifest))
    with pytest.raises(UsageError, match=f"manifest.json: {next(iter(part))}"):
        reopen(tmp_path / "run")
