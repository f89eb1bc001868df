"""Index of runs, benchmarks and figures in folders."""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from veridical.api import reopen
from veridical.core.verdict_cuts import Verdict
from veridical.diff.paging import Only
from veridical.diff.view import HEADS, rows, said
from veridical.errors import UsageError, VeridicalError
from veridical.files.rundir import RunFiles
from veridical.report.stored import BENCH_FILE, kind_of, write_stored
from veridical.serve.pages.compared import RunComparison
from veridical.serve.pages.open_run import PAGE, REST, OpenRun, facts, is_live
from veridical.text.display import cut, display

if TYPE_CHECKING:
    from veridical.diff.result import FlipSide

#: Maximum depth of nested folders, entries listed, and bytes of a file of figures.
DEEPEST, MOST, LARGEST = 4, 1000, 32 << 20
#: Maximum runs, and comparisons, that are open at a time.
_OPEN, _COMPARED = 8, 2
#: Maximum inputs of a run that are listed.
_INPUTS = 3
#: Maximum bytes of a run's results for which the index shows its outcome.
_GLANCE = 16 << 20


@dataclass(frozen=True)
class IndexEntry:
    """Entry of the index.

    Attributes:
        key: identifies it in pages.
        kind: run, bench, tune or rank.
    """

    key: str
    kind: str
    path: Path


class _OutcomeSummary(NamedTuple):
    """Outcome of a run when it was last ``changed``; it is not read again before ``rest``."""

    changed: float
    rest: float
    facts: dict[str, Any] | None

    def holds(self, changed: float) -> bool:
        return changed == self.changed or time.monotonic() < self.rest


class RunIndex:
    """Runs, benchmarks and figures below some paths.

    Args:
        paths: run directories, folders of them, or files of figures.

    Raises:
        UsageError: a path contains none of these.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = list(paths)
        self._entries: dict[str, IndexEntry] = {}
        self._runs: OrderedDict[str, OpenRun] = OrderedDict()
        self._compared: OrderedDict[tuple[str, str], RunComparison] = OrderedDict()
        self._kinds: dict[Path, tuple[tuple[int, int], str | None]] = {}
        self._glances: dict[str, _OutcomeSummary] = {}
        self._named: dict[Path, list[str]] = {}
        self._guard = threading.RLock()
        self._comparing, self._glancing = threading.Lock(), threading.Lock()
        for path in self.paths:
            self._check(path)

    @classmethod
    def of_usual(cls, folder: Path) -> RunIndex:
        """Index a folder that may not exist yet."""
        run_index = cls(())
        run_index.paths = [folder]
        return run_index

    def _check(self, path: Path) -> None:
        name = display(path)
        if not path.exists():
            raise UsageError(f"{name}: no such file or folder")
        if path.is_dir() and (path / "manifest.json").exists():
            RunFiles(path).manifest()
        elif path.is_dir():
            try:
                next(path.iterdir(), None)
            except OSError as e:
                raise UsageError(f"{name} cannot be read: {e.strerror}") from None
        elif self._entry(path) is None:
            raise UsageError(
                f"{name} is not a run directory, a folder of runs, or figures of bench, "
                "tune or rank (--json)"
            )

    def entries(self) -> list[dict[str, Any]]:
        """Return the current entries, the newest first."""
        found: dict[str, IndexEntry] = {}
        for path in self.paths:
            for entry in self._below(path, DEEPEST):
                found[entry.key] = entry
                if len(found) >= MOST:
                    break
        with self._guard:
            self._entries |= found
        lines = sorted(map(self._line, found.values()), key=lambda line: -line["changed"])
        threading.Thread(target=self._glance, args=(lines,), daemon=True).start()
        return lines

    def named(self) -> list[str]:
        """Return the keys of the paths that are runs themselves, in their order."""
        found = (self._entry(path) for path in self.paths)
        return [entry.key for entry in found if entry is not None and entry.kind == "run"]

    def entry(self, key: str) -> IndexEntry:
        """Return the entry of a key.

        Raises:
            UsageError: it does not exist.
        """
        if key not in self._entries:
            self.entries()
        entry = self._entries.get(key)
        if entry is None:
            raise UsageError("unknown entry; it may have been removed")
        return entry

    def run(self, key: str) -> OpenRun:
        """Return an open run; beyond a limit, the least recently used one is closed.

        Raises:
            UsageError: it does not exist.
        """
        entry = self.entry(key)
        if entry.kind != "run":
            raise UsageError("not a run directory")
        with self._guard:
            run = self._runs.setdefault(key, OpenRun(entry.path))
            self._runs.move_to_end(key)
            while len(self._runs) > _OPEN:
                self._runs.popitem(last=False)
            return run

    def several(self, keys: list[str]) -> dict[str, Any]:
        """Return ``key``, mean risk and the share of each verdict of several runs.

        Large ones are read one after another: ``reading`` is the progress, 0 for those not begun.

        Raises:
            UsageError: a run does not exist or is unreadable, or there are too many.
        """
        if len(keys) > _OPEN:
            raise UsageError(f"too many runs: {len(keys)}; select at most {_OPEN}")
        lines: list[dict[str, Any]] = []
        waiting = False
        for key in keys:
            run = self.run(key)
            if waiting:
                line = {"path": display(run.path), "live": False, "reading": 0.0}
            else:
                line = run.figures()
                waiting = "reading" in line
            lines.append({"key": key, **line})
        met = {name for line in lines for name in line.get("verdicts", ())}
        return {"runs": lines, "verdicts": [v for v in get_args(Verdict) if v in met]}

    def compared(self, a: str, b: str, page: int, only: Only) -> dict[str, Any]:
        """Compare two runs: the comparison, and a page of its pairs.

        If it takes longer: ``preparing``, the completed share of the work.

        Raises:
            UsageError: they are unreadable, have not ended, or have no record in common.
        """
        comparison = self._comparison(a, b)
        found = comparison.look()
        if found is None:
            return {"preparing": comparison.share}
        diff, shown = found.diff, found.page(page, PAGE, only)
        answer = said(diff)
        return {
            "a": diff.a.model_dump(),
            "b": diff.b.model_dump(),
            "sentence": answer.sentence,
            "level": answer.level,
            "meaning": answer.meaning,
            "notes": diff.notes,
            "paired_by": diff.paired_by,
            "pairs": diff.n_pairs,
            "heads": HEADS,
            "figures": [[name, *cells] for name, cells in rows(diff.endpoints)],
            "directions": diff.n_flips,
            "page": shown.number,
            "pages": shown.pages,
            "count": shown.total,
            "records": [
                {
                    "id": pair.id,
                    "question": pair.question,
                    "direction": pair.direction,
                    "a": _side(pair.a),
                    "b": _side(pair.b),
                    "scores": pair.scores,
                }
                for pair in shown.pairs
            ],
        }

    def _comparison(self, a: str, b: str) -> RunComparison:
        runs = self.run(a), self.run(b)
        with self._guard:
            known = self._compared.get((a, b))
            if known is None or not known.holds():
                known = self._compared[a, b] = RunComparison(*runs, self._comparing)
            self._compared.move_to_end((a, b))
            while len(self._compared) > _COMPARED:
                self._compared.popitem(last=False)
            return known

    def comparison(self, a: str, b: str) -> str:
        """Return the HTML page of a comparison, as ``veridical diff --report`` writes it."""
        from veridical.diff.html import write_diff_report

        diff = self._comparison(a, b).wait().diff
        return _written(lambda to: write_diff_report(diff, to))

    def report(self, key: str) -> str:
        """Return the HTML page of an entry, as ``--report`` writes it.

        Raises:
            UsageError: it does not exist or cannot be made.
        """
        entry = self.entry(key)
        if entry.kind == "run":
            return _written(lambda to: reopen(entry.path).report(to))
        if entry.kind != "tune":
            return _written(lambda to: write_stored(entry.kind, entry.path, to))
        raise UsageError("figures of tune have no page; use the JSON file")

    def figures(self, key: str) -> dict[str, Any]:
        """Return the figures of tune: name and value of each, and its components.

        Raises:
            UsageError: the entry has no such figures.
        """
        entry = self.entry(key)
        if entry.kind != "tune":
            raise UsageError("not figures of tune")
        figures = json.loads(entry.path.read_bytes())
        honest = figures.get("honest") if kind_of(figures) == "tune" else None
        if not isinstance(honest, dict):
            raise UsageError(f"{display(entry.path)} contains no figures of tune")
        components = [c for c in honest.get("components") or [] if isinstance(c, dict)]
        return {
            "path": display(entry.path),
            "metric": str(honest.get("metric")),
            "n": str(honest.get("n")),
            "ensemble": _figure(honest.get("ensemble")),
            "components": [
                [str(c.get("name")), _figure(c.get("alone")), _figure(c.get("weight"))]
                for c in components
            ],
            "notes": [str(note) for note in figures.get("notes") or []],
        }

    def _line(self, entry: IndexEntry) -> dict[str, Any]:
        glance = self._glances.get(entry.key)
        line = {
            "key": entry.key,
            "kind": entry.kind,
            "name": display(entry.path.resolve().name),
            "path": display(entry.path),
            "inputs": self._inputs(entry) if entry.kind == "run" else [],
            "changed": _changed(entry),
            "live": False,
            "glance": None if glance is None else glance.facts,
        }
        if entry.kind == "run":
            line["live"] = is_live(entry.path)
        return line

    def _inputs(self, entry: IndexEntry) -> list[str]:
        """Return the names of the files that a run checks; cached, as they do not change."""
        known = self._named.get(entry.path)
        if known is None:
            try:
                request = RunFiles(entry.path).manifest().get("request")
                listed = request.get("inputs") if isinstance(request, dict) else None
                paths = [i.get("path") for i in listed or () if isinstance(i, dict)]
                known = [cut(display(Path(p).name)) for p in paths[:_INPUTS] if isinstance(p, str)]
                known += [f"and {len(paths) - _INPUTS:,} more"] if len(paths) > _INPUTS else []
            except (UsageError, TypeError, ValueError):
                known = []
            self._named[entry.path] = known
        return known

    def _glance(self, lines: list[dict[str, Any]]) -> None:
        """Read the outcomes of the small runs that have changed, one by one."""
        if not self._glancing.acquire(blocking=False):
            return
        try:
            for line in lines:
                known = self._glances.get(line["key"])
                if line["kind"] != "run" or (known is not None and known.holds(line["changed"])):
                    continue
                begun, found = time.monotonic(), None
                path = self._entries[line["key"]].path
                try:
                    if sum(p.stat().st_size for p in path.glob("results*.jsonl")) <= _GLANCE:
                        found = facts(reopen(path).summary())
                except (VeridicalError, OSError, ValueError) as e:
                    found = {"outcome": str(e), "records": 0, "cards": []}
                rest = time.monotonic() + REST * (time.monotonic() - begun)
                self._glances[line["key"]] = _OutcomeSummary(line["changed"], rest, found)
        finally:
            self._glancing.release()

    def _below(self, path: Path, depth: int) -> Iterator[IndexEntry]:
        found = self._entry(path)
        own = set()  # belongs to the run
        if found is not None:
            yield found
            if found.kind != "bench":
                return
            own = {BENCH_FILE, "runs"}
        if depth == 0 or not path.is_dir() or path.is_symlink():
            return
        try:
            inside = sorted(path.iterdir())
        except OSError:
            return
        for child in inside:
            if child.name not in own and (child.is_dir() or child.suffix == ".json"):
                yield from self._below(child, depth - 1)

    def _entry(self, path: Path) -> IndexEntry | None:
        kind = None
        if (path / "manifest.json").is_file() and (path / "run.lock").exists():
            kind = "run"
        elif (path / BENCH_FILE).is_file():
            kind = "bench"
        elif path.suffix == ".json" and path.is_file():
            kind = self._figures_kind(path)
        if kind is None:
            return None
        name = str(path.resolve())
        key = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        return IndexEntry(key, kind, path)

    def _figures_kind(self, path: Path) -> str | None:
        """Return the kind of figures in a JSON file, by its members; cached until it changes."""
        try:
            status = path.stat()
            stamp = status.st_size, status.st_mtime_ns
            known = self._kinds.get(path)
            if known is None or known[0] != stamp:
                content = json.loads(path.read_bytes()) if status.st_size <= LARGEST else None
                self._kinds[path] = known = stamp, kind_of(content)
        except (OSError, ValueError, RecursionError):
            return None
        return known[1]


def _figure(figure: Any) -> str:
    """Return a figure and its interval as text."""
    figure = figure if isinstance(figure, dict) else {}
    value, low, high = (figure.get(name) for name in ("value", "ci_low", "ci_high"))
    if not isinstance(value, (int, float)):
        return "–"
    known = isinstance(low, (int, float)) and isinstance(high, (int, float))
    return f"{value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if known else "")


def _side(side: FlipSide) -> dict[str, Any]:
    return side.model_dump(exclude={"file", "line"})


def _written(write: Callable[[Path], Any]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        write(path)
        return path.read_text("utf-8")


def _changed(entry: IndexEntry) -> float:
    """Return the time of an entry's last change, in seconds."""
    paths = [entry.path]
    if entry.path.is_dir():
        paths = [p for p in entry.path.glob("*.json*") if p.name != "labels.jsonl"]
    try:
        return max(p.stat().st_mtime for p in paths)
    except (OSError, ValueError):
        return 0.0
