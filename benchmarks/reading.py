"""Reading speed of language models: torch in float32, and the engine.

    python benchmarks/reading.py --data DATA --model PATH.gguf [--model PATH.gguf ...]
        [--limit 6] [--threads N]

Both read the same GGUF file and the same texts, by as many threads, and take turns record by
record. PyTorch unpacks the file, which takes the extra gguf. The engine has no torch. Texts are
articles of HaluEval's summarization with their right and their hallucinated summary, a record each.
Two workloads:

- ``explained_surprisal(against=contexts)``, as `veridical check` runs it: each summary after its
  article, and alone. The number of requested tokens is the same for both. The engine reads an
  article once for both of its summaries, torch once for each.
- raw: the log-probabilities of every token of article and summary, which share nothing.

Loading is not timed, nor the first article of each. Ratios are of summed times. How far apart the
log-probabilities are is printed too.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import veridical
from veridical.core.protocols import LanguageModel
from veridical.core.tokens import GivenText
from veridical.models.onnx import usable_processors

SCORER = "explained_surprisal(against=contexts)"
AIM = 4.0


def articles(data: Path, limit: int) -> list[tuple[str, list[str]]]:
    """Load articles of 300 to 500 words, evenly spaced in the file, each with both summaries."""
    with (data / "halueval" / "dataset_halueval_summarization.jsonl").open(encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    fitting = [r for r in rows if 300 <= len(r["document"].split()) <= 500]
    chosen = fitting[:: max(len(fitting) // (limit + 1), 1)][: limit + 1]
    return [(r["document"], [r["right_summary"], r["hallucinated_summary"]]) for r in chosen]


def readings(model: LanguageModel, texts: list[GivenText]) -> np.ndarray:
    """Compute the log-probabilities of all tokens of the texts."""
    windows = model.windows(texts)
    outputs = iter(model.run([w for ws in windows for w in ws]))
    return np.concatenate(
        [model.assemble(ws, [next(outputs) for _ in ws]).logprobs for ws in windows]
    )


def turns(
    names: list[str], texts: list[Any], read: Callable[[str, Any], Any]
) -> tuple[Counter[str], dict[str, list[Any]]]:
    """Run all in turns; return the seconds and results of each, without the first text."""
    seconds: Counter[str] = Counter()
    found: dict[str, list[Any]] = {name: [] for name in names}
    for i, text in enumerate(texts):
        for name in names if i % 2 else names[::-1]:
            started = time.perf_counter()
            value = read(name, text)
            if i:
                seconds[name] += time.perf_counter() - started
                found[name].append(value)
    return seconds, found


def show(title: str, tokens: int, seconds: Counter[str]) -> None:
    rates = ", ".join(f"{name} {tokens / taken:.0f}" for name, taken in sorted(seconds.items()))
    ratio = seconds["torch"] / seconds["engine"]
    short = "" if ratio >= AIM else f" (the aim is {AIM:.0f}: {ratio / AIM:.0%} of it)"
    print(f"{title}: {tokens} tokens requested; tokens a second: {rates}; ratio {ratio:.2f}{short}")


def reader(engine: veridical.Engine) -> LanguageModel:
    """Return the language model that the engine has loaded."""
    backends: list[Any] = [service.backend for service in engine._services.values()]
    return next(b for b in backends if hasattr(b, "chat_prompt"))


def compared(path: Path, sample: list[tuple[str, list[str]]], threads: int) -> None:
    specs = {"torch": f"torch:{path}", "engine": str(path)}
    names = list(specs)
    with ExitStack() as stack:
        engines = {
            name: stack.enter_context(
                veridical.Engine(store=None, proxy=spec, threads=threads, device="cpu")
            )
            for name, spec in specs.items()
        }

        def scores(name: str, text: tuple[str, list[str]]) -> list[float]:
            rows = [{"response": summary, "contexts": [text[0]]} for summary in text[1]]
            return [result.risk for result in veridical.check(rows, SCORER, engine=engines[name])]

        print(f"\n{path.name}: {threads} threads; load of the machine {os.getloadavg()[0]:.1f}")
        for name in names:  # loads the models
            started = time.perf_counter()
            scores(name, sample[0])
            taken = time.perf_counter() - started
            print(f"  {name}: loaded, and two summaries read, in {taken:.0f} s")
        models = {name: reader(engine) for name, engine in engines.items()}
        asked = [
            GivenText(before, summary)
            for article, summaries in sample[1:]
            for summary in summaries
            for before in ("\n\n", f"{article.strip()}\n\n")
        ]
        tokens = sum(w.length for ws in models["engine"].windows(asked) for w in ws)
        seconds, found = turns(names, sample, scores)
        show(SCORER, tokens, seconds)
        away = np.abs(np.ravel(found["engine"]) - np.ravel(found["torch"]))
        print(f"  risks differ by {away.mean():.3f} in the mean, {away.max():.3f} at most")

        raw = [GivenText("", f"{article}\n\n{summaries[0]}") for article, summaries in sample]
        tokens = sum(w.length for ws in models["engine"].windows(raw[1:]) for w in ws)
        seconds, found = turns(names, raw, lambda name, text: readings(models[name], [text]))
        show("raw", tokens, seconds)
        one, other = np.concatenate(found["engine"]), np.concatenate(found["torch"])
        print(
            f"  log-probabilities differ by {np.abs(one - other).mean():.3f} in the mean, "
            f"correlation {np.corrcoef(one, other)[0, 1]:.4f}; load of the machine "
            f"{os.getloadavg()[0]:.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("--model", type=Path, action="append", required=True, help="a GGUF file")
    parser.add_argument("--limit", type=int, default=6, help="articles, of two summaries each")
    parser.add_argument("--threads", type=int, default=usable_processors())
    args = parser.parse_args()
    sample = articles(args.data, args.limit)
    words = np.mean([len(article.split()) for article, _ in sample])
    print(f"{len(sample) - 1} articles of {words:.0f} words in the mean, two summaries each")
    for path in args.model:
        compared(path, sample, args.threads)


if __name__ == "__main__":
    main()
