"""Accuracy of a local 1.5-billion-parameter LLM as judge, reader and writer.

    python benchmarks/local_llm.py --data DATA --out FOLDER [--only PART ...] [--page PAGE.md]

Runs the commands of PARTS one after another, each on a small stated part of a public data set. Then
it writes the page of their figures. An interrupted command is resumed: each has its folder under
FOLDER, and one that is done is not run again. The page shows the commands; any of them can be run
by itself.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JUDGE, SMALL, NLI = "local:qwen-1.5b", "qwen-0.5b", "--nli mini"
#: Metrics on the page, in this order.
METRICS = ("auroc", "average_precision", "trapezoid_pr", "spearman", "pearson", "macro_f1")
#: Baselines that are shown, and those whose figures say nothing of the data.
BASELINES, LEFT_OUT = ("length",), ("constant", "random", "majority", "always_positive")
#: Fields of each figure that the pages keep.
KEPT = ("suite", "split", "scorer", "metric", "value", "ci_low", "ci_high", "n_total", "n_scored")
HEAD = """# A local LLM as judge, reader and writer

This page shows the accuracy of a small local LLM as judge, reader and writer. Larger models are
expected to perform better, so the figures are a lower limit.

Made by `python benchmarks/local_llm.py --data DATA --out FOLDER --page docs/evidence/local-llm.md`,
which runs the commands below. The model is Qwen2.5-Coder-1.5B-Instruct in 4 bits (`veridical models
get qwen-1.5b`), on two cores, without a GPU; "0.5B" is the next smaller one of the family. No
scorer was fitted on the part that it is measured on, except those marked in-domain.

Parts are small, so that each takes minutes: read intervals before figures. `length` is the baseline
that ranks by the number of characters. *Constant* marks a scorer that gives the same to all.
NLI is by veridical-nli-mini; a dagger marks rows by weights that have been replaced. Published
figures are of larger judges on the whole sets. Where length does well (BEGIN, HaluEval), a good
figure proves little: see the pairs of [default-fit.md](default-fit.md#together-with-a-judge)."""


@dataclass(frozen=True)
class Part:
    """A command of ``veridical bench``, with published figures for comparison.

    Attributes:
        before: a command of ``veridical`` that makes the input of this one.
        published: published figures of larger models.
        entries: tables of ``veridical_lab.bench.published`` of which it measures rows.
    """

    name: str
    title: str
    arguments: str
    before: str = ""
    published: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()

    def shown(self) -> list[str]:
        """List the commands, as one would type them."""
        commands = [c for c in (self.before, f"bench {self.arguments}") if c]
        return [f"veridical {filled(c, 'DATA', 'OUT')}" for c in commands]


#: The digests of the embedded NLI model, and how many characters of one name its weights.
SUMS = Path(__file__).parent.parent / "src/veridical/models/data/veridical-nli-mini/SHA256SUMS"
HASH_LENGTH = 12
#: A note on rows whose model has been replaced.
REPLACED = (
    "† NLI by weights that have been replaced ({made}; this version has {shipped}). The command "
    "gives other figures now, and may order the rows differently."
)

WIKIBIO = "wikibio --data DATA/wikibio_gpt3"
BEGIN = "begin --data DATA/begin --split wow/dev"
PROXY = "avg_logprob, avg_entropy, max_logprob, max_entropy, explained_surprisal"
PARTS = (
    Part(
        "wikibio-prompt",
        "SelfCheckGPT's prompt, and CheckEmbed's judge, on WikiBio: 8 passages, 4 samples",
        f'{WIKIBIO} --limit 8 --samples 4 --scorers "selfcheck_prompt, '
        'judge(template=checkembed_wikibio), selfcheck_nli" --llm {JUDGE} {NLI}',
        published=(
            "`selfcheck_prompt` by gpt-3.5-turbo, 238 passages and 20 samples (SelfCheckGPT, "
            "table 2), trapezoids: nonfact 0.934, nonfact* 0.532, factual 0.671. Passages: "
            "Pearson 0.783, Spearman 0.783; with 4 samples (table 4) 0.765 and 0.764",
            "`judge(template=checkembed_wikibio)`, Spearman (CheckEmbed, table 5): GPT-4o 0.394, "
            "GPT-4o-mini 0.314, Llama-3.3-70B -0.087, Llama-3.1-8B 0.029",
        ),
        entries=(
            "SelfCheckGPT tables 2 and 4, prompt rows (ChatGPT)",
            *(
                f"CheckEmbed tables 3 and 5, LLM-as-a-judge ({model}) rows"
                for model in ("GPT-4o", "GPT-4o-mini", "Llama-3.3-70B", "Llama-3.1-8B")
            ),
        ),
    ),
    Part(
        "wikibio-mqag",
        "MQAG asked of a chat model, on WikiBio: 4 passages, 3 samples, 1 question a sentence",
        f"{WIKIBIO} --limit 4 --samples 3 "
        '--scorers "selfcheck_qa(backend=llm, questions=1), selfcheck_nli" --llm {JUDGE} {NLI}',
        published=(
            "`selfcheck_qa` by four fine-tuned models, 238 passages and 20 samples (SelfCheckGPT, "
            "table 2), trapezoids: nonfact 0.843, nonfact* 0.401, factual 0.481. Passages: "
            "Pearson 0.611, Spearman 0.593",
        ),
        entries=("SelfCheckGPT tables 2, 3 and 5, QA rows",),
    ),
    *(
        Part(
            f"wikibio-proxy-{proxy}",
            f"Read by {proxy}, on WikiBio: 40 passages, 20 samples",
            f'{WIKIBIO} --limit 40 --scorers "{PROXY}" --proxy {proxy}',
            published=published,
            entries=entries,
        )
        for proxy, published, entries in (
            ("qwen-0.5b", (), ()),
            (
                "qwen-1.5b",
                (
                    "`avg_logprob` by llama-30b on all passages (SelfCheckGPT, table 8), "
                    "trapezoids: nonfact 0.754, nonfact* 0.303, factual 0.413; Spearman 0.202. By "
                    "opt-1.3b 0.662, 0.245, 0.235; -0.390",
                ),
                tuple(
                    f"SelfCheckGPT tables 2 and 8, figure 9, {model}"
                    for model in (
                        *("huggyllama/llama-30b", "huggyllama/llama-13b", "huggyllama/llama-7b"),
                        *("facebook/opt-30b", "EleutherAI/gpt-neox-20b", "facebook/opt-13b"),
                        *("EleutherAI/gpt-j-6b", "facebook/opt-1.3b", "facebook/opt-125m"),
                    )
                ),
            ),
            ("smollm2", (), ()),
        )
    ),
    Part(
        "begin-judges",
        "Judges on BEGIN: 24 responses of wow/dev",
        f'{BEGIN} --limit 24 --scorers "statement_judge, judge(template=mirage_begin), '
        "judge(template=correct_incorrect), judge(template=likert), g_eval, claims(checker=llm), "
        'claims, nli_grounding, knowledge_f1" --llm {JUDGE} {NLI}',
        published=(
            "`judge(template=mirage_begin)` by GPT-4, area under precision and recall on wow/test "
            "(Mirage, table 9): see reproduction.md",
        ),
        entries=("Mirage tables 1, 10 and 11, GPT-4 on BEGIN",),
    ),
    Part(
        "begin-extractor",
        "Claims written by the model, on BEGIN: 16 responses of wow/dev",
        f'{BEGIN} --limit 16 --scorers "claims(extractor=llm_atomic), '
        'claims(extractor=llm_triplets), claims" --llm {JUDGE} {NLI}',
    ),
    Part(
        "halueval-qa",
        "Judges on HaluEval's questions: 16 answers of the last fifth",
        "halueval --data DATA/halueval --split heldout,qa --limit 16 "
        '--scorers "statement_judge, judge(template=halueval_qa), claims(checker=llm), claims, '
        'nli_grounding" --llm {JUDGE} {NLI}',
        published=("accuracy of `halueval_qa` by ChatGPT on all (HaluEval, table 5): 0.626",),
        entries=("Mirage tables 1, 10 and 11, GPT-4 on HaluEval",),
    ),
    Part(
        "halludetect",
        "HalluDetect's features by the 0.5B model, trained on 200 rows of HaluEval's questions",
        "halueval --data DATA/halueval --split heldout,qa --limit 60 --scorers "
        "\"halludetect(model='OUT/halludetect-model.json'), nli_grounding\" --proxy {SMALL} {NLI}",
        entries=("CheckEmbed table 7, HalluDetect rows",),
        before="train halludetect DATA/halueval/dataset_halueval_qa.jsonl --reader halueval "
        "--limit 200 --proxy {SMALL} --out OUT/halludetect-model.json",
    ),
    Part(
        "truthfulqa",
        "By a right answer, and by what the model knows, on TruthfulQA: 12 answers",
        'truthfulqa --data DATA/truthfulqa --limit 12 --scorers "statement_judge, '
        'judge(template=correct_incorrect), judge(template=mirage_truthfulqa), p_true, verbalized" '
        "--llm {JUDGE}",
    ),
    Part(
        "qa",
        "Its own answers to 8 questions of each of five sets, with 3 samples, all together",
        "graded --data OUT/answers/answers/*/graded.jsonl --scorers "
        '"p_true, judge, bsdetector, noncontradiction, semantic_negentropy, exact_match, '
        'avg_logprob, min_probability, avg_entropy" --llm {JUDGE} {NLI}',
        before="bench qa --data DATA/qa --limit 8 --n 3 --max-tokens 200 --scorers exact_match "
        "--llm {JUDGE} --min-coverage 0 --out OUT/answers",
        published=(
            "F1 of right answers by gpt-3.5-turbo-16k, six sets (Bouchard and Chauhan 2025, "
            "table 1): reproduction.md",
        ),
        entries=(
            "Tunable ensemble table 1, entropy row",
            "Tunable ensemble table 1, BSDetector row",
        ),
    ),
)


def filled(command: str, data: Path | str, out: Path | str) -> str:
    values = {"{JUDGE}": JUDGE, "{SMALL}": SMALL, "{NLI}": NLI, "DATA": str(data), "OUT": str(out)}
    for name, value in values.items():
        command = command.replace(name, value)
    return command


def shipped_weights() -> str:
    """Return the hash of the embedded NLI model's weights."""
    found = re.search(r"^([0-9a-f]{64}) +model\.onnx$", SUMS.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise LookupError(f"{SUMS.name} has no model.onnx")
    return found[1][:HASH_LENGTH]


def run(part: Part, data: Path, out: Path) -> None:
    """Make the figures of a part where they are not there yet."""
    figures = out / f"{part.name}.json"
    if figures.is_file():
        return
    store = ["--store", str(out / "store")]
    folder = ["--out", str(out / part.name), "--min-coverage", "0", "--json", str(figures)]
    for command, more in ((part.before, []), (f"bench {part.arguments}", folder)):
        if command:
            words = shlex.split(filled(command, data, out))
            for i, word in enumerate(words):
                if "*" in word:  # as a shell would
                    words[i] = str(next(out.glob(word.removeprefix(f"{out}/"))))
            print(f"{part.name}: veridical {shlex.join(words)}", flush=True)
            run_one = [sys.executable, "-m", "veridical", *words, *store, *more]
            subprocess.run(run_one, check=True)
    (out / f"{part.name}.nli").write_text(shipped_weights(), "utf-8")


def figures_of(part: Part, out: Path) -> dict[str, Any]:
    """Return the page's content for a part that is done."""
    text = (out / f"{part.name}.json").read_text("utf-8")
    bench = json.loads(text.replace(str(out.resolve()), "OUT"))
    rows = [
        {**{key: _rounded(row[key]) for key in KEPT}, "in_domain": "in_domain" in row["flags"]}
        for row in bench["rows"]
        if row["metric"] in METRICS
        and row["scorer"] not in LEFT_OUT
        and (row["value"] is not None or "constant" in row["flags"])
    ]
    weights = (out / f"{part.name}.nli").read_text("utf-8")
    reading = {name for name, text in bench["signatures"].items() if "|nli:" in text}
    for row in rows:
        if row["scorer"] in reading or (reading and row["scorer"] == "risk"):
            row["nli"] = weights
    content = {"name": part.name, "title": part.title, "commands": part.shown(), "rows": rows}
    return {**content, "published": list(part.published), "entries": list(part.entries)}


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def page(found: Sequence[dict[str, Any]]) -> str:
    """Format the whole page."""
    return "\n\n".join([HEAD, *map(_section, found)]) + "\n"


def _section(part: dict[str, Any]) -> str:
    parts = [f"## {part['title']}", "\n".join(f"    {c}" for c in part["commands"])]
    for split in dict.fromkeys(row["split"] for row in part["rows"]):
        rows = [row for row in part["rows"] if row["split"] == split]
        n = max(row["n_total"] for row in rows)
        parts += [f"{rows[0]['suite']}, {split}, n = {n}:", _table(rows)]
    parts += replaced(part["rows"])
    parts += [f"Published: {text}." for text in part["published"]]
    return "\n\n".join(parts)


def replaced(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return the note on rows by other weights than the shipped ones, if there are any."""
    shipped = shipped_weights()
    made = sorted({row["nli"] for row in rows if row.get("nli", shipped) != shipped})
    return [REPLACED.format(made=", ".join(made), shipped=shipped)] if made else []


def _table(rows: Iterable[dict[str, Any]]) -> str:
    """Format scorers down and metrics across, each figure with its interval."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        marks = " (in-domain)" if row["in_domain"] else ""
        missing = row["n_total"] - row["n_scored"]
        marks += f" ({missing} not scored)" if missing else ""
        name = f"`{row['scorer']}`{' †' if replaced([row]) else ''}{marks}"
        name = f"*baseline:* {name}" if row["scorer"] in BASELINES else name
        cells.setdefault(name, {})[row["metric"]] = _figure(row)
    heads = [m for m in METRICS if any(m in row for row in cells.values())]
    body = [[name, *(row.get(m, "") for m in heads)] for name, row in cells.items()]
    lines = [["scorer", *heads], ["---"] + ["---:"] * len(heads), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _figure(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return "constant"
    value = f"{row['value']:.3f}"
    if row["ci_low"] is None or row["ci_high"] is None:
        return value
    return f"{value} [{row['ci_low']:.2f}, {row['ci_high']:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--only", action="append", choices=[p.name for p in PARTS])
    parser.add_argument(
        "--page",
        type=Path,
        help="write the page of all that is done, with a JSON file of its figures",
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        if args.only is None or part.name in args.only:
            run(part, args.data.resolve(), args.out.resolve())
    done = [p for p in PARTS if (args.out / f"{p.name}.json").is_file()]
    found = [figures_of(p, args.out) for p in done]
    if args.page is not None:
        args.page.write_text(page(found), encoding="utf-8")
        lines = ",\n".join(map(json.dumps, found))  # a line each
        args.page.with_suffix(".json").write_text(f"[{lines}]\n", "utf-8")


if __name__ == "__main__":
    main()
