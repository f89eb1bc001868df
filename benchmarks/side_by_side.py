"""Packages that judge answers by sources, compared: time, memory, accuracy.

    python benchmarks/side_by_side.py --data DATA --out FOLDER [--peers FOLDER] [--method NAME ...]
        [--answers 300] [--asked 8] [--llm local:qwen-0.5b] [--json FILE] [--page FILE]

The same answers go to every package, each in an environment of its own (peers/environments.py), one
after the other. They are BEGIN's wow/test without generic responses, and right and hallucinated
answers of HaluEval qa (the last 20 %). The latter have equal numbers of words, so that length has
no information. Methods without an LLM get ``--answers`` of each set, those with one the first
``--asked`` of them.

Packages that read an NLI model get the weights of veridical-nli-mini, expanded to float32; those
that ask an LLM get ``--llm``, served here. So packages are compared on equal models, not on the
models that they name, as no hub was available. :data:`MISSING` lists the parts that could not run
for that reason. Packages that compare an answer with samples get the source as the one sample.
``FOLDER`` keeps the results: the same command resumes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from peers.environments import HERE, Peer, interpreter

import veridical
from ensembles import Measure
from veridical.core.records import Record
from veridical.io import open_source
from veridical.llm.local import LocalServer, read_local
from veridical.text.sentences import split_sentences
from veridical.text.words import words

ROOT = Path(__file__).parents[1]
DATA = ROOT / "src" / "veridical" / "models" / "data"
Row = dict[str, Any]
#: Maximum tokens of an LLM's reply, as a model may repeat itself for ever.
MOST_TOKENS = 400
#: Minimum number of answers for an AUROC.
LEAST = 20


@dataclass(frozen=True)
class Method:
    """A way of judging. ``package`` is its environment, None for this package; ``reads`` the model
    that it is given; ``asks`` says whether that is the LLM."""

    name: str
    package: str | None
    script: str
    reads: str
    options: dict[str, Any] = field(default_factory=dict)
    asks: bool = False


def ours(name: str, reads: str, scorers: str | None = None, **models: str) -> Method:
    options = {"scorers": scorers, "models": models}
    return Method(f"veridical, {name}", None, "answers_veridical.py", reads, options)


METHODS = (
    ours("default", "nli-mini, int8", nli="mini"),
    ours("default", "nli-base, int8", nli="base"),
    ours("`nli_grounding`", "nli-mini, int8", "nli_grounding", nli="mini"),
    ours("`knowledge_f1`", "none", "knowledge_f1"),
    Method("SelfCheckGPT, NLI", "selfcheckgpt", "answers_selfcheckgpt.py", "nli-mini, float32",
           {"way": "nli"}),
    Method("SelfCheckGPT, unigram", "selfcheckgpt", "answers_selfcheckgpt.py", "none",
           {"way": "ngram"}),
    Method("UQLM, noncontradiction", "uqlm-0.6.7", "answers_uqlm.py", "nli-mini, float32",
           {"way": "noncontradiction"}),
    Method("UQLM, cosine", "uqlm-0.6.7", "answers_uqlm.py", "all-MiniLM-L6-v2, float32",
           {"way": "cosine_sim"}),
    Method("RefChecker, NLI checker on sentences", "refchecker", "answers_refchecker.py",
           "nli-mini, float32", {"way": "nli"}),
    Method("RefChecker, LLM extractor and checker", "refchecker", "answers_refchecker.py", "LLM",
           {"way": "llm"}, asks=True),
    Method("LettuceDetect, LLM", "lettucedetect", "answers_lettucedetect.py", "LLM", asks=True),
    Method("DeepEval, hallucination", "deepeval", "answers_deepeval.py", "LLM",
           {"way": "hallucination"}, asks=True),
    Method("DeepEval, faithfulness", "deepeval", "answers_deepeval.py", "LLM",
           {"way": "faithfulness"}, asks=True),
    Method("Ragas, faithfulness", "ragas", "answers_ragas.py", "LLM", asks=True),
)  # fmt: skip
#: The package that has the version, by environment.
VERSION_OF = {"uqlm-0.6.7": "uqlm"}
#: Parts that could not run without a hub: package, part, required weights.
MISSING = (
    ("LettuceDetect", "its own detector", "KRLabsOrg/lettucedect-base-modernbert-en-v1"),
    ("SelfCheckGPT", "NLI with its own weights", "potsawee/deberta-v3-large-mnli"),
    ("SelfCheckGPT", "BERTScore", "roberta-large"),
    ("SelfCheckGPT", "MQAG", "potsawee/t5-large-generation-squad-QuestionAnswer"),
    ("UQLM", "NLI with its own weights", "microsoft/deberta-large-mnli"),
    ("RefChecker", "NLI with its own weights",
     "ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli"),
    ("RefChecker", "AlignScore", "AlignScore-large.ckpt"),
    ("Ragas", "FaithfulnesswithHHEM", "vectara/hallucination_evaluation_model"),
)  # fmt: skip


def row_of(record: Record) -> Row:
    return {
        "prompt": record.prompt if isinstance(record.prompt, str) else "",
        "response": record.response,
        "context": "\n".join(c.text for c in record.contexts),
        "sentences": [s.text for s in split_sentences(record.response)] or [record.response],
        "label": float(record.label or 0),
    }


def begin(data: Path, count: int) -> list[Row]:
    rows = open_source(data / "begin" / "test_wow.tsv", reader="begin").rows()
    known = [r for r in rows if isinstance(r, Record) and r.label is not None and r.contexts]
    return [row_of(r) for r in random.Random(0).sample(known, min(count, len(known)))]


def halueval(data: Path, count: int) -> list[Row]:
    """Draw pairs with equal numbers of words, from the part that no model here was trained on."""
    file = data / "halueval" / "dataset_halueval_qa.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines[len(lines) * 4 // 5 :]]
    keys = ("right_answer", "hallucinated_answer")
    even = [i for i in items if len({len(i[k].split()) for k in keys}) == 1]
    drawn = random.Random(0).sample(even, min(count // 2, len(even)))
    return [
        {
            "prompt": item["question"],
            "response": item[key],
            "context": item["knowledge"],
            "sentences": [s.text for s in split_sentences(item[key])] or [item[key]],
            "label": float(label),
            "pair": number,
        }
        for number, item in enumerate(drawn)
        for label, key in enumerate(keys)
    ]


def checkpoints(given: argparse.Namespace) -> dict[str, str]:
    """Return the folders of the embedded models' weights in float32.

    They have the heads that the packages take: ``first`` has entailment first, ``three``
    contradiction, ``two`` no neutral.
    """
    folder = given.out / "checkpoints"
    found = {name: str(folder / name) for name in ("first", "two", "three", "encoder")}
    if not (folder / "done").is_file():
        python = interpreter(given.peers, "checkpoints")
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "training")}
        command = [python, HERE / "float_checkpoints.py", DATA, folder]
        subprocess.run([str(c) for c in command], check=True, env=environment)
        (folder / "done").touch()
    return found


def version(given: argparse.Namespace, package: str | None) -> str:
    if package is None:
        return veridical.__version__
    named = VERSION_OF.get(package, package)
    asks = f"from importlib.metadata import version; print(version({named!r}))"
    command = [str(interpreter(given.peers, package)), "-c", asks]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def measure(
    method: Method, sets: dict[str, list[Row]], options: dict[str, Any], given: argparse.Namespace
) -> dict[str, Any]:
    """Measure a method on each set; results are kept in ``--out``, and read from there."""
    asked = {name: rows[: given.asked] if method.asks else rows for name, rows in sets.items()}
    inputs = json.dumps([asked, method.options, given.llm if method.asks else None])
    digest = hashlib.sha256(inputs.encode()).hexdigest()[:16]
    name = "".join(c if c.isalnum() else "-" for c in f"{method.name} {method.reads}")
    file = given.out / f"{name}.json"
    if file.is_file():
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if kept["inputs"] == digest:
            return kept
    made: dict[str, Any] = {"inputs": digest, "version": version(given, method.package), "sets": {}}
    if given.kept:
        return made | {"failed": "it was not run to an end"}
    print(f"{method.name} ({method.reads})", file=sys.stderr, flush=True)
    log = given.out / f"{name}.log"
    try:
        with Peer(given.peers, method.package, method.script, options, log) as peer:
            for part, rows in asked.items():
                reply = peer.ask(rows)
                made["sets"][part] = {
                    "risks": [risk for risk, _ in reply.found],
                    "errors": [error for _, error in reply.found if error],
                    "seconds": reply.wall,
                    "cpu": reply.cpu,
                    "peak": reply.peak,
                }
    except SystemExit as e:  # the next ones run all the same
        made["failed"] = " ".join(str(e).split())[-500:]
    file.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return made


def accuracy(risks: list[float | None], rows: list[Row]) -> dict[str, Any] | None:
    """AUROC of label "hallucinated" with the bootstrap's interval over prompts.

    None if the answers with a risk are too few, or all of one label.
    """
    truth = np.array([r["label"] >= 0.5 for r in rows], dtype=np.float64)
    score = np.array([np.nan if r is None else r for r in risks], dtype=np.float64)
    scored = truth[~np.isnan(score)]
    if len(scored) < LEAST or len(set(scored)) < 2:
        return None
    groups = np.array([r.get("pair", i) for i, r in enumerate(rows)])
    return Measure("auroc", truth, groups)(score).as_dict()


def baselines(rows: list[Row]) -> dict[str, list[float | None]]:
    """Compute length in words, and the share of the answer's words that are not in the source."""
    lengths: list[float | None] = [float(len(r["response"].split())) for r in rows]
    apart: list[float | None] = []
    for row in rows:
        own, source = words(row["response"]), set(words(row["context"]))
        apart.append(float(np.mean([w not in source for w in own])) if own else None)
    return {"length of the answer": lengths, "words that are not in the source": apart}


def lines(found: dict[str, Any], sets: dict[str, list[Row]]) -> str:
    """Format the tables, in Markdown."""
    out = []
    for part, rows in sets.items():
        wrong = sum(r["label"] >= 0.5 for r in rows)
        out += [f"## {part}: {len(rows)} answers, {wrong} hallucinated", ""]
        for asks in (False, True):
            if asks:
                out += ["", f"The first {found['asked']}, by `{found['llm']}`:", ""]
            head = ("", "version", "model", "n", "failed", "AUROC", "answers/s", "memory, MB")
            out += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
            shown = rows[: found["asked"]] if asks else rows
            for name, risks in baselines(shown).items():
                out.append(
                    f"| {name} | | | {len(shown)} | | {interval_text(accuracy(risks, shown))} | | |"
                )
            for made in found["methods"]:
                if made["asks"] == asks:
                    out.append(line(made, made["sets"].get(part), shown))
        out.append("")
    out += ["## Parts that could not run here", "", "| package | part | missing weights |"]
    out += ["|---|---|---|", *(f"| {a} | {b} | `{c}` |" for a, b, c in MISSING)]
    return "\n".join(out) + "\n"


def line(made: dict[str, Any], figures: dict[str, Any] | None, rows: list[Row]) -> str:
    start = f"| {made['name']} | {made['version']} | {made['reads']} | {len(rows)} "
    if figures is None:
        return f"{start}| | did not end | | |"
    scored = len(rows) - len(figures["errors"])
    speed = len(rows) / figures["seconds"]
    return (
        f"{start}| {len(rows) - scored} | {interval_text(figures['auroc'])} | {speed:.3g} "
        f"| {figures['peak'] / 1e6:.0f} |"
    )


def interval_text(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "-"
    value, low, high = (figure[k] for k in ("value", "ci_low", "ci_high"))
    return f"{value:.3f}" + ("" if low is None else f" [{low:.3f}, {high:.3f}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("--out", type=Path, required=True, help="keeps what is done")
    parser.add_argument("--peers", type=Path, help="environments; default: OUT/environments")
    parser.add_argument("--method", action="append", help="only those whose name has this in it")
    parser.add_argument("--answers", type=int, default=300, help="answers of each set")
    parser.add_argument(
        "--asked", type=int, default=8, help="answers of each set for methods with an LLM"
    )
    parser.add_argument("--llm", default="local:qwen-0.5b")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kept", action="store_true", help="run nothing: tables of what is kept")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="the tables, after what the page says above them")
    given = parser.parse_args()
    given.peers = given.peers or given.out / "environments"
    given.out.mkdir(parents=True, exist_ok=True)
    sets = {
        "BEGIN wow/test": begin(given.data, given.answers),
        "HaluEval qa, pairs of equal length": halueval(given.data, given.answers),
    }
    chosen = [
        m for m in METHODS if not given.method or any(part in m.name for part in given.method)
    ]
    options = {"threads": given.threads, "most": MOST_TOKENS, **checkpoints(given)}
    found: dict[str, Any] = {"asked": given.asked, "llm": given.llm, "methods": []}

    def add(method: Method) -> None:
        made = measure(method, sets, options | method.options, given)
        for part, figures in made["sets"].items():
            rows = sets[part][: len(figures["risks"])]
            figures["auroc"] = accuracy(figures["risks"], rows)
        about = {k: asdict(method)[k] for k in ("name", "package", "reads", "asks")}
        found["methods"].append({**about, **made})

    for method in chosen:
        if not method.asks:
            add(method)
    asking = [m for m in chosen if m.asks]
    if given.kept:
        for method in asking:
            add(method)
    elif asking:
        model = read_local(f"{given.llm}?context=8192&parallel=1&threads={given.threads}")
        with LocalServer(model) as server:
            os.environ |= {"OPENAI_API_KEY": "none", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
            os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
            options |= {"url": server.url, "model": model.name}
            for method in asking:
                add(method)
    tables = lines(found, sets)
    print(tables)
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.page is not None:
        head = (
            given.page.read_text(encoding="utf-8").partition("## ")[0]
            if given.page.exists()
            else ""
        )
        given.page.write_text(head + tables, encoding="utf-8")


if __name__ == "__main__":
    main()
