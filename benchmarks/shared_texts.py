"""Savings of reading each text once, for shared contexts and samples.

    python benchmarks/shared_texts.py --data DATA [--rounds 3]

One context has 100 answers: HaluEval's summaries, all compared with one context of 40 000
characters (documents of the same set). Samples are WikiBio GPT-3's, 20 a passage. The embedded NLI
model windows the pairs as usual, but its forwards are left out: they are as many either way.
Printed are processor seconds with the memo of texts and without it, by turns, the least of some
rounds. The numbers of texts that were split into sentences and tokenised follow, without the memo
and with it. Exit status 1 if the results of the two differ, or a text was read twice with the memo.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from long_contexts import SIZE, summaries

import veridical
import veridical.models
from veridical.core.protocols import LABELS, Window
from veridical.engine.engine import Engine
from veridical.text import sentences
from veridical.text.memo import TEXTS, Memo

ANSWERS, PASSAGES = 100, 10
BY_SAMPLES = (
    "nli_grounding(against=samples), claims(against=samples), selfcheck_nli, luq, "
    "semantic_entropy, degree"
)
Row = dict[str, Any]


class Ran(NamedTuple):
    """Seconds and result lines of a run, and the numbers of splits and tokenisations of texts."""

    seconds: float
    lines: list[bytes]
    split: Counter[str]
    tokenised: Counter[str]


def one_context(data: Path) -> list[Row]:
    context = next(summaries(data, 1, SIZE, seed=3))["contexts"]
    rows = summaries(data, ANSWERS // 2, 1)
    # each row has a copy of its own, as those that are read from a file do
    return [{"response": r["response"], "contexts": "".join(list(context))} for r in rows]


def with_samples(data: Path) -> list[Row]:
    with (data / "wikibio_gpt3" / "wikibio_gpt3.jsonl").open(encoding="utf-8") as lines:
        items = [json.loads(line) for line in islice(lines, PASSAGES)]
    return [{"response": i["gpt3_text"], "samples": i["gpt3_text_samples"]} for i in items]


class Still:
    """A model without its forwards: probabilities by the tokens of a window."""

    def __init__(self, model: Any, tokenised: Counter[str]) -> None:
        self._model = model
        self._tokenised = tokenised

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def windows(self, pairs: Sequence[Any]) -> list[list[Window]]:
        windower = self._model._windower
        encode = windower._encode

        def counted(texts: Sequence[str]) -> list[Any]:
            self._tokenised.update(texts)
            encodings: list[Any] = encode(texts)
            return encodings

        with patch.object(windower, "_encode", counted):
            windows: list[list[Window]] = windower(pairs)
        return windows

    def run(self, batch: Sequence[Window]) -> list[Any]:
        sums = [int(w.content.premise.sum() * 31 + w.content.hypothesis.sum()) for w in batch]
        table = np.array([[s % 97, s % 89, s % 83] for s in sums], np.float64) + 1
        return list((table / table.sum(axis=1, keepdims=True)).astype(np.float32))

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Any:
        from veridical.models.nli.pairs import merge

        words = np.full(windows[0].content.words.total, 0.5, np.float32)
        return np.concatenate([merge(windows, outputs)[: len(LABELS)], words])


@contextmanager
def nothing_kept() -> Iterator[None]:
    with patch.object(Memo, "keep", lambda *_: None):
        yield


def run(model: Any, rows: list[Row], scorers: str, *, keep: bool) -> Ran:
    split: Counter[str] = Counter()
    tokenised: Counter[str] = Counter()
    inner = sentences.split_anew

    def counted(text: str) -> list[Any]:
        split[text] += 1
        return inner(text)

    TEXTS.clear()
    model._windower._known.clear()
    still = Still(model, tokenised)
    with ExitStack() as stack:
        stack.enter_context(patch.object(sentences, "split_anew", counted))
        stack.enter_context(patch("veridical.models.load_nli", lambda *_, **__: still))
        if not keep:
            stack.enter_context(nothing_kept())
        engine = stack.enter_context(Engine(store=None, processes=0))
        started = time.process_time()
        lines = list(veridical.check(rows, scorers, engine=engine).lines())
        seconds = time.process_time() - started
    for line in lines:
        for name, score in json.loads(line)["scores"].items():
            if score["status"] != "scored":
                sys.exit(f"{name}: {score['status']}: {score['reason']}")
    return Ran(seconds, lines, split, tokenised)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    model = veridical.models.load_nli()
    one, many = one_context(arguments.data), with_samples(arguments.data)
    cases = [
        (f"one context, {len(one)} answers: nli_grounding", one, "nli_grounding"),
        (f"one context, {len(one)} answers: claims", one, "claims"),
        (f"{len(many)} answers with 20 samples: six scorers", many, BY_SAMPLES),
        ("one answer with 20 samples: six scorers", many[:1], BY_SAMPLES),
    ]
    run(model, one[:2], "nli_grounding, claims", keep=True)  # what is imported
    print("processor seconds, forwards left out        none kept    kept        split  tokenised")
    wrong = False
    for name, rows, scorers in cases:
        seconds: dict[bool, list[float]] = {True: [], False: []}
        ran: dict[bool, Ran] = {}
        for _ in range(arguments.rounds):
            for keep in (False, True):
                ran[keep] = run(model, rows, scorers, keep=keep)
                seconds[keep].append(ran[keep].seconds)
        before, after = min(seconds[False]), min(seconds[True])
        print(f"{name:<44} {before:>8.2f} {after:>7.2f}  {before / after:.1f} x", end=" ")
        anew, kept = ran[False], ran[True]
        reads = ((anew.split, kept.split), (anew.tokenised, kept.tokenised))
        print(*(f"{a.total():>6,} -> {k.total():,}" for a, k in reads))
        twice = [text for _, counts in reads for text, times in counts.items() if times > 1]
        wrong = wrong or bool(twice) or kept.lines != anew.lines
        for text in twice[:5]:
            print(f"  read twice: {text[:80]!r}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
