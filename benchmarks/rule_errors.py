"""Scores of texts by the number of rule-made errors in them.

    python benchmarks/rule_errors.py prompts --data DATA --out prompts.jsonl
    veridical sample prompts.jsonl --llm local:qwen-1.5b --n 2 --max-tokens 100 --out answers.jsonl
    python benchmarks/rule_errors.py measure answers.jsonl --json figures.json

CheckEmbed's study of forced errors asks a language model for texts with errors (appendix B). A
small model does not write what is asked. Here a model writes several texts to a prompt, and a rule
changes 1 to 10 places of a text. A place gets another number or name, a negation, an opposite, or a
word of another topic. So the number of errors is known. Each text, changed and unchanged, is
compared with the other texts of its prompt.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import veridical
from veridical.stats.resampling import Resampler, interval
from veridical_lab.studies.checkembed.topics import ERRORS

LEVELS = (1, 2, 3, 5, 10)
SCORERS = "cosine, bert_score, selfcheck_bertscore, selfcheck_nli, support"
CHUNKS, CHUNK_WORDS, RESAMPLES = 8, 300, 2000
ASK = "Write one paragraph of about 70 words about {topic}. Write plain text."
SUMMARISE = (
    "Summarise this contract in one paragraph of about 70 words. Write plain text.\n\n{text}"
)
#: Words and their opposites.
PAIRS = """
before/after more/less increase/decrease increases/decreases high/low higher/lower large/small
larger/smaller first/last can/cannot may/must north/south positive/negative inside/outside hot/cold
above/below early/late always/never buyer/seller strong/weak slow/fast old/new rise/fall begin/end
attract/repel absorb/emit cause/prevent include/exclude includes/excludes purchase/sale allow/forbid
allows/forbids release/store into/from with/without
"""
OPPOSITES = dict(pair.split("/")[::way] for pair in PAIRS.split() for way in (1, -1))
TO_NEGATE = re.compile(r"\b(is|are|was|were|will|has|have|shall)\b(?! not\b)")
NUMBER = re.compile(r"\b\d+(?:\.\d+)?\b")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b")
LONG_WORD = re.compile(r"\b[a-z]{7,}\b")


class Edit(NamedTuple):
    """Replacement of a part of a text."""

    start: int
    end: int
    text: str


def edits(text: str, other: str, draw: random.Random) -> Iterator[Edit]:
    """Yield all changes of a text that make it wrong, words being taken from another one."""
    words, names = LONG_WORD.findall(other), NAME.findall(other)
    own = set(LONG_WORD.findall(text)) | set(NAME.findall(text))
    for found in NUMBER.finditer(text):
        changed = f"{round(float(found[0]) * draw.choice((0.5, 2, 3))) + 1}"
        yield Edit(found.start(), found.end(), changed)
    for found in TO_NEGATE.finditer(text):
        yield Edit(found.start(), found.end(), f"{found[0]} not")
    for word, opposite in OPPOSITES.items():
        for found in re.finditer(rf"\b{word}\b", text):
            yield Edit(found.start(), found.end(), opposite)
    for pattern, pool in ((NAME, names), (LONG_WORD, words)):
        strange = sorted(set(pool) - own)
        for found in pattern.finditer(text):
            if strange:
                yield Edit(found.start(), found.end(), draw.choice(strange))


def with_errors(text: str, other: str, n: int, seed: int) -> str:
    """Return the text with ``n`` changes in different places, or with as many as it takes."""
    draw = random.Random(seed)
    candidates = list(edits(text, other, draw))
    draw.shuffle(candidates)
    chosen: list[Edit] = []
    for edit in candidates:
        if len(chosen) < n and all(e.end < edit.start or edit.end < e.start for e in chosen):
            chosen.append(edit)
    for edit in sorted(chosen, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def prompts(data: Path) -> Iterator[dict[str, str]]:
    for topic in ERRORS["scientific"]:
        yield {"id": f"scientific/{topic}", "prompt": ASK.format(topic=topic)}
    path = data / "checkembed" / "legal_definitions.json"
    for n, chunk in enumerate(json.loads(path.read_text("utf-8"))["data"][:CHUNKS]):
        text = " ".join(chunk["chunk_txt"].split()[:CHUNK_WORDS])
        yield {"id": f"legal/{n}", "prompt": SUMMARISE.format(text=text)}


def records(answers: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each text, unchanged and with errors, with the other texts of its prompt."""
    for at, row in enumerate(answers):
        samples = [s if isinstance(s, str) else s["text"] for s in row["samples"]]
        texts = [row["response"], *samples]
        other = answers[(at + 1) % len(answers)]["response"]
        for mine, text in enumerate(texts):
            rest = texts[:mine] + texts[mine + 1 :]
            for n in (0, *LEVELS):
                changed = with_errors(text, other, n, seed=at * 100 + mine)
                yield {"id": f"{row['id']}/{mine}/{n}", "response": changed, "samples": rest}


def measure(rows: Sequence[dict[str, Any]], scorers: str, nli: str) -> list[dict[str, Any]]:
    """Return, by kind of text, scorer and number of errors, how unchanged and changed texts differ.

    Means are of confidence (1 - risk). ``auroc``: how often an unchanged text has the smaller
    risk, of all pairs of one kind. ``own``: the same of each text and its own changed form.
    Intervals are of resampled prompts.
    """
    found = veridical.check(list(records(rows)), scorers=scorers, nli=nli)
    risks: dict[tuple[str, str], dict[tuple[str, int, int], float]] = {}
    for result in found:
        kind, topic, mine, n = result.id.split("/")
        for name, score in result.scores.items():
            if score.risk is not None:
                risks.setdefault((kind, name), {})[topic, int(mine), int(n)] = score.risk
    return [
        _figure(kind, name, n, by_text)
        for (kind, name), by_text in risks.items()
        for n in LEVELS
        if len({topic for topic, _, _ in by_text}) > 1
    ]


def _figure(
    kind: str, name: str, n: int, by_text: dict[tuple[str, int, int], float]
) -> dict[str, Any]:
    pairs = [
        (topic, by_text[topic, mine, 0], by_text[topic, mine, n])
        for topic, mine, level in by_text
        if level == n and (topic, mine, 0) in by_text
    ]
    clean, wrong = (np.array([p[i] for p in pairs]) for i in (1, 2))
    above = _above(wrong[:, None], clean[None, :])
    own = _above(wrong, clean)
    groups = np.unique([p[0] for p in pairs], return_inverse=True)[1]
    weights = np.concatenate(list(Resampler(groups, RESAMPLES, 0).chunks()))
    total = weights.sum(axis=1)
    figure: dict[str, Any] = {"kind": kind, "scorer": name, "errors": n, "n": len(pairs)}
    figure |= {"clean": float(1 - clean.mean()), "wrong": float(1 - wrong.mean())}
    for label, value, resampled in (
        ("auroc", above.mean(), ((weights @ above) * weights).sum(axis=1) / total**2),
        ("own", own.mean(), weights @ own / total),
    ):
        low, high = interval(resampled)
        figure |= {label: float(value), f"{label}_low": low, f"{label}_high": high}
    return figure


def _above(left: Any, right: Any) -> Any:
    """Return 1 where the left value is greater, one half where both are equal."""
    return (left > right) + 0.5 * (left == right)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    asked = commands.add_parser("prompts")
    asked.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    asked.add_argument("--out", type=Path, required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("answers", type=Path)
    measuring.add_argument("--scorers", default=SCORERS)
    measuring.add_argument("--nli", default="mini")
    measuring.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    if args.command == "prompts":
        lines = [json.dumps(row) for row in prompts(args.data)]
        args.out.write_text("\n".join(lines) + "\n", "utf-8")
        return
    rows = [json.loads(line) for line in args.answers.read_text("utf-8").splitlines()]
    figures = measure([row for row in rows if row.get("response")], args.scorers, args.nli)
    print("| texts | scorer | errors | mean without | mean with | AUROC | own |")
    print("|---" * 7 + "|")
    for f in figures:
        cells = [
            f"{f[x]:.3f} [{f[f'{x}_low']:.3f}, {f[f'{x}_high']:.3f}]" for x in ("auroc", "own")
        ]
        means = f"{f['clean']:.3f} | {f['wrong']:.3f}"
        print(f"| {f['kind']} | `{f['scorer']}` | {f['errors']} | {means} | {' | '.join(cells)} |")
    if args.json is not None:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
