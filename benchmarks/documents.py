"""The default on claims and summaries against documents: time, tokens, memory, verdicts.

    python benchmarks/documents.py --data DATA/grounded [--before CHECKOUT] [--answers 40]
        [--torch PYTHON] [--many 200] [--growth] [--serve 40]

The first ``--answers`` rows of each of ``--parts`` are checked by the checkout ``--before`` (exact
and in 8 bits) and by this one. Each runs in a process of its own, twice by turns, and nothing is
stored; of the two runs the quicker counts. Verdicts and risks are compared with those of the first.
SummaC-ZS (``summac_zs``) reads the same answers by the same NLI model.

``--torch`` names an interpreter with torch and transformers. It times the forwards of MiniCheck
(Flan-T5-large, pieces of 500 words by sentences) and HHEM (T5-base, the whole) on 8 of the answers.
Their weights are random, as time does not depend on them.

``--many`` instead checks this many summaries of FRANK, each by five contexts of 200 words. These
are the beginnings of its own document and of four others. ``--growth`` instead takes one document
of growing length, and answers of growing length, in this checkout, and prints milliseconds of
processor for each token. ``--serve`` instead sends requests to a server of each checkout, by turns.
A request has three claims of FactCC about one article, and the first 1 000 words of the article as
evidence.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

from servers import Running, running

#: News, meetings and web pages: claims and summaries of long texts.
DOCUMENTS = ["factcc_dev", "frank_dev", "summedits_qmsumm_train", "wice_tokens_train"]
SUMMAC = "SummaC-ZS"
ROOT = Path(__file__).parents[1]
PEERS = ROOT / "benchmarks" / "peers" / "document_checkers.py"
#: Code of a process: read rows, check them, print time, tokens and memory.
CHECK = """
import json, resource, sys, time
import veridical
rows, precision, scorers = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3] or None
with veridical.Engine(precision=precision, processes=0, store=None) as engine:
    list(veridical.check(rows[:1], scorers, engine=engine))
    before = sum(w.tokens for w in engine.work().values())
    wall, spent = time.perf_counter(), time.process_time()
    found = list(veridical.check(rows, scorers, engine=engine))
    wall, spent = time.perf_counter() - wall, time.process_time() - spent
    tokens = sum(w.tokens for w in engine.work().values()) - before
print(json.dumps({
    "wall": wall, "spent": spent, "tokens": tokens,
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "risks": [r.risk for r in found], "verdicts": [r.verdict for r in found],
}))
"""
Run = dict[str, Any]


def rows_of(data: Path, parts: Sequence[str], answers: int) -> list[dict[str, Any]]:
    """Read the first rows of each part."""
    rows = []
    for part in parts:
        with (data / f"{part}.jsonl").open() as lines:
            rows += [json.loads(line) for line in islice(lines, answers)]
    return rows


def many_of(data: Path, answers: int) -> list[dict[str, Any]]:
    """Make answers with five contexts of 200 words that differ from those of the others."""
    with (data / "frank_dev.jsonl").open() as lines:
        rows = [json.loads(line) for line in lines]
    rows = list({row["contexts"][0]: row for row in rows}.values())
    begins = [" ".join(row["contexts"][0].split()[:200]) for row in rows]
    many = []
    for i in range(answers):
        place, turn = i % len(rows), 1 + i // len(rows)
        others = [begins[(place + turn * n) % len(begins)] for n in range(1, 5)]
        many.append({**rows[place], "id": str(i), "contexts": [*others, begins[place]]})
    return many


def code_of(source: Path) -> str:
    """Return the PYTHONPATH of a checkout."""
    return os.pathsep.join([str(source / "src"), str(source / "packages/veridical-lab/src")])


def run(source: Path, rows: Path, precision: str, scorers: str = "") -> Run:
    """Run ``scorers``, by default the package's default, by the code in ``source``."""
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(rows), precision, scorers],
        env={**os.environ, "PYTHONPATH": code_of(source)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: Run = json.loads(done.stdout.splitlines()[-1])
    return found


def area(labels: list[int], risks: list[float | None]) -> float:
    """AUROC of the risks; a missing risk counts as 0.5. NaN if all labels are equal."""
    values = np.array([0.5 if r is None else r for r in risks])
    wrong, right = values[np.array(labels) == 1], values[np.array(labels) == 0]
    if not len(wrong) or not len(right):
        return math.nan
    above = (wrong[:, None] > right).mean() + (wrong[:, None] == right).mean() / 2
    return float(above)


def compared(rows: list[dict[str, Any]], before: Path | None, scratch: Path) -> None:
    """Print the table of ways."""
    path = scratch / "rows.json"
    path.write_text(json.dumps(rows))
    ways = [
        ("now", ROOT, "auto", ""),
        ("now, exact", ROOT, "exact", ""),
        (SUMMAC, ROOT, "auto", "summac_zs"),
    ]
    if before is not None:
        earlier = [("before, exact", before, "exact", ""), ("before, 8-bit", before, "auto", "")]
        ways = [*earlier, *ways]
    runs: dict[str, Run] = {}
    for _ in range(2):
        for name, source, precision, scorers in ways:
            one = run(source, path, precision, scorers)
            if name not in runs or one["wall"] < runs[name]["wall"]:
                runs[name] = one
    base = next(iter(runs.values()))
    lengths = [sum(map(len, row["contexts"])) for row in rows]
    print(f"{len(rows)} answers, {np.median(lengths):.0f} characters of sources in the median")
    labels = [row["label"] for row in rows]
    print("| | seconds | times as fast | tokens an answer | MB | same verdict | AUROC |")
    print("|---|---|---|---|---|---|---|")
    for name, one in runs.items():
        agree = np.mean([a == b for a, b in zip(one["verdicts"], base["verdicts"], strict=True)])
        same = "" if name == SUMMAC else f"{agree:.1%}"
        print(
            f"| {name} | {one['wall']:.1f} | {base['wall'] / one['wall']:.2f} | "
            f"{one['tokens'] / len(rows):.0f} | {one['memory']:.0f} | {same} | "
            f"{area(labels, one['risks']):.3f} |"
        )


def growth(scratch: Path) -> None:
    """Print what grows with the length of document and answer."""
    print("| document, characters | statements | tokens read | ms of processor a token read |")
    print("|---|---|---|---|")
    for length, count in [
        *((n, 3) for n in (100, 1_000, 10_000, 100_000)),
        *((10_000, n) for n in (1, 10, 50, 200)),
    ]:
        facts = [
            f"Engine {i} of the works was sold to Firm {i * 7} in {1800 + i % 200}."
            for i in range(2000)
        ]
        said = [
            f"Firm {i * 35} bought engine {i * 5} in {1800 + i * 5 % 200}." for i in range(count)
        ]
        row = {"response": " ".join(said), "contexts": [" ".join(facts)[:length]]}
        path = scratch / "one.json"
        path.write_text(json.dumps([row]))
        one = run(ROOT, path, "auto")
        each = 1000 * one["spent"] / max(one["tokens"], 1)
        print(f"| {length} | {count} | {one['tokens']} | {each:.2f} |")


def asked_of_a_server(data: Path, count: int) -> list[dict[str, Any]]:
    """Return records of three claims about an article of 800 words or more, cut to 1 000."""
    claims: dict[str, list[str]] = {}
    with (data / "factcc_dev.jsonl").open() as lines:
        for row in map(json.loads, lines):
            claims.setdefault(row["contexts"][0], []).append(row["response"].rstrip(" .") + ".")
    records = [
        {"response": " ".join(list(dict.fromkeys(said))[:3]), "contexts": [" ".join(words[:1000])]}
        for article, said in claims.items()
        if len(words := article.split()) >= 800 and len(set(said)) >= 3
    ]
    return records[:count]


def processor_seconds(server: Running) -> float:
    """Return the processor seconds of a server's process (Linux)."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def served(data: Path, count: int, before: Path | None) -> None:
    """Print how long a warm server takes for one request at a time."""
    records = asked_of_a_server(data, count + 5)
    sources = {"now": ROOT} if before is None else {"before": before, "now": ROOT}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {}
        for name, source in sources.items():
            arguments = ["serve", "--port", "0"]
            servers[name] = stack.enter_context(
                running(arguments, cwd=scratch, env={"PYTHONPATH": code_of(source)}, ready=True)
            )
        client = stack.enter_context(httpx.Client(timeout=60))
        seconds: dict[str, list[float]] = {name: [] for name in servers}
        spent = dict.fromkeys(servers, 0.0)
        verdicts: dict[str, list[str]] = {name: [] for name in servers}
        for i, record in enumerate(records):
            turn = list(servers.items())
            for name, server in turn if i % 2 else turn[::-1]:
                begun, work = time.perf_counter(), processor_seconds(server)
                answer = client.post(f"{server.url}/v1/check", json={"records": [record]})
                answer.raise_for_status()
                verdicts[name].append(answer.json()["results"][0]["verdict"])
                if i >= 5:
                    seconds[name].append(time.perf_counter() - begun)
                    spent[name] += processor_seconds(server) - work
    words = np.mean([len(r["contexts"][0].split()) for r in records])
    print(f"{len(records) - 5} requests, {words:.0f} words of evidence in the mean")
    print("| | ms, median | 90 % | ms of processor, mean | same verdict |")
    print("|---|---|---|---|---|")
    first = next(iter(verdicts.values()))
    for name, taken in seconds.items():
        same = np.mean([a == b for a, b in zip(verdicts[name], first, strict=True)])
        middle, high = 1000 * np.percentile(taken, [50, 90])
        work = 1000 * spent[name] / len(taken)
        print(f"| {name} | {middle:.0f} | {high:.0f} | {work:.0f} | {same:.0%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    parser.add_argument("--parts", nargs="+", default=DOCUMENTS)
    parser.add_argument("--answers", type=int, default=40, help="answers of each part")
    parser.add_argument("--torch", type=Path, help="an interpreter with torch and transformers")
    parser.add_argument("--many", type=int, default=0, help="answers with five contexts each")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--serve", type=int, default=0, help="requests to a server")
    parser.add_argument("--scratch", type=Path, default=Path("documents-benchmark"))
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    if args.growth:
        growth(args.scratch)
        return
    if args.serve:
        served(args.data, args.serve, args.before)
        return
    if args.many:
        compared(many_of(args.data, args.many), args.before, args.scratch)
        return
    compared(rows_of(args.data, args.parts, args.answers), args.before, args.scratch)
    if args.torch is not None:
        path = args.scratch / "few.json"
        path.write_text(json.dumps(rows_of(args.data, args.parts, 2)))
        subprocess.run([args.torch, PEERS, path], check=True)


if __name__ == "__main__":
    main()
