"""Entailment by single sentences of a source, its windows, and both.

    python training/sentences_alone.py --data DATA --checker WORK/checker [--nli base mini]

Each sentence of an answer is judged by the windows of its sources. It is also judged by the one,
two or three sentences of each window that share most words with it, each alone. For each set the
AUROC of 1 - P(entailment) of the worst sentence is printed. The accuracy at 0.5 follows, right and
wrong answers counting the same, then the share of additional words that the model reads.

Sets: those with contexts that the default is fitted on (``default_data.py``), and the plain
development pairs. The rule of ``veridical.core.passage_verdicts`` was chosen on BEGIN's dev parts
and HaluEval qa.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from default_data import load
from nli_quality import judge

from veridical.core.passage_verdicts import ALONE
from veridical.core.protocols import Pair
from veridical.core.records import Record
from veridical.core.stated import stated_sentences, stating_sentences
from veridical.models import load_nli
from veridical.stats.metrics.ranking import auroc
from veridical.text.passages import windows
from veridical.text.relevance import candidates
from veridical.text.words import words_of

HOME = Path(__file__).parent.parent
MOST = 3  # sentences of a window that are asked


class Read(NamedTuple):
    """A window and its sentences most about what is judged, by their places among the pairs."""

    whole: int
    alone: list[int]


Sentences = list[list[Read]]  # of each sentence of an answer, what it is judged by
Rule = Callable[[float, list[float]], float]


def mean_with(most: int) -> Rule:
    """Return a rule: mean of P(entailment) by a window and the largest by ``most`` sentences."""
    return lambda whole, alone: (whole + max(alone[:most])) / 2 if alone else whole


RULES: dict[str, Rule] = {
    "the whole": lambda whole, _: whole,
    "1 sentence": lambda whole, alone: max(alone[:1], default=whole),
    "2 sentences": lambda whole, alone: max(alone[:2], default=whole),
    "mean, 1": mean_with(1),
    "mean, 2": mean_with(2),
    "mean, 3": mean_with(3),
}


def sets(data: Path, checker: Path, limit: int) -> Iterator[tuple[str, list[Record], np.ndarray]]:
    for one in load(data, HOME, checker):
        if one.field == "contexts" and one.role == "fit":
            rows = [Record.model_validate(row) for row in one.rows[:limit]]
            yield one.name, rows, np.array(one.labels[:limit])
    rows, labels = [], []
    with (data / "plain" / "dev.jsonl").open(encoding="utf-8") as lines:
        for item in map(json.loads, lines):
            for label, name in enumerate(("right", "wrong")):
                if item.get("contexts") and item.get(name):
                    rows.append(
                        Record(
                            response=item[name],
                            prompt=item.get("question"),
                            contexts=item["contexts"],
                        )
                    )
                    labels.append(float(label))
    yield "plain pairs", rows, np.array(labels)


def read(records: list[Record]) -> tuple[list[Sentences], list[Pair]]:
    """Collect the readings of each answer, and the pairs to judge."""
    places: dict[Pair, int] = {}
    answers: list[Sentences] = []
    for record in records:
        said = stated_sentences(record, stating_sentences(record))
        answers.append([])
        for text in said:
            reads = []
            for window in (w for c in record.contexts for w in windows(c.text)):
                sentences = tuple(s.text for s in window.sentences)
                about = candidates(sentences).nearest(words_of(text), MOST)
                asked = [sentences[i] for i in about] if len(sentences) > 1 else []
                whole, *alone = (
                    places.setdefault(Pair(premise, text), len(places))
                    for premise in (window.text, *asked)
                )
                reads.append(Read(whole, alone))
            answers[-1].append(reads)
    return answers, list(places)


def figures(answers: list[Sentences], labels: np.ndarray, e: np.ndarray, rule: Rule) -> str:
    known = np.array([bool(a) for a in answers])
    risks = np.array(
        [
            1 - min(max(rule(e[r.whole], e[r.alone].tolist()) for r in reads) for reads in answer)
            for answer in answers
            if answer
        ]
    )
    labels = labels[known]
    right = ((risks >= 0.5) == labels).astype(float)
    accuracy = (right[labels == 1].mean() + right[labels == 0].mean()) / 2
    return f"{auroc(labels, risks):.3f} / {accuracy:.3f}"


def more_words(answers: list[Sentences], pairs: list[Pair]) -> float:
    """Count the words of sentences that the rule reads alone, as a share of the windows'."""
    reads = [r for answer in answers for sentence in answer for r in sentence]
    first = {r.whole for r in reads}
    second = {i for r in reads for i in r.alone[:ALONE]} - first

    def words(places: set[int]) -> int:
        return sum(len(words_of(text)) for i in places for text in pairs[i])

    return words(second) / words(first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--checker", type=Path, required=True, help="folder of checker_data.py")
    parser.add_argument("--nli", nargs="+", default=["mini"])
    parser.add_argument("--limit", type=int, default=300, help="answers of each set")
    options = parser.parse_args()
    for name in options.nli:
        model = load_nli(name)
        print(f"\n{name}: AUROC / accuracy at 0.5")
        for title, records, labels in sets(options.data, options.checker, options.limit):
            answers, pairs = read(records)
            e = judge(model, pairs)[:, 0]
            print(f"{title}, {len(records)} answers")
            for rule, of in RULES.items():
                print(f"    {rule:24} {figures(answers, labels, e, of)}")
            print(f"    additional words read    {more_words(answers, pairs):.0%}")


if __name__ == "__main__":
    main()
