"""Knowledge of a language model about the statements that it wrote itself.

    python benchmarks/rule_errors.py prompts --data DATA --out prompts.jsonl
    veridical sample prompts.jsonl --llm local:qwen-1.5b --n 2 --max-tokens 100 --out answers.jsonl
    python benchmarks/own_knowledge.py answers.jsonl --llm local:qwen-1.5b

RefChecker (appendix D.1) asks each answering model about its own triplets, without the context.
Here the model that wrote the answers judges their sentences without prompt, context or samples
(``statement_judge``). It judges the same answers with rule-made errors too. Answers about topics
rest on the model's knowledge, summaries of contracts on the text in the prompt.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rule_errors import with_errors

import veridical
from veridical.stats.resampling import Resampler, interval

#: A probability of truth between these is no opinion.
UNSURE = (0.4, 0.6)
ERRORS, RESAMPLES = 5, 2000


def records(answers: Sequence[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield each greedy answer alone, unchanged and with errors."""
    for at, row in enumerate(answers):
        other = answers[(at + 1) % len(answers)]["response"]
        for n in (0, ERRORS):
            text = with_errors(row["response"], other, n, seed=at)
            yield {"id": f"{row['id']}/{n}", "response": text}


def shares(truths: Sequence[tuple[str, float]]) -> dict[str, str]:
    """Return the shares of sentences held true, unsure and false, with intervals over texts."""
    low, high = UNSURE
    groups = np.unique([text for text, _ in truths], return_inverse=True)[1]
    values = np.array([truth for _, truth in truths])
    weights = np.concatenate(list(Resampler(groups, RESAMPLES, 0).chunks()))
    found = {"sentences": str(len(truths))}
    for name, kept in (
        ("true", values > high),
        ("unsure", (values >= low) & (values <= high)),
        ("false", values < low),
    ):
        ends = interval(weights @ kept / weights.sum(axis=1))
        found[name] = f"{kept.mean():.2f} [{', '.join(f'{end:.2f}' for end in ends)}]"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("answers", type=Path)
    parser.add_argument("--llm", required=True, help="the model that wrote the answers")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.answers.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row.get("response")]
    found = veridical.check(list(records(rows)), scorers="statement_judge", llm=args.llm)
    truths: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for result in found:
        kind, text, n = result.id.split("/")
        for unit in result.scores["statement_judge"].units or ():
            if unit.risk is not None:
                truths.setdefault((kind, n), []).append((text, 1 - unit.risk))
    print("| answers | errors put in | sentences | held true | unsure | held false |")
    print("|---" * 6 + "|")
    for (kind, n), values in sorted(truths.items()):
        print(f"| {kind} | {n} | {' | '.join(shares(values).values())} |")


if __name__ == "__main__":
    main()
