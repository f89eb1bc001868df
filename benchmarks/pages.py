"""Times of ``veridical review``, ``rate`` and ``view`` with 100 000 records.

    python benchmarks/pages.py [--records 100000] [--out FOLDER] [--part review,rate,view]

Two runs of ``--records`` are made from 240 answers that the default check has scored with the small
embedded NLI model. Each record repeats one of them under an id and a question of its own. Its
result line is the answer's own, sealed as a run's are. In the second run every seventh answer is
another one. ``--out`` keeps the runs, which are used again.

Each command then runs as a process of its own. The requests of its page are sent by HTTP, in turn.
All times are seconds of the wall clock on one machine; memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import veridical
from veridical.api import reopen
from veridical.core.records import Record
from veridical.files.rundir import RunDirectory, Stored
from veridical.io.source import open_source

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

from review_pages import Served, served

CITIES = ("Paris", "Lisbon", "Rome", "Oslo", "Lima", "Quito", "Accra", "Doha")
ANSWERS = 240
LABELLED = 100  # answers that are labelled before the times are taken again


def answers() -> list[dict[str, Any]]:
    """Right and wrong answers; the second sentence of every third is wrong."""
    out = []
    for i in range(ANSWERS):
        city, rivers = CITIES[i % len(CITIES)], i // len(CITIES)
        stated = rivers + 3 if i % 3 == 0 else rivers
        text = f"{city} is a city in the south. It has {stated} rivers."
        source = f"{city} is a city in the south. It has {rivers} rivers. It is old."
        out.append({"response": text, "contexts": [source], "model": ("small", "large")[i % 2]})
    return out


def grown(folder: Path, name: str, count: int, answer_of: Callable[[int], int]) -> Path:
    """Make a run of ``count`` records that repeat the answers of a small one, unless it exists."""
    out = folder / f"{name}-{count}"
    if out.exists():
        return out
    given = answers()
    data = folder / f"{name}-{count}.jsonl"
    with data.open("w", encoding="utf-8") as file:
        for i in range(count):
            row = {"id": f"q{i}", "prompt": f"What is to be known, case {i}?"}
            file.write(json.dumps({**row, **given[answer_of(i)]}) + "\n")
    small = folder / "small"
    if not small.exists():
        rows = folder / "small.jsonl"
        rows.write_text("".join(json.dumps(row) + "\n" for row in given), "utf-8")
        veridical.check(rows, nli="mini", store=None, processes=0, out=small)
    lines = [json.loads(line) for line in reopen(small).lines()]
    manifest = json.loads((small / "manifest.json").read_text())
    source = open_source([str(data)])
    directory = RunDirectory(
        out,
        manifest["identity"] | {"inputs": source.fingerprint()},
        manifest["request"] | {"inputs": source.describe(), "run": uuid.uuid4().hex},
    )
    try:
        for record in source.rows():
            assert isinstance(record, Record)
            line = {**lines[answer_of(record.row)], "id": record.id, "row": record.row}
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            directory.adopt(Stored(record.row, record.digest(), text.encode("utf-8")))
    finally:
        directory.close()
    return out


class Asking:
    """Requests to a page under way; each is timed and printed."""

    def __init__(self, page: Served) -> None:
        self._page = page
        headers = {"authorization": f"Bearer {page.token()}"}
        self._http = httpx.Client(base_url=page.url, headers=headers, timeout=600)
        self.slowest = 0.0

    def get(self, path: str, **params: Any) -> Any:
        return self._timed("GET", path, params=params)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._timed("POST", path, json=body)

    def _timed(self, method: str, path: str, **more: Any) -> Any:
        begun = time.perf_counter()
        answer = self._http.request(method, path, **more)
        self.took = time.perf_counter() - begun
        self.slowest = max(self.slowest, self.took)
        answer.raise_for_status()
        return answer.json()

    def processor(self) -> float:
        """Read the processor time of the process in seconds."""
        fields = Path(f"/proc/{self._page.server.process.pid}/stat").read_text().split(") ")[1]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Peak of the process in MB."""
        status = Path(f"/proc/{self._page.server.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024


def say(what: str, seconds: float) -> None:
    print(f"  {what:58} {seconds:8.3f} s", flush=True)


@contextmanager
def opened(*arguments: str, cwd: Path) -> Iterator[Asking]:
    begun = time.perf_counter()
    with served(*arguments, cwd=cwd, patience=600) as page:
        print(f"veridical {arguments[0]}", flush=True)
        asking = Asking(page)
        say("until its page answers", time.perf_counter() - begun)
        say("processor time until then", asking.processor())
        yield asking
        print(f"  {'peak memory':58} {asking.memory():8.0f} MB", flush=True)


def look(asking: Asking, when: str) -> None:
    """Send the requests of a review's page."""
    asking.get("/api/me")
    say(f"who one is, {when}", asking.took)
    for only in ("all", "open", "done"):
        pages = asking.get("/api/queue", only=only, page=0)["pages"]
        say(f"first page of the queue ({only}), {when}", asking.took)
        asking.get("/api/queue", only=only, page=pages - 1)
        say(f"last page of the queue ({only}), {when}", asking.took)


def label(asking: Asking, count: int, when: str) -> None:
    """Label ``count`` answers as the page does."""
    took: dict[str, list[float]] = {"the next answer": [], "a label": [], "done": []}
    after: dict[str, Any] = {}
    for n in range(count):
        answer = asking.get("/api/next", **after)["answer"]
        took["the next answer"].append(asking.took)
        for unit in range(answer["asked"]):
            named = ("supported", "contradicted")[n % 5 == 0]
            asking.post("/api/label", {"row": answer["row"], "unit": unit, "label": named})
            took["a label"].append(asking.took)
        asking.post("/api/done", {"row": answer["row"]})
        took["done"].append(asking.took)
        after = {"after": answer["row"]}
    for what, seconds in took.items():
        say(f"{what}, the slowest of {len(seconds)}, {when}", max(seconds))


def review(run: Path) -> None:
    for order in ("mixed", "neyman"):
        (run / "labels.jsonl").unlink(missing_ok=True)
        with opened("review", run.name, "--order", order, cwd=run.parent) as asking:
            print(f"  --order {order}")
            look(asking, "no label")
            label(asking, LABELLED, order)
            look(asking, f"{LABELLED} answers labelled")
            asking.get("/api/agreement")
            say("the agreement", asking.took)


def rate(run: Path) -> None:
    (run / "labels.jsonl").unlink(missing_ok=True)
    with opened("rate", run.name, "--budget", str(10 * LABELLED), cwd=run.parent) as asking:
        label(asking, LABELLED, "with an estimate")
        asking.get("/api/estimate")
        say("the estimate", asking.took)
    (run / "labels.jsonl").unlink(missing_ok=True)


def ready(asking: Asking, key: str) -> None:
    """Wait as the page does until a run is read."""
    begun = time.perf_counter()
    asking.slowest = 0.0
    while "reading" in asking.get("/api/run", key=key):
        time.sleep(0.2)
    say("until a run is read", time.perf_counter() - begun)
    say("processor time until then", asking.processor())
    say("a look at how far it is, the slowest", asking.slowest)


def view(first: Path, second: Path) -> None:
    with opened("view", first.name, second.name, cwd=first.parent) as asking:
        index = asking.get("/api/index")
        say("the index", asking.took)
        a, b = index["named"]
        ready(asking, a)
        for order in ("risk", "row"):
            pages = asking.get("/api/records", key=a, order=order)["pages"]
            say(f"first page of records by {order}", asking.took)
            asking.get("/api/records", key=a, order=order, page=pages - 1)
            say(f"last page of records by {order}", asking.took)
        asking.get("/api/records", key=a, verdict="contradicted")
        say("one verdict", asking.took)
        asking.get("/api/records", key=a, find="case 9999")
        say("those that hold a text", asking.took)
        asking.get("/api/record", key=a, row=len(CITIES))
        say("a record", asking.took)
        begun, asking.slowest = time.perf_counter(), 0.0
        while "preparing" in (reply := asking.get("/api/compare", a=a, b=b)):
            time.sleep(0.2)
        say("until the comparison is there", time.perf_counter() - begun)
        say("processor time until then", asking.processor())
        say("a look at how far it is, the slowest", asking.slowest)
        asking.get("/api/compare", a=a, b=b, page=reply["pages"] - 1)
        say("its last page", asking.took)
        for only in ("all", "worse", "risk"):
            asking.get("/api/compare", a=a, b=b, only=only)
            say(f"its first page ({only})", asking.took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", default="review,rate,view")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        begun = time.perf_counter()
        first = grown(folder, "first", chosen.records, lambda i: i % ANSWERS)
        second = grown(folder, "second", chosen.records, lambda i: (i + (i % 7 == 0)) % ANSWERS)
        size = (first / "results.jsonl").stat().st_size >> 20
        print(f"{chosen.records:,} records, results of {size:,} MB a run, made in ", end="")
        print(f"{time.perf_counter() - begun:.0f} s")
        parts = {
            "review": lambda: review(first),
            "rate": lambda: rate(first),
            "view": lambda: view(first, second),
        }
        for name in chosen.part.split(","):
            parts[name]()


if __name__ == "__main__":
    main()
