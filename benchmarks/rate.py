"""Coverage and width of ``veridical rate``'s interval; labels that strata save.

Measured on answers that annotators or their authors labelled.

    python benchmarks/rate.py --data DATA [--draws 10000] [--out FOLDER] [--json FILE]

Each set is scored once by the default check with the small embedded NLI model, RefChecker's without
a model. ``--out`` keeps the runs, which are resumed. A draw then labels one by one as ``veridical
rate`` does, with the same functions: the next stratum by ``next_strata``, the interval by
``intervals``. Only the page is left out. With ``--width`` it ends at the first label after which
the interval is that narrow. The truth is the share of all.

Labels saved: the number of labels that a simple random draw needs for the same mean width. It is
computed by the same interval (one stratum), which shows the effect of the strata. It is also
computed by Wilson's with the finite population's correction, which is narrower and holds less
often. Both are exact: all counts by their hypergeometric chance.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import hypergeom

import veridical
from veridical.review.estimate import intervals, next_strata, strata_of
from veridical.review.items import Items
from veridical.stats.proportions import wilson

Row = dict[str, Any]
#: Answers of a set, at most, and items read of HaluEval.
MOST, ITEMS = 1_500, 800
BUDGETS = (50, 100, 200)
WIDTHS = (0.2, 0.15, 0.1)


class Population(NamedTuple):
    """Answers whose labels are all known: (n,) stratum, label and group of each."""

    name: str
    strata: np.ndarray
    wrong: np.ndarray
    group: np.ndarray

    @property
    def truth(self) -> float:
        return float(self.wrong.mean())


def begin(data: Path, *parts: str) -> list[Row]:
    """Load replies of dialogue systems with their knowledge.

    A generic reply states nothing, so it is not hallucinated.
    """
    rows = []
    for part in parts:
        with (data / "begin" / f"{part}.tsv").open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                rows.append(
                    {
                        "response": row["response"],
                        "contexts": row["knowledge"],
                        "prompt": row["message"],
                        "wrong": row["begin_label"].startswith("Not"),
                        "group": row["model_name"],
                    }
                )
    return rows


def halueval(data: Path, part: str, share: float) -> list[Row]:
    """Draw the right or the hallucinated answer of each item, ``share`` of the latter."""
    fields = {"qa": ("question", "answer"), "dialogue": ("dialogue_history", "response")}
    asked, answer = fields[part]
    draw = random.Random(0)
    rows = []
    with (data / "halueval" / f"dataset_halueval_{part}.jsonl").open(encoding="utf-8") as lines:
        # from the last fifth on, which nothing was fitted on
        for line in islice(lines, 8_000, 8_000 + ITEMS):
            item, wrong = json.loads(line), draw.random() < share
            kind = "hallucinated" if wrong else "right"
            rows.append(
                {
                    "response": item[f"{kind}_{answer}"],
                    "contexts": item["knowledge"],
                    "prompt": item[asked],
                    "wrong": wrong,
                    "group": "",
                }
            )
    return rows


def general(data: Path) -> list[Row]:
    """Load answers of ChatGPT to users, without anything to check them against."""
    with (data / "halueval" / "general_data.jsonl").open(encoding="utf-8") as lines:
        items = [json.loads(line) for line in islice(lines, MOST)]
    return [
        {
            "response": item["chatgpt_response"],
            "prompt": item["user_query"],
            "wrong": item["hallucination"] == "yes",
            "group": "",
        }
        for item in items
    ]


def refchecker(data: Path, setting: str) -> list[Row]:
    """Load answers of seven models.

    An answer is wrong if annotators found a claim that the reference does not entail. The
    references are not published with the labels. The next three models' answers to the question are
    the samples that an answer is checked against.
    """
    folder = data / "refchecker"
    wrong: dict[tuple[str, ...], bool] = defaultdict(bool)

    def key(row: Row) -> tuple[str, ...]:
        return tuple(str(row[f]) for f in ("setting", "dataset", "model", "id", "response"))

    with (folder / "claims.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            claim = json.loads(line)
            wrong[key(claim)] |= claim["human_label"] != "Entailment"
    asked: dict[str, list[Row]] = defaultdict(list)
    with (folder / "responses.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["setting"] == setting:
                asked[row["id"]].append(row)
    return [
        {
            "response": row["response"],
            "samples": [rows[(i + k) % len(rows)]["response"] for k in (1, 2, 3)],
            "wrong": wrong[key(row)],
            "group": row["model"],
        }
        for rows in asked.values()
        for i, row in enumerate(rows)
    ]


SETS: dict[str, Callable[[Path], list[Row]]] = {
    "BEGIN cmu, tc, wow dev": lambda data: begin(data, "dev_cmu", "dev_tc", "dev_wow"),
    "BEGIN wow test": lambda data: begin(data, "test_wow"),
    "RefChecker zero context": lambda data: refchecker(data, "zero_context"),
    "RefChecker noisy context": lambda data: refchecker(data, "noisy_context"),
    "RefChecker accurate context": lambda data: refchecker(data, "accurate_context"),
    "HaluEval general": general,
    "HaluEval qa, 50 % wrong": lambda data: halueval(data, "qa", 0.5),
    "HaluEval qa, 10 % wrong": lambda data: halueval(data, "qa", 0.1),
    "HaluEval qa, 3 % wrong": lambda data: halueval(data, "qa", 0.03),
    "HaluEval dialogue, 50 % wrong": lambda data: halueval(data, "dialogue", 0.5),
    "HaluEval dialogue, 10 % wrong": lambda data: halueval(data, "dialogue", 0.1),
}


def populations(data: Path, out: Path, names: list[str]) -> Iterator[Population]:
    """Yield the scored sets, with strata of the run's own risk, as the page makes them."""
    for name in names:
        rows = SETS[name](data)
        if len(rows) > MOST:
            rows = random.Random(0).sample(rows, MOST)
        start = time.perf_counter()
        folder = out / "".join(c if c.isalnum() else "_" for c in name)
        shown = [{k: v for k, v in row.items() if k != "wrong"} for row in rows]
        # against three long answers each the NLI model takes an hour here: scored without a model
        how: dict[str, Any] = {"preset": "fast"} if "RefChecker" in name else {"nli": "mini"}
        items = Items(veridical.check(shown, out=folder, **how))
        wrong = np.array([rows[row]["wrong"] for row in items.rows])
        groups = np.array([rows[row]["group"] for row in items.rows])
        seconds = time.perf_counter() - start
        print(f"{name}: {len(wrong)} answers, {seconds:.0f} s to score", flush=True)
        yield Population(
            name, strata_of(items.risks), wrong, np.unique(groups, return_inverse=True)[1]
        )


class Drawn(NamedTuple):
    """State of many independent draws.

    ``n`` and ``wrong``: (d, h) labels and hallucinated ones of each stratum. ``group_n`` and
    ``group_wrong``: (d, h, g) the same of each group there.
    """

    n: np.ndarray
    wrong: np.ndarray
    group_n: np.ndarray
    group_wrong: np.ndarray


class Drawing:
    """``draws`` people label the population at once, each by draws of their own."""

    def __init__(self, of: Population, draws: int, seed: int) -> None:
        groups, strata = int(of.group.max()) + 1, int(of.strata.max()) + 1
        self.sizes = np.bincount(of.strata, minlength=strata)
        left = np.zeros((strata, 2 * groups), dtype=np.int32)
        np.add.at(left, (of.strata, 2 * of.group + of.wrong), 1)
        self._left = np.repeat(left[None], draws, axis=0)
        self._rng = np.random.default_rng(seed)
        self._all = np.arange(draws)
        shape = (draws, strata)
        self.now = Drawn(
            *(np.zeros(shape, np.int32) for _ in range(2)),
            *(np.zeros((*shape, groups), np.int32) for _ in range(2)),
        )

    def step(self) -> None:
        """Draw one more label in each."""
        now, all_ = self.now, self._all
        h = next_strata(self.sizes, now.n, now.wrong)
        left = self._left[all_, h]
        ends = np.cumsum(left, axis=1)
        at = (self._rng.random(len(all_)) * ends[:, -1]).astype(np.int64)
        cell = (ends <= at[:, None]).sum(axis=1)
        self._left[all_, h, cell] -= 1
        wrong, group = cell % 2, cell // 2
        now.n[all_, h] += 1
        now.wrong[all_, h] += wrong
        now.group_n[all_, h, group] += 1
        now.group_wrong[all_, h, group] += wrong


class Covered(NamedTuple):
    """Share of intervals that hold the truth, their mean width, and number of labels."""

    held: float
    width: float
    labels: float
    bias: float


def covered(truth: float, rate: np.ndarray, low: np.ndarray, high: np.ndarray, n: float) -> Covered:
    slack = 1e-9  # of an interval that is a point
    held = (low <= truth + slack) & (truth <= high + slack)
    return Covered(float(held.mean()), float((high - low).mean()), n, float(rate.mean() - truth))


def groups_covered(of: Population, drawing: Drawing) -> list[tuple[Covered, int]]:
    """Return the figures, and the number of answers, of each group with at least 20 answers."""
    out = []
    for g in range(int(of.group.max()) + 1):
        mine = of.group == g
        if mine.all() or mine.sum() < 20:
            continue
        sizes = np.bincount(of.strata[mine], minlength=len(drawing.sizes))
        n, wrong = drawing.now.group_n[:, :, g], drawing.now.group_wrong[:, :, g]
        some = n.sum(axis=1) > 0
        rate, low, high, _ = intervals(sizes, n[some], wrong[some])
        truth = float(of.wrong[mine].mean())
        out.append((covered(truth, rate, low, high, float(n.sum(axis=1).mean())), int(mine.sum())))
    return out


#: Limits (low, high) of a rate, (d,) each, from hallucinated labels (d,), labels and answers.
Interval = Callable[[np.ndarray, int, int], tuple[np.ndarray, np.ndarray]]


def same_interval(k: np.ndarray, n: int, total: int) -> tuple[np.ndarray, np.ndarray]:
    _, low, high, _ = intervals(np.array([total]), np.full((len(k), 1), n), k[:, None])
    return low, high


def wilsons(k: np.ndarray, n: int, total: int) -> tuple[np.ndarray, np.ndarray]:
    ends = [wilson(hits / n, n / max(1 - n / total, 1e-9)) for hits in k.tolist()]
    return np.array(ends)[:, 0], np.array(ends)[:, 1]


class Simple(NamedTuple):
    """A simple random draw: how often its interval holds the truth, and its mean width."""

    held: float
    width: float


def simple(of: Population, n: int, interval: Interval) -> Simple:
    total, wrong = len(of.wrong), int(of.wrong.sum())
    k = np.arange(max(0, n + wrong - total), min(n, wrong) + 1)
    chance = hypergeom.pmf(k, total, wrong, n)
    k, chance = k[chance > 1e-9], chance[chance > 1e-9]
    low, high = interval(k, n, total)
    held = (low <= of.truth + 1e-9) & (of.truth <= high + 1e-9)
    return Simple(float(chance @ held), float(chance @ (high - low)))


def needs(of: Population, width: float, interval: Interval) -> int:
    """Find the labels of a simple random draw whose interval is no wider on average."""
    least, most = 2, len(of.wrong)
    while least < most:
        middle = (least + most) // 2
        if simple(of, middle, interval).width <= width:
            most = middle
        else:
            least = middle + 1
    return least


def measured(of: Population, draws: int) -> dict[str, Any]:
    """Compute all figures of a set."""
    drawing = Drawing(of, draws, seed=0)
    ended = {w: np.full((4, draws), np.nan) for w in WIDTHS}
    found: dict[str, Any] = {"set": of.name, "answers": len(of.wrong), "rate": of.truth}
    found["by_stratum"] = [float(of.wrong[of.strata == h].mean()) for h in np.unique(of.strata)]
    found["budgets"], found["widths"] = [], []
    for n in range(1, len(of.wrong) + 1):
        drawing.step()
        rate, low, high, _ = intervals(drawing.sizes, drawing.now.n, drawing.now.wrong)
        for width, ends in ended.items():
            now = np.isnan(ends[0]) & (high - low <= width)
            ends[:, now] = np.stack([rate, low, high, np.full(draws, float(n))])[:, now]
        if n in BUDGETS:
            whole = covered(of.truth, rate, low, high, n)
            plain, other = (simple(of, n, i) for i in (same_interval, wilsons))
            groups = groups_covered(of, drawing)
            found["budgets"].append(
                whole._asdict()
                | {
                    "needs": needs(of, whole.width, same_interval),
                    "needs_wilson": needs(of, whole.width, wilsons),
                    "simple_held": plain.held,
                    "wilson_held": other.held,
                    "groups": [g._asdict() | {"answers": size} for g, size in groups],
                }
            )
        if n >= max(BUDGETS) and not any(np.isnan(ends).any() for ends in ended.values()):
            break
    for width, (rate, low, high, labels) in ended.items():
        line = covered(of.truth, rate, low, high, float(labels.mean()))._asdict()
        found["widths"].append(line | {"asked": width, "needs": needs(of, width, same_interval)})
    return found


def percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}"


def table(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "\n## Coverage and labels saved\n"
    yield (
        "| set | answers | rate % | by stratum % | labels | holds % | mean width | bias "
        "| simple draw needs | saved % | simple holds % | Wilson needs | Wilson holds % |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for f in found:
        strata = " ".join(percent(s, 0) for s in f["by_stratum"])
        for i, b in enumerate(f["budgets"]):
            head = (f["set"], f["answers"], percent(f["rate"]), strata) if i == 0 else ("",) * 4
            cells = (
                *(*head, b["labels"], percent(b["held"], 2), percent(b["width"])),
                *(f"{100 * b['bias']:+.2f}", b["needs"], percent(1 - b["labels"] / b["needs"], 0)),
                *(percent(b["simple_held"], 2), b["needs_wilson"], percent(b["wilson_held"], 2)),
            )
            yield f"| {' | '.join(map(str, cells))} |"
    yield "\n## Ending as soon as the interval is narrow enough\n"
    yield "| set | --width | holds % | mean labels | simple draw needs | saved % |"
    yield "|---|---|---|---|---|---|"
    for f in found:
        for w in f["widths"]:
            saved = percent(1 - w["labels"] / w["needs"], 0)
            yield (
                f"| {f['set']} | {w['asked']} | {percent(w['held'], 2)} | {w['labels']:.0f} "
                f"| {w['needs']} | {saved} |"
            )
    yield "\n## Groups, of draws of all\n"
    yield "| set | labels | groups | labels of one | holds %, least and mean | mean width |"
    yield "|---|---|---|---|---|---|"
    for f in found:
        for b in f["budgets"]:
            groups = b["groups"]
            if not groups:
                continue
            held, width, of_one = ([g[k] for g in groups] for k in ("held", "width", "labels"))
            yield (
                f"| {f['set']} | {b['labels']} | {len(groups)} | {min(of_one):.0f} to "
                f"{max(of_one):.0f} | {percent(min(held), 2)}, {percent(float(np.mean(held)), 2)} "
                f"| {percent(float(np.mean(width)))} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--sets", help="parts of the names of sets, comma-separated; else all")
    parser.add_argument("--out", type=Path, help="folder of the scored runs, used again")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = [part.strip() for part in (options.sets or "").split(",")]
    names = [name for name in SETS if any(part in name for part in wanted)]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for population in populations(options.data, options.out or Path(folder), names):
            start = time.perf_counter()
            found.append(measured(population, options.draws))
            seconds = time.perf_counter() - start
            print(f"  {options.draws:,} draws, {seconds:.0f} s", flush=True)
    print("\n".join(table(found)))
    least = min(b["held"] for f in found for b in f["budgets"])
    print(f"\nthe least: holds the truth in {percent(least, 2)} % of draws")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
