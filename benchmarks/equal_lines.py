"""Result lines of two checkouts, compared to the byte except for signatures.

    python benchmarks/equal_lines.py BEFORE AFTER --data DATA [--share .5]

Each checkout scores the same answers to sources, references and samples, in float32 and without a
store. All are scored by the default and by ``--preset fast``, some by ``--preset all``. The texts
by which each result is explained are compared too. Exit code 1 if one differs; the first of each
part is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

Row = dict[str, Any]
_SIGNATURE = re.compile(r'"signature":"[^"]*"')
#: Run by the package of a checkout: the data, the share and the file to write.
_CODE = """
import sys; from pathlib import Path; import equal_lines
equal_lines.write(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
"""


def answers(path: Path) -> Iterator[Row]:
    """Yield records of rows that may have a right and a wrong answer."""
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        known = {k: row[k] for k in ("contexts", "reference", "samples") if k in row}
        for key in ("response", "answer", "right", "wrong"):
            if isinstance(row.get(key), str):
                yield {"prompt": row.get("question"), **known, "response": row[key]}


def halueval(path: Path) -> Iterator[Row]:
    """Yield records of HaluEval's questions."""
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            for key in ("right_answer", "hallucinated_answer"):
                given = {"prompt": row["question"], "contexts": [row["knowledge"]]}
                yield {**given, "response": row[key]}


def wikibio(path: Path) -> Iterator[Row]:
    """Yield records of WikiBio-GPT3, with three samples each."""
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield {"response": row["gpt3_text"], "samples": row["gpt3_text_samples"][:3]}


def parts(data: Path, share: float) -> Iterator[tuple[str, str, list[Row]]]:
    """Name, preset and records of each part."""
    sets = {
        "cases": (answers(data / "cases" / "dev.jsonl"), 800),
        "plain": (answers(data / "plain" / "dev.jsonl"), 400),
        "forms": (answers(data / "forms" / "dev.jsonl"), 60),
        "halueval": (halueval(data / "halueval" / "dataset_halueval_qa.jsonl"), 300),
        "wikibio": (wikibio(data / "wikibio_gpt3" / "wikibio_gpt3.jsonl"), 10),
    }
    for name, (rows, most) in sets.items():
        taken = list(islice(rows, round(most * share)))
        yield name, "auto", taken
        yield name, "fast", taken
        if name == "plain":
            yield name, "all", taken[:: max(1, len(taken) // 20)]


def write(data: Path, share: float, out: Path) -> None:
    """Score the parts with the package that is on the path."""
    import veridical

    with out.open("w", encoding="utf-8") as file:
        for name, preset, rows in parts(data, share):
            results = veridical.check(
                rows, preset=preset, store=None, nli="mini", precision="exact"
            )
            for line, result in zip(results.lines(), results, strict=True):
                text = _SIGNATURE.sub('"signature":""', line.decode())
                explained = result.explain() + result._repr_html_()
                file.write(json.dumps([name, preset, text, explained]) + "\n")


def lines_of(checkout: Path, data: Path, share: float) -> list[list[str]]:
    """Score the parts by the package of a checkout."""
    packages = checkout / "packages" / "veridical-lab"
    paths = Path(__file__).parent, checkout / "src", packages / "src"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "lines.jsonl")
        subprocess.run(
            [sys.executable, "-c", _CODE, str(data.resolve()), str(share), str(out)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(str(p.resolve()) for p in paths)},
            cwd=folder,
            check=True,
        )
        return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="share of the records")
    chosen = parser.parse_args()
    found = [lines_of(c, chosen.data, chosen.share) for c in (chosen.before, chosen.after)]
    differing = 0
    shown = set()
    for before, after in zip(*found, strict=True):
        if before != after:
            differing += 1
            if (part := tuple(before[:2])) not in shown:
                print(*part, *before[2:], *after[2:], sep="\n")
                shown.add(part)
    print(f"{len(found[0]) - differing} of {len(found[0])} result lines are equal")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
