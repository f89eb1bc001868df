"""Figures that a change of the code must not move.

They are those of every record, and of whole data sets.

    python benchmarks/figures.py --data DATA --out before.json      # with the old code's Python
    python benchmarks/figures.py --data DATA --compare before.json  # with the new code's

Scores are ``ngram(counting=paper)`` on WikiBio, K-F1 on BEGIN, ``ensemble`` on 60 passages of
WikiBio with five samples each, and ``claims`` on BEGIN's cmu/dev. All are computed by the command
line of the ``veridical`` that this Python imports. Prints JSON: the figures of ``bench``, or the
largest difference from the file of another version. Exit code 1: a number moved by more than 1e-9.
Numbers of encoders are float32. Their last digits depend on the other texts of a batch, thus on the
load of the machine. Two versions that compute the same differed by 6e-10.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOLERANCE = 1e-9
WIKIBIO = "wikibio_gpt3/wikibio_gpt3.jsonl"
BEGIN = ("begin/dev_cmu.tsv", "begin/dev_tc.tsv", "begin/dev_wow.tsv", "begin/test_wow.tsv")


@dataclass(frozen=True)
class Part:
    """A scorer on a data set: the files that ``check`` reads, and further options of ``bench``."""

    scorer: str
    files: tuple[str, ...]
    reader: str
    bench: tuple[str, ...]
    check: tuple[str, ...] = ()


PARTS = {
    "ngram on WikiBio": Part(
        "ngram(n=1,stat=max,counting=paper)", (WIKIBIO,), "wikibio", ("wikibio",)
    ),
    "K-F1 on BEGIN": Part("knowledge_f1", BEGIN, "begin", ("begin",)),
    "ensemble on 60 passages of WikiBio": Part(
        *("ensemble", (WIKIBIO,), "wikibio"),
        bench=("wikibio", "--limit", "60", "--samples", "5"),
        check=("--limit", "60", "--samples", "5"),
    ),
    "claims on BEGIN cmu/dev": Part("claims", BEGIN[:1], "begin", ("begin", "--split", "cmu/dev")),
}


def run(folder: Path, *arguments: str) -> str:
    """Standard output of a command of ``veridical``."""
    command = [sys.executable, "-m", "veridical", *arguments, "--json", "-"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def records(lines: str) -> list[dict[str, Any]]:
    """Return the numbers of result lines: each record's scores and their units."""
    rows = []
    for line in lines.splitlines():
        result = json.loads(line)
        scores = {
            name: {
                "risk": score["risk"],
                "raw": score["raw"],
                "status": score["status"],
                "units": [
                    (u["start"], u["end"], u["risk"], u["raw"], u["label"]) for u in score["units"]
                ],
            }
            for name, score in result["scores"].items()
        }
        rows.append({"id": result["id"], "risk": result["risk"], "by": result["by"], **scores})
    return rows


def measured(part: Part, data: Path, folder: Path) -> dict[str, Any]:
    """Collect the figures of ``check`` for every record, and those of ``bench``."""
    start = time.perf_counter()
    files = [str(data / name) for name in part.files]
    scored = run(
        *(folder, "check", *files, "--reader", part.reader, "--scorers", part.scorer),
        *part.check,
    )
    source = data / part.files[0]
    bench = run(
        *(folder, "bench", *part.bench, "--data", str(source.parent), "--scorers", part.scorer),
        *("--bootstrap", "200"),
    )
    figures = {
        f"{row['split']}: {row['scorer']}: {row['metric']}": row["value"]
        for row in json.loads(bench)["rows"]
    }
    seconds = round(time.perf_counter() - start, 1)
    return {"figures": figures, "records": records(scored), "seconds": seconds}


def numbers(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf of JSON with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{place}/{key}")
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from numbers(item, f"{place}/{i}")
    else:
        yield place, value


def difference(old: Any, new: Any) -> dict[str, Any]:
    """Find the largest difference of the numbers, and its place; other values must be equal."""
    before, after = dict(numbers(old)), dict(numbers(json.loads(json.dumps(new))))
    largest, where, over, unequal = 0.0, None, 0, sorted(before.keys() ^ after.keys())
    for place in before.keys() & after.keys():
        a, b = before[place], after[place]
        if isinstance(a, int | float) and isinstance(b, int | float):
            over += abs(a - b) > TOLERANCE
            if abs(a - b) > largest:
                largest, where = abs(a - b), place
        elif a != b:
            unequal.append(place)
    return {
        "compared": len(before.keys() & after.keys()),
        "largest_difference": largest,
        "at": where,
        "over_tolerance": over,
        "unequal": unequal[:20],
        "moved": bool(over or unequal),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("--out", type=Path, help="file for the numbers of every record")
    parser.add_argument("--compare", type=Path, help="such a file, of another version")
    parser.add_argument("--part", choices=list(PARTS), action="append", help="default: all")
    options = parser.parse_args()
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.part or PARTS:
            made[name] = measured(PARTS[name], options.data.resolve(), Path(folder))
            print(f"{name}: {made[name]['seconds']} s", file=sys.stderr)
    if options.out:
        options.out.write_text(json.dumps(made), encoding="utf-8")
    if not options.compare:
        shown = {name: {k: v for k, v in m.items() if k != "records"} for name, m in made.items()}
        print(json.dumps(shown, indent=1))
        return 0
    before = json.loads(options.compare.read_text("utf-8"))
    compared = {
        name: difference(
            *({k: m[k] for k in ("figures", "records")} for m in (before[name], made[name]))
        )
        for name in made
    }
    print(json.dumps(compared, indent=1))
    return int(any(part["moved"] for part in compared.values()))


if __name__ == "__main__":
    sys.exit(main())
