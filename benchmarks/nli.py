"""NLI scoring compared with published packages and a bare loop.

    python benchmarks/nli.py --data DATA/wikibio_gpt3 [--part selfcheck,uqlm,bare,gpu,shared,warm]
                             [--peers FOLDER] [--minilm FOLDER] [--checkpoint FOLDER] ...

``selfcheck``  SelfCheckNLI of selfcheckgpt, pair by pair, against ``selfcheck_nli(order=code)``,
               with float32 and with 8-bit weights.
``uqlm``       the four default scorers of uqlm's BlackBoxUQ (the paper's and the newest version)
               against ours in one run, also with 8-bit weights.
``bare``       the engine against an ideally packed ONNX Runtime loop with nothing else to do.
``gpu``        pairs one by one against batches on a GPU, and the share of its measured ceiling.
``shared``     pairs that all NLI scorers send through the model together: their union.
``warm``       seconds to score all passages again from a store.

Both sides have the same weights (see peers/checkpoints.py: random ones unless --checkpoint names a
trained model), the same texts, float32 and as many threads. Loading models and splitting sentences
is not timed. The sides take turns on parts of the passages, so that other work on the machine hits
both alike; ratios are of summed times. Exit status 1 when scores differ where definitions agree.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from peers.bare_loop import bare_loop
from peers.environments import HERE, Peer, Reply, interpreter

import veridical
import veridical.models
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.engine.engine import Engine
from veridical.errors import ModelError
from veridical.io import open_source
from veridical.models.catalog import EMBEDDED

TOLERANCE = 1e-4
SELFCHECK = "selfcheck_nli(order=code)"
BLACK_BOX = {  # by uqlm's names
    "semantic_negentropy": "semantic_negentropy(cluster=either)",
    "noncontradiction": "noncontradiction",
    "exact_match": "exact_match",
    "cosine_sim": "cosine(rescale=true)",
}
WARM = (
    "selfcheck_nli, noncontradiction, entailment, semantic_entropy, semantic_negentropy, "
    "semantic_sets, eigv, degree, eccentricity, kle"
)
_HEADS = {"two": "entailment,contradiction", "three": "contradiction,neutral,entailment"}
SAMPLES = 5  # of the black-box and warm parts
SMALL = "veridical int8"
Row = dict[str, Any]
Way = Callable[[list[int]], Reply]  # passages by number; found: one entry a passage


@dataclass(frozen=True)
class Figure:
    """One line of the table. ``met`` is None where there is no aim."""

    part: str
    name: str
    value: float
    unit: str
    aim: str = ""
    met: bool | None = None


@dataclass
class Benchmark:
    """Options, texts and what has been found so far."""

    options: argparse.Namespace
    figures: list[Figure] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(
        self, part: str, name: str, value: float, unit: str, *, least: float | None = None
    ) -> None:
        """Note a figure and print it; ``least`` is what is aimed at."""
        aim = "" if least is None else f">= {least:g}"
        self._put(Figure(part, name, value, unit, aim, None if least is None else value >= least))

    def add_at_most(self, part: str, name: str, value: float, unit: str, most: float) -> None:
        """Add a figure of which less is better."""
        self._put(Figure(part, name, value, unit, f"<= {most:g}", value <= most))

    def _put(self, figure: Figure) -> None:
        self.figures.append(figure)
        shown = f"{figure.value:.3g}" if figure.value < 1000 else f"{figure.value:,.0f}"
        verdict = {None: "", True: "met", False: "missed"}[figure.met]
        line = f"{figure.part:<10} {figure.name:<62} {shown:>9} {figure.unit:<8} {figure.aim:<9} "
        print((line + verdict).rstrip(), flush=True)

    def agree(self, part: str, name: str, difference: float) -> None:
        """Note the largest difference of two sides that must agree."""
        self.add_at_most(part, f"{name}: largest difference", difference, "", TOLERANCE)
        if not difference <= TOLERANCE:
            self.wrong.append(f"{part}: {name} differs by {difference:.2e}")

    @cached_property
    def rows(self) -> list[Row]:
        """All passages as the data set has them, in a seeded order."""
        path = self.options.data
        file = path / "wikibio_gpt3.jsonl" if path.is_dir() else path
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        random.Random(0).shuffle(rows)
        return rows

    @cached_property
    def records(self) -> list[Record]:
        """The same as records, with the data set's sentences."""
        return [r for r in open_source(self.rows, reader="wikibio").rows() if isinstance(r, Record)]

    @cached_property
    def models(self) -> Path:
        """Folder of the checkpoints "two", "three" and "encoder", made where they are not there."""
        o = self.options
        name = "-".join([o.shape, o.checkpoint.name if o.checkpoint else "random"])
        folder: Path = o.peers / "models" / (name if o.minilm is None else f"{name}-minilm")
        command = ["--shape", o.shape, "--tokenizer", EMBEDDED / "tokenizer.json"]
        if o.checkpoint:
            command[3] = o.checkpoint / "tokenizer.json"
            command += ["--source", o.checkpoint]
        if o.minilm:
            command += ["--encoder", o.minilm]
        done, wanted = folder / "made.txt", " ".join(map(str, command))
        if not done.is_file() or done.read_text(encoding="utf-8") != wanted:
            print(f"making checkpoints in {folder}", file=sys.stderr)
            folder.mkdir(parents=True, exist_ok=True)
            pairs = [(r.response, r.sample_texts[0]) for r in self.records[-24:]]
            (folder / "pairs.json").write_text(json.dumps(pairs), encoding="utf-8")
            command += ["--out", folder, "--pairs", folder / "pairs.json"]
            python = interpreter(o.peers, "checkpoints")
            maker = [python, HERE / "checkpoints.py", *command]
            ran = subprocess.run(maker, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise SystemExit(f"the checkpoints could not be made:\n{ran.stderr[-2000:]}")
            done.write_text(wanted, encoding="utf-8")
        return folder

    def nli(self, head: str) -> str:
        """Return the checkpoint ``head`` as a model specification.

        Its classes are stated, because a random head does not answer plain questions.
        """
        return f"onnx:{self.models / head}?labels={_HEADS[head]}"

    def engine(self, nli: str | None = None, **more: Any) -> Engine:
        """Create an engine of this process alone, so that its processor time can be read."""
        spec = nli or self.options.model or self.nli("three")
        options = {"store": None, **more}
        return Engine(nli=spec, processes=0, threads=self.options.threads, **options)

    def peer(self, name: str, script: str, **folders: Path) -> Peer:
        """Start the package of the environment ``name``."""
        options = {k: str(v) for k, v in folders.items()}
        log = self.options.peers / f"{name}.log"
        return Peer(
            self.options.peers, name, script, {**options, "threads": self.options.threads}, log
        )


def ours(given: Benchmark, engine: Engine, scorers: str, samples: int | None = None) -> Way:
    """Return the way of this package, through ``check``."""

    def way(chosen: list[int]) -> Reply:
        rows = [given.rows[i] for i in chosen]
        started, used = time.perf_counter(), time.process_time()
        results = list(
            veridical.check(rows, scorers, reader="wikibio", samples=samples, engine=engine)
        )
        wall, cpu = time.perf_counter() - started, time.process_time() - used
        for result in results:
            for name, score in result.scores.items():
                if score.status != "scored":
                    raise SystemExit(f"{name}: {score.status}: {score.reason}")
        return Reply([result.scores for result in results], wall, cpu)

    return way


@dataclass
class Timed:
    """Sums over the parts of the passages, and what was found for each."""

    wall: float = 0.0
    cpu: float = 0.0
    found: dict[int, Any] = field(default_factory=dict)


def in_turn(given: Benchmark, ways: dict[str, Way]) -> dict[str, Timed]:
    """Run every way on the same passages, in parts, each part begun by another way."""
    count, rounds = given.options.passages, given.options.rounds
    for way in ways.values():
        way([len(given.rows) - 1])  # memory, threads and caches are warm before it counts
    timed = {name: Timed() for name in ways}
    names = list(ways)
    for part in range(rounds):
        chosen = list(range(count))[part::rounds]
        turn = part % len(names)
        for name in names[turn:] + names[:turn]:
            reply = ways[name](chosen)
            timed[name].wall += reply.wall
            timed[name].cpu += reply.cpu
            timed[name].found.update(zip(chosen, reply.found, strict=True))
    return timed


def compare(
    given: Benchmark,
    part: str,
    slow: tuple[str, Timed],
    fast: tuple[str, Timed],
    least: float | None,
) -> None:
    """Note both times and their ratio, by wall clock and by processor time."""
    ratio = slow[1].wall / fast[1].wall
    given.add(part, f"{slow[0]} / {fast[0]}, wall clock", ratio, "x", least=least)
    given.add(part, f"{slow[0]} / {fast[0]}, processor time", slow[1].cpu / fast[1].cpu, "x")


def seconds(given: Benchmark, part: str, timed: dict[str, Timed]) -> None:
    for name, t in timed.items():
        given.add(part, f"{name}: wall clock", t.wall, "s")
        given.add(part, f"{name}: processor time", t.cpu, "s")


def add_small(part: str, ways: dict[str, Way], small: Way) -> None:
    """Add this package with 8-bit weights, if 8 bits keep the weights."""
    try:
        small([0])
    except ModelError as e:
        print(f"{part:<10} int8 left out: {e}", flush=True)
    else:
        ways[SMALL] = small


def selfcheck(given: Benchmark) -> None:
    """Sentence against sample, on a head of the classes entailment and contradiction."""
    part, model = "selfcheck", given.models / "two"
    records = given.records

    def theirs(chosen: list[int]) -> Reply:
        return peer.ask(
            [
                {
                    "sentences": [s.text for s in records[i].sentences],
                    "samples": records[i].sample_texts,
                }
                for i in chosen
            ]
        )

    with (
        given.peer("selfcheckgpt", "selfcheckgpt_nli.py", model=model) as peer,
        given.engine(given.nli("two")) as engine,
        given.engine(f"{given.nli('two')}&precision=int8") as small,
    ):
        ways = {"selfcheckgpt 0.1.7": theirs, "veridical": ours(given, engine, SELFCHECK)}
        add_small(part, ways, ours(given, small, SELFCHECK))
        timed = in_turn(given, ways)
    peers, own, *others = timed.items()
    used = records[: given.options.passages]
    given.add(part, "pairs", sum(len(r.sentences) * len(r.sample_texts) for r in used), "")
    seconds(given, part, timed)
    compare(given, part, peers, own, 1.5)

    def risks(t: Timed) -> NDArray[np.float64]:
        scores = (next(iter(t.found[i].values())) for i in sorted(t.found))
        return np.array([u.risk for s in scores for u in s.units])

    published = np.concatenate([peers[1].found[i] for i in sorted(peers[1].found)])
    given.agree(part, "sentence scores", float(np.abs(risks(own[1]) - published).max()))
    for int8 in others:
        compare(given, part, peers, int8, 2.5)
        off = np.abs(risks(int8[1]) - published)
        given.add(part, "int8, sentence scores: mean difference", float(off.mean()), "")
        given.add(part, "int8, sentence scores: largest difference", float(off.max()), "")


def uqlm(given: Benchmark) -> None:
    """Response against samples, and samples against each other where meanings are clustered."""
    part, model, encoder = "uqlm", given.models / "three", given.models / "encoder"
    records, counted = given.records, Counter[str]()

    def theirs(name: str, peer: Peer) -> Way:
        def way(chosen: list[int]) -> Reply:
            reply = peer.ask(
                {
                    "responses": [records[i].response for i in chosen],
                    "samples": [records[i].sample_texts[:SAMPLES] for i in chosen],
                }
            )
            found = reply.found
            counted[name] += found["pairs"]
            each = [
                {
                    "scores": {k: v[j] for k, v in found["scores"].items()},
                    "clusters": found["clusters"][j],
                }
                for j in range(len(chosen))
            ]
            return Reply(each, reply.wall, reply.cpu)

        return way

    with ExitStack() as stack:
        spec, embedder = given.nli("three"), f"onnx:{encoder}"
        engine = stack.enter_context(given.engine(spec, embedder=embedder))
        small = stack.enter_context(given.engine(f"{spec}&precision=int8", embedder=embedder))
        ways: dict[str, Way] = {}
        for name in ("uqlm-0.6.1", "uqlm-0.6.7"):
            peer = given.peer(name, "uqlm_black_box.py", model=model, encoder=encoder)
            ways[name] = theirs(name, stack.enter_context(peer))
        ways["veridical"] = ours(given, engine, ", ".join(BLACK_BOX.values()), SAMPLES)
        add_small(part, ways, ours(given, small, ", ".join(BLACK_BOX.values()), SAMPLES))
        timed = in_turn(given, ways)
        own_pairs = next(w for n, w in engine.work().items() if n.startswith("three@")).windows
    seconds(given, part, timed)
    for name, least in (("uqlm-0.6.1", 4.0), ("uqlm-0.6.7", 2.5)):
        given.add(part, f"{name}: pairs judged, warm-up included", counted[name], "")
        compare(given, part, (name, timed[name]), ("veridical", timed["veridical"]), least)
        if SMALL in timed:
            compare(given, part, (name, timed[name]), (SMALL, timed[SMALL]), 2.0)
    given.add(part, "veridical: pairs judged, warm-up included", own_pairs, "")
    for name in ("uqlm-0.6.1", "uqlm-0.6.7"):
        black_box_agreement(given, name, timed[name], timed["veridical"])
    if SMALL in timed:
        own, eight = timed["veridical"].found, timed[SMALL].found
        for spec in BLACK_BOX.values():
            off = np.abs([own[i][spec].raw - eight[i][spec].raw for i in sorted(own)])
            given.add(part, f"int8, {spec}: mean difference", float(off.mean()), "")
            given.add(part, f"int8, {spec}: largest difference", float(off.max()), "")


def black_box_agreement(given: Benchmark, name: str, peer: Timed, own: Timed) -> None:
    """Compare confidences.

    uqlm lets an answer join every cluster it matches, and so counts it several times. Its
    negentropy is compared after keeping each answer in its first cluster.
    """
    off: dict[str, list[float]] = {n: [] for n in BLACK_BOX}
    several, spoilt = 0, 0.0
    for i, found in peer.found.items():
        for scorer, spec in BLACK_BOX.items():
            mine, theirs = own.found[i][spec].raw, found["scores"][scorer]
            if scorer == "semantic_negentropy":
                members = Counter(m for c in found["clusters"] for m in c)
                if max(members.values()) > 1:
                    several += 1
                    spoilt = max(spoilt, abs(mine - theirs))
                theirs = negentropy(found["clusters"])
            off[scorer].append(abs(mine - theirs))
    for scorer, values in off.items():
        given.agree("uqlm", f"{name} {scorer}", max(values))
    given.add("uqlm", f"{name}: passages with an answer in several clusters", several, "")
    given.add("uqlm", f"{name}: largest error of its negentropy by that", spoilt, "")


def negentropy(clusters: list[list[int]]) -> float:
    """Compute 1 - normalised entropy, each answer in the first of its clusters."""
    first: dict[int, int] = {}
    for place, members in enumerate(clusters):
        for m in members:
            first.setdefault(m, place)
    shares = np.array(list(Counter(first.values()).values())) / len(first)
    return 1 + float((shares * np.log(shares)).sum()) / math.log(len(first))


def bare(given: Benchmark) -> None:
    """Measure the engine's share of the speed of a bare loop with the same model."""
    part, folder, threads = "bare", given.models / "two", given.options.threads
    tokens: Counter[str] = Counter()

    loops = {
        f"{threads} forwards side by side": (threads, 1, 2048),
        f"one forward on {threads} threads": (1, threads, 2048),
        f"one forward on {threads} threads, large batches": (1, threads, 8192),
    }
    with given.engine(given.nli("two")) as engine:
        ways = {
            name: bare_loop(given.records, folder, name, tokens, *how)
            for name, how in loops.items()
        }
        timed = in_turn(given, {**ways, "engine": ours(given, engine, SELFCHECK)})
        (work,) = engine.work().values()
    seconds(given, part, timed)
    for name in loops:
        if tokens[name] != work.tokens:
            given.wrong.append(f"bare: {tokens[name]} tokens, but {work.tokens} in the engine")
    fastest = min((timed[n] for n in loops), key=lambda t: t.wall)
    share = 100 * fastest.wall / timed["engine"].wall
    given.add(part, "engine, of the throughput of the fastest loop", share, "%", least=90)
    leanest = min(timed[n].cpu for n in loops)
    given.add(part, "the same by processor time", 100 * leanest / timed["engine"].cpu, "%")


class Watched:
    """An NLI model that writes down every pair it is to judge."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.pairs: Counter[tuple[str, str]] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def windows(self, pairs: Sequence[Any]) -> list[list[Any]]:
        self.pairs.update((p.premise, p.hypothesis) for p in pairs)
        found: list[list[Any]] = self._model.windows(pairs)
        return found


def shared(given: Benchmark) -> None:
    """Run every NLI scorer alone, cold and without a store, then all of them in one run."""
    part, load = "shared", veridical.models.load_nli
    rows = given.rows[: given.options.shared_passages]
    names = [s.name for s in REGISTRY.all() if s.cost == "nli"]

    def judged(scorers: str) -> tuple[Watched, int, bool]:
        """Return the model, the windows it ran, and True if every score was computed."""
        kept: list[Watched] = []

        def watched(*args: Any, **kwargs: Any) -> Watched:
            kept.append(Watched(fake() if given.options.model == "fake" else load(*args, **kwargs)))
            return kept[-1]

        with patch("veridical.models.load_nli", watched), given.engine() as engine:
            results = list(
                veridical.check(rows, scorers, reader="wikibio", samples=SAMPLES, engine=engine)
            )
            (work,) = engine.work().values()
        (model,) = kept
        if model.pairs.total() != work.requests:
            given.wrong.append(f"shared: {scorers}: {work.requests} requests counted")
        applied = all(s.status == "scored" for r in results for s in r.scores.values())
        return model, work.windows, applied

    union: set[tuple[str, str]] = set()
    apart, applicable = 0, []
    for name in names:
        model, _, applied = judged(name)
        if not applied:
            print(f"{part:<10} {name}: not applicable to these records, left out", flush=True)
            continue
        applicable.append(name)
        union |= model.pairs.keys()
        apart += model.pairs.total()
        given.add(part, f"{name} alone: pairs", model.pairs.total(), "")
    model, windows, _ = judged(", ".join(applicable))
    given.add(part, "one by one: pairs", apart, "")
    given.add(part, "union of their pairs", len(union), "")
    given.add(part, "together: pairs", model.pairs.total(), "")
    given.add(part, "together: windows through the model", windows, "")
    given.add(part, "one by one / together", apart / model.pairs.total(), "x")
    if model.pairs != Counter(union):
        given.wrong.append("shared: together is not the union, each pair once")


def fake() -> Any:
    """Create a scripted model that takes no time, for parts that do not measure models."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
    from fake_models import FakeNli

    return FakeNli(max_length=512, workers=2)


def warm(given: Benchmark) -> None:
    """Score all passages again, from a store."""
    part, rows = "warm", given.rows
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        if given.options.model == "fake":
            stack.enter_context(patch("veridical.models.load_nli", lambda *_, **__: fake()))
        store = given.options.store or Path(temporary) / "store"

        def run() -> tuple[float, float, int]:
            started, used = time.perf_counter(), time.process_time()
            with given.engine(store=store) as engine:
                list(veridical.check(rows, WARM, reader="wikibio", samples=SAMPLES, engine=engine))
                (work,) = engine.work().values()
            return time.perf_counter() - started, time.process_time() - used, work.windows

        wall, _, windows = run()
        if windows:
            given.add(part, "filling the store: wall clock", wall, "s")
            given.add(part, "filling the store: windows through the model", windows, "")
        wall, cpu, windows = run()
    given.add(part, "passages", len(rows), "")
    given.add_at_most(part, "from the store: wall clock, engine and model included", wall, "s", 15)
    given.add(part, "from the store: processor time", cpu, "s")
    if windows:
        given.wrong.append(f"warm: {windows} windows went through the model again")


def gpu(given: Benchmark) -> None:
    """See peers/pair_by_pair.py; nothing without a GPU."""
    try:
        import torch

        there = torch.cuda.is_available()
    except ImportError:
        there = False
    if not there:
        print("gpu        no GPU: left out", flush=True)
        return
    from peers.pair_by_pair import measure

    pairs = [
        (sample, s.text)
        for r in given.records[: given.options.gpu_passages]
        for s in r.sentences
        for sample in r.sample_texts
    ]
    for name in given.options.gpu_models.split(","):
        for figure, value, unit, least in measure(name, pairs, EMBEDDED / "tokenizer.json"):
            given.add("gpu", f"{name}: {figure}", value, unit, least=least)


PARTS = {
    "selfcheck": selfcheck,
    "uqlm": uqlm,
    "bare": bare,
    "gpu": gpu,
    "shared": shared,
    "warm": warm,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of wikibio_gpt3.jsonl")
    parser.add_argument("--part", default=",".join(PARTS), help="comma-separated; default: all")
    parser.add_argument(
        "--peers",
        type=Path,
        default=Path(tempfile.gettempdir()) / "veridical-peers",
        help="folder of the environments and checkpoints, made where they are not there",
    )
    parser.add_argument("--minilm", type=Path, help="folder of all-MiniLM-L6-v2; default: random")
    parser.add_argument("--checkpoint", type=Path, help="a trained three-class BERT; else random")
    parser.add_argument("--shape", default="minilm", choices=("minilm", "deberta-v3-base"))
    parser.add_argument("--model", help="NLI model of shared and warm; 'fake': one without work")
    parser.add_argument(
        "--passages", type=int, default=12, help="passages of selfcheck, uqlm and bare"
    )
    parser.add_argument("--rounds", type=int, default=4, help="parts the passages are timed in")
    parser.add_argument("--shared-passages", type=int, default=4)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--store", type=Path, help="store of the part warm; filled if empty")
    parser.add_argument("--gpu-models", default="deberta-large,roberta-large,modernbert-large")
    parser.add_argument("--gpu-passages", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    given = Benchmark(parser.parse_args())
    given.options.peers = given.options.peers.resolve()
    parts = given.options.part.split(",")
    if unknown := set(parts) - PARTS.keys():
        parser.error(f"no part {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    for part in parts:
        PARTS[part](given)
    if given.options.json:
        found = {"figures": [asdict(f) for f in given.figures], "wrong": given.wrong}
        given.options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for problem in given.wrong:
        print(f"WRONG {problem}")
    return 1 if given.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
