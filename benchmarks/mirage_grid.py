"""Mirage's factor study on three models, five decodings and two prompt sets.

    python benchmarks/mirage_grid.py --data DATA --out FOLDER [--prompts 20] [--set qa]

The prompts, drawn by seed, are twenty messages of BEGIN wow/test with their knowledge, and twenty
TruthfulQA questions. Qwen2.5-Coder-1.5B, -0.5B and SmolLM2-135M answer them by greedy decoding,
beams, and three kinds of draws. The answers are scored, and ``bench --study`` tests the effects of
decoding and size. All three models are instruction-tuned, so tuning cannot be tested. FOLDER has
prompts, grids, answers, tables, and a report for each set; the same command resumes an interrupted
run. Twenty minutes on two cores with bfloat16. ``--samples 3`` adds scorers that need more
answers, and the largest model as a judge.

Needs: the extras [local] and [gguf], and ``veridical models get qwen-1.5b qwen-0.5b smollm2``.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "veridical"]
MODELS = [
    ("Qwen2.5-Coder-1.5B", "qwen-1.5b", "1.5B"),
    ("Qwen2.5-Coder-0.5B", "qwen-0.5b", "0.5B"),
    ("SmolLM2-135M", "smollm2", "135M"),
]
#: A server of llama.cpp has no beams.
WAYS = [
    ("local:{}", ["greedy", "ancestral", "top_k:40", "top_p:0.95"]),
    ("torch:{}?dtype=bfloat16", ["beam:3"]),
]
SCORERS = {
    "knowledge": "ensemble, nli_grounding, claims, knowledge_f1, knowledge_bertscore, "
    "rouge_l(against=contexts), sacrebleu(against=contexts), "
    "sequence_probability(length_normalize=false), perplexity",
    "qa": "ensemble, reference_match, entailment(against=reference), "
    "bert_score(against=reference), rouge_l, sacrebleu, "
    "sequence_probability(length_normalize=false), perplexity",
}
#: Further scorers with ``--samples``.
BY_SAMPLES = "semantic_entropy, sar, statement_judge(llm='local:qwen-1.5b')"


def prompts(data: Path, count: int) -> dict[str, list[dict[str, Any]]]:
    """Draw the rows of both sets."""
    draw = random.Random(0)
    with (data / "begin" / "test_wow.tsv").open(encoding="utf-8", newline="") as lines:
        replies = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    draw.shuffle(replies)
    path = data / "truthfulqa" / "TruthfulQA_generation.jsonl"
    questions = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    draw.shuffle(questions)
    return {
        "knowledge": [
            {
                "id": f"k{i}",
                "prompt": f"Knowledge: {row['knowledge']}\nMessage: {row['message']}\n"
                "Reply to the message in one sentence, by the knowledge alone.",
                "contexts": [row["knowledge"]],
            }
            for i, row in enumerate(replies[:count])
        ],
        "qa": [
            {
                "id": f"q{i}",
                "prompt": f"{row['question']}\nAnswer in one sentence.",
                "reference": row["best_answer"],
            }
            for i, row in enumerate(questions[:count])
        ],
    }


def grid(name: str, *, beams: bool) -> str:
    """Write the TOML of the models, for the set ``name``."""
    lines = [f'dataset = "{name}"']
    for model, weights, size in MODELS:
        for spec, decodings in WAYS if beams else WAYS[:1]:
            lines += [
                "[[model]]",
                f'name = "{model}"',
                f'llm = "{spec.format(weights)}"',
                f'size = "{size}"',
                'tuning = "instruct"',
                f"decodings = {json.dumps(decodings)}",
            ]
    return "\n".join(lines) + "\n"


def run(folder: Path, *arguments: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], cwd=folder)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--prompts", type=int, default=20, help="prompts of each set")
    parser.add_argument("--set", choices=SCORERS, action="append", help="default: both")
    parser.add_argument(
        "--samples", type=int, default=0, help="further draws of each answer; without beams"
    )
    arguments = parser.parse_args()
    drawn = arguments.samples > 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, rows in prompts(arguments.data, arguments.prompts).items():
        if arguments.set and name not in arguments.set:
            continue
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (arguments.out / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        (arguments.out / f"{name}.toml").write_text(grid(name, beams=not drawn), "utf-8")
        asked = ["--max-tokens", "60", "--seed", "1", "--logprobs", "5", "--n"]
        run(
            arguments.out,
            *("sample", f"{name}.jsonl", "--grid", f"{name}.toml", *asked, str(arguments.samples)),
            *("--out", f"{name}.out.jsonl", "--table", f"{name}.csv"),
            *("--scorers", SCORERS[name] + f", {BY_SAMPLES}" * drawn),
        )
        run(
            arguments.out,
            *("bench", "--study", "--table", f"{name}.csv", "--size-bins", "0.3,1"),
            *("--report", f"{name}.html", "--report", f"{name}.md", "--json", f"{name}.json"),
        )


if __name__ == "__main__":
    main()
