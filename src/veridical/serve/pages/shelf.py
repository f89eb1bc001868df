"""What lies in folders for people to look at: runs, benchmarks, and figures of tune and rank."""

from __future__ import annotations

import hashlib
import heapq
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.api import reopen
from veridical.core.prompt_text import question_text
from veridical.core.records import Record
from veridical.engine.outcome import outcome
from veridical.errors import UsageError, VeridicalError
from veridical.files.rundir import check_free
from veridical.report import overview
from veridical.text.display import display

if TYPE_CHECKING:
    from veridical.report.results import Results

#: Folders in each other that are looked through, entries that are listed, and bytes of a file of
#: figures that is read.
DEEPEST, MOST, LARGEST = 4, 1000, 32 << 20
#: Records of a run that its page names, the riskiest; and of a page of a comparison.
WORST, PAGE = 12, 50
_SNIPPET = 160
#: A run under way is read again after this many times the seconds that it took before.
_REST = 5.0


@dataclass(frozen=True)
class Entry:
    """Something to look at.

    Attributes:
        key: what pages call it.
        kind: run, bench, tune or rank.
    """

    key: str
    kind: str
    path: Path

    def as_dict(self) -> dict[str, Any]:
        try:
            changed = max(p.stat().st_mtime for p in _parts(self))
        except (OSError, ValueError):
            changed = 0.0
        return {
            "key": self.key,
            "kind": self.kind,
            "path": display(self.path),
            "changed": changed,
            "live": self.kind == "run" and _live(self.path),
        }


class Shelf:
    """The runs, benchmarks and figures below some paths.

    Args:
        paths: run directories, folders that hold some, or files of figures.

    Raises:
        UsageError: at a path is nothing of the kind.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = list(paths)
        self._entries: dict[str, Entry] = {}
        self._runs: dict[str, _Run] = {}
        self._guard = threading.Lock()
        for path in self._paths:
            if not path.exists():
                raise UsageError(f"{display(path)}: there is no such file or folder")
            if path.is_file() and _entry(path) is None:
                raise UsageError(
                    f"{display(path)} is none of: a run directory, a folder of runs, and figures "
                    "of bench, tune or rank (--json)"
                )

    def entries(self) -> list[dict[str, Any]]:
        """What is there now, the newest first."""
        found = {}
        for path in self._paths:
            for entry in _below(path, DEEPEST):
                found[entry.key] = entry
                if len(found) >= MOST:
                    break
        with self._guard:
            self._entries |= found
        return sorted((e.as_dict() for e in found.values()), key=lambda e: -e["changed"])

    def entry(self, key: str) -> Entry | None:
        """The entry of a key."""
        if key not in self._entries:
            self.entries()
        return self._entries.get(key)

    def run(self, key: str) -> dict[str, Any]:
        """How far a run is, and what came of it so far.

        Raises:
            UsageError: there is no such run, or its input cannot be opened again.
        """
        return self._run(key).told()

    def _run(self, key: str) -> _Run:
        entry = self.entry(key)
        if entry is None or entry.kind != "run":
            raise UsageError("there is no such run")
        with self._guard:
            return self._runs.setdefault(key, _Run(entry.path))

    def compared(self, a: str, b: str, page: int, *, changed: bool) -> dict[str, Any]:
        """Two runs over the same input, record by record: those of a page, of all or of those
        whose verdict is another.

        Raises:
            UsageError: they cannot be read, or have no record in common.
        """
        first, second = self._run(a).lines(), self._run(b).lines()
        common = sorted(first.keys() & second.keys())
        if not common and first and second:
            raise UsageError("the two runs have no record in common")
        moved: dict[tuple[str, str], int] = {}
        rows = []
        for row in common:
            x, y = first[row], second[row]
            moved[x["verdict"], y["verdict"]] = moved.get((x["verdict"], y["verdict"]), 0) + 1
            if not changed or x["verdict"] != y["verdict"]:
                rows.append(row)
        pages = max(1, -(-len(rows) // PAGE))
        page = min(max(page, 0), pages - 1)
        shown = rows[page * PAGE : (page + 1) * PAGE]
        texts = self._run(a).texts(set(shown)), self._run(b).texts(set(shown))
        return {
            "page": page,
            "pages": pages,
            "count": len(rows),
            "common": len(common),
            "only": [len(first) - len(common), len(second) - len(common)],
            "moved": [[x, y, n] for (x, y), n in sorted(moved.items(), key=lambda m: -m[1])],
            "records": [
                {"row": row, "a": {**first[row], **texts[0].get(row, {})}}
                | {"b": {**second[row], **texts[1].get(row, {})}}
                for row in shown
            ],
        }

    def report(self, key: str) -> str:
        """The whole HTML page of an entry, as ``veridical report`` writes it.

        Raises:
            UsageError: there is none, or it cannot be made.
        """
        entry = self.entry(key)
        if entry is None:
            raise UsageError("there is no such page")
        if entry.kind == "run":
            return _written(lambda to: reopen(entry.path).report(to))
        if entry.kind == "bench":
            from veridical.evaluate.report.html import write_bench_report
            from veridical.evaluate.result import STORED, Bench

            path = entry.path / STORED if entry.path.is_dir() else entry.path
            return _written(lambda to: write_bench_report(Bench.read(path), to))
        if entry.kind == "rank":
            from veridical.evaluate.rank.rank_html import write_ranking_report
            from veridical.evaluate.rank.result import Ranking

            ranking = Ranking.model_validate_json(entry.path.read_bytes())
            return _written(lambda to: write_ranking_report(ranking, to))
        raise UsageError("the figures of tune have no page of their own")

    def figures(self, key: str) -> dict[str, Any]:
        """The figures of tune: name and value of each, and its components.

        Raises:
            UsageError: there are none.
        """
        entry = self.entry(key)
        if entry is None or entry.kind != "tune":
            raise UsageError("there are no such figures")
        told = json.loads(entry.path.read_bytes())
        honest = told.get("honest") or {}
        return {
            "path": display(entry.path),
            "metric": honest.get("metric"),
            "n": honest.get("n"),
            "ensemble": honest.get("ensemble"),
            "components": honest.get("components") or [],
            "notes": [str(note) for note in told.get("notes") or []],
        }


class _Run:
    """A run that may be under way: read again where it has grown."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._stamp: Any = None
        self._after = 0.0
        self._told: dict[str, Any] = {}
        self._lines: dict[int, dict[str, Any]] = {}

    def told(self) -> dict[str, Any]:
        self._read()
        return {**self._told, "live": _live(self._path)}

    def lines(self) -> dict[int, dict[str, Any]]:
        """Row -> id, verdict, risk and decision."""
        self._read()
        return self._lines

    def texts(self, rows: set[int]) -> dict[int, dict[str, str]]:
        """Row -> question and answer, shortened."""
        if not rows:
            return {}
        return {
            record.row: {
                "question": _short(question_text(record.prompt) or ""),
                "answer": _short(record.response),
            }
            for record, _ in reopen(self._path).pairs(rows)
        }

    def _read(self) -> None:
        with self._guard:
            stamp = [
                (p.name, p.stat().st_size, p.stat().st_mtime_ns)
                for p in sorted(self._path.glob("*.jsonl"))
                if p.name != "labels.jsonl"
            ]
            if stamp == self._stamp or (self._told and time.monotonic() < self._after):
                return
            begun = time.monotonic()
            results = reopen(self._path)
            lines, worst = _headlines(results)
            summary = results.summary()
            plain = summary.as_dict()
            cards = overview.cards(plain)
            total = _expected(results)
            self._lines = lines
            self._told = {
                "path": display(self._path),
                "outcome": outcome(summary),
                "records": summary.records,
                "total": total,
                "row_errors": summary.row_errors,
                "cards": [
                    {"word": c.word, "mark": c.mark, "tone": c.tone, "records": c.records}
                    for c in cards
                ],
                "risk": (plain.get("risk") or {}).get("mean"),
                "worst": [{"row": row, **lines[row]} for row in worst],
            }
            self._stamp = stamp
            self._after = time.monotonic() + _REST * (time.monotonic() - begun)


def _headlines(results: Results) -> tuple[dict[int, dict[str, Any]], list[int]]:
    lines: dict[int, dict[str, Any]] = {}
    for _, headline in results.headlines():
        lines[headline.row] = {
            "id": _short(str(headline.row if headline.id is None else headline.id)),
            "verdict": headline.verdict,
            "risk": headline.risk,
            "decision": headline.decision,
        }
    risky = ((-r["risk"], row) for row, r in lines.items() if r["risk"] is not None)
    return lines, [row for _, row in heapq.nsmallest(WORST, risky)]


def _expected(results: Results) -> int | None:
    """How many records the input has; None where it is too large to count at every look."""
    sizes = [i.get("bytes") for i in results.given.describe()]
    if not all(isinstance(size, int) and size < LARGEST for size in sizes):
        return None
    total = sum(isinstance(row, Record) for row in results.rows())
    return total if results.limit is None else min(total, results.limit)


def _written(write: Callable[[Path], Any]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        write(path)
        return path.read_text("utf-8")


def _short(text: str) -> str:
    return " ".join(text[: 4 * _SNIPPET].split())[:_SNIPPET]


def _live(path: Path) -> bool:
    """Whether a process is at work in a run directory."""
    try:
        check_free(path)
    except VeridicalError:
        return True
    return False


def _below(path: Path, depth: int) -> Iterator[Entry]:
    found = _entry(path)
    if found is not None:
        yield found
        return
    if depth == 0 or not path.is_dir() or path.is_symlink():
        return
    try:
        inside = sorted(path.iterdir())
    except OSError:
        return
    for child in inside:
        if child.is_dir() or child.suffix == ".json":
            yield from _below(child, depth - 1)


def _entry(path: Path) -> Entry | None:
    from veridical.evaluate.result import STORED

    kind = None
    if (path / "manifest.json").is_file() and (path / "run.lock").exists():
        kind = "run"
    elif (path / STORED).is_file():
        kind = "bench"
    elif path.suffix == ".json" and path.is_file() and path.stat().st_size <= LARGEST:
        kind = _figures_kind(path)
    if kind is None:
        return None
    name = str(path.resolve())
    key = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return Entry(key, kind, path)


def _figures_kind(path: Path) -> str | None:
    """What figures a JSON file holds, by its members."""
    try:
        told = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    if {"suite", "signature", "rows"} <= told.keys():
        return "bench"
    if {"ensemble", "honest", "calibration"} <= told.keys():
        return "tune"
    return "rank" if {"parts", "order"} <= told.keys() else None


def _parts(entry: Entry) -> list[Path]:
    if entry.path.is_file():
        return [entry.path]
    return [p for p in entry.path.glob("*.json*") if p.name != "labels.jsonl"]
