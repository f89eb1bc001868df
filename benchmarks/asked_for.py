"""Scorers that users of other tools ask for, on public data.

They are compared with the answer's length and the best scorers of their cost.

    python benchmarks/asked_for.py --data DATA [--part citations,turns,...] [--items 120]
        [--out FOLDER]
    python benchmarks/asked_for.py --data DATA --part relevancy --llm local:qwen-1.5b --items 10

No available public set labels citations, rankings or turns, so most tasks are made from sets with
similar labels:

* an answer cites the passage it was written from, or another's;
* the passage of a question is among those of like questions, or is missing;
* three exchanges make a conversation.

The names of such tasks say so (docs/evidence/requested-scorers.md). Labels of answers are the sets'
own. Nothing was fitted here.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import veridical
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.io import open_source
from veridical.scorers._most_about import place_most_about
from veridical.stats.metrics.ranking import areas
from veridical.text.relevance import MostAbout
from veridical.text.sentences import split_sentences
from veridical.text.words import words
from veridical_lab.bench import bench

Row = dict[str, Any]
BEGIN = ("cmu", "tc", "wow")
GROUNDING = "nli_grounding, claims, knowledge_f1, support"


@scorer("first_about", level="response", needs={"contexts", "reference"}, source="a baseline")
async def first_about(record: Record, evidence: Evidence) -> Score:
    """Compute 1 - 1 / rank of the context that shares most words with the reference."""
    texts = [c.text for c in record.contexts]
    place = place_most_about(evidence, record.reference[0], texts)
    return Score.of(1 - 1 / (place + 1))


def begin(data: Path, part: str) -> list[Record]:
    """Load replies with their knowledge and label, without generic ones, which state nothing."""
    rows = open_source(data / "begin" / f"dev_{part}.tsv", reader="begin").rows()
    return [r for r in rows if isinstance(r, Record) and r.label is not None and r.contexts]


def halueval(data: Path, part: str, count: int) -> list[Row]:
    """Load every tenth row of a part."""
    with (data / "halueval" / f"dataset_halueval_{part}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, 0, count * 10, 10)]


def truthful(data: Path) -> list[Row]:
    """Load questions with the best answer, and wrong answers."""
    with (data / "truthfulqa" / "TruthfulQA.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def others_like(texts: Sequence[str], count: int) -> list[list[int]]:
    """Return, for each text, the places of the others that share most words with it."""
    read = [words(t) for t in texts]
    near = []
    for i, own in enumerate(read):
        rest = [k for k in range(len(texts)) if k != i and texts[k] != texts[i]]
        chosen: list[int] = []
        for _ in range(count):
            place = MostAbout([read[k] for k in rest]).place(own)
            chosen.append(rest.pop(place))
        near.append(chosen)
    return near


def marked(text: str, number: int) -> str:
    """Add a citation to the end of every sentence."""
    sentences = split_sentences(text)
    return " ".join(
        f"{s.text[:-1]} [{number}]{s.text[-1]}" if s.text[-1:] in ".!?" else f"{s.text} [{number}]"
        for s in sentences
    )


def cited(data: Path, items: int) -> Iterator[tuple[str, Row]]:
    """Yield replies that cite the knowledge they were given, by BEGIN's labels.

    Then follow faithful ones that cite it or, one in two, another passage.
    """
    rng = random.Random(0)
    for part in BEGIN:
        records = begin(data, part)
        drawn = rng.sample(records, min(items, len(records)))
        near = others_like([r.contexts[0].text for r in drawn], 2)
        for i, record in enumerate(drawn):
            own = record.contexts[0].text
            contexts = [own, *(drawn[k].contexts[0].text for k in near[i])]
            rng.shuffle(contexts)
            place = contexts.index(own) + 1
            row = {"contexts": contexts, "group": f"{part} {i}"}
            task, labelled = f"begin {part}: not attributable", {**row, "label": record.label}
            yield task, {**labelled, "response": marked(record.response, place)}
            yield f"{task}, without markers", {**labelled, "response": record.response}
            if record.label == 0:
                wrong = place % len(contexts) + 1
                for label, number in enumerate((place, wrong)):
                    response = marked(record.response, number)
                    yield "begin: wrong passage", {**row, "response": response, "label": label}
    rows = halueval(data, "summarization", items // 3)
    for i, item in enumerate(rows):
        other = rows[i - 1]["document"]
        contexts = [item["document"], other] if i % 2 else [other, item["document"]]
        place = contexts.index(item["document"]) + 1
        for label, number in enumerate((place, 3 - place)):
            response = marked(item["right_summary"], number)
            row = {"contexts": contexts, "group": f"summary {i}", "label": label}
            yield "halueval summarization: wrong passage", {**row, "response": response}


def actions(data: Path, out: Path) -> list[list[str]]:
    """Claimed actions in answers that had no tools: of ChatGPT to users (HaluEval general) and of
    six models to summarise, describe and answer (RAGTruth). All are alarms to look at."""
    lines = []
    for name, file, field in (
        ("halueval general", data / "halueval" / "general_data.jsonl", "chatgpt_response"),
        ("ragtruth", data / "ragtruth_test" / "response.jsonl", "response"),
    ):
        with file.open(encoding="utf-8") as rows:
            answers = [json.loads(line)[field] for line in rows]
        prompt = [{"role": "user", "content": "Answer."}]
        records = ({"prompt": prompt, "response": a} for a in answers)
        results = [r.scores["actions"] for r in veridical.check(records, "actions", store=None)]
        found = [s for s in results if s.status == "scored"]
        with (out / f"actions-{name.replace(' ', '-')}.jsonl").open("w", encoding="utf-8") as file_:
            file_.writelines(json.dumps(s.raw) + "\n" for s in found)
        lines.append([f"{name}: claims an action", "actions", f"{len(found)} / {len(answers)}"])
        lines[-1] += [f"{len(found) / len(answers):.4f} of answers", ""]
    return lines


def retrieved(data: Path, items: int) -> Iterator[tuple[str, Row]]:
    """Gold answers with five passages, their own among them or, one in two, missing; the others
    are those most like it. Scorers of answers are given the gold answer as the response."""
    rng = random.Random(0)
    sets = {}
    qa = halueval(data, "qa", items)
    sets["halueval qa"] = [(r["question"], r["right_answer"], r["knowledge"]) for r in qa]
    faithful = [r for part in BEGIN for r in begin(data, part) if r.label == 0]
    drawn = rng.sample(faithful, min(items, len(faithful)))
    sets["begin"] = [(r.prompt, r.response, r.contexts[0].text) for r in drawn]
    for name, rows in sets.items():
        near = others_like([knowledge for _, _, knowledge in rows], 5)
        for i, (question, answer, knowledge) in enumerate(rows):
            passages = [rows[k][2] for k in near[i]]
            common = {"prompt": question, "response": answer, "reference": answer}
            common["group"] = f"{name} {i}"
            rank = rng.randrange(5)
            with_own = [*passages[:rank], knowledge, *passages[rank:4]]
            yield f"{name}: passage missing", {**common, "contexts": with_own, "label": 0}
            yield f"{name}: passage missing", {**common, "contexts": passages, "label": 1}
            label = round(1 - 1 / (rank + 1), 6)
            yield f"{name}: rank", {**common, "contexts": with_own, "label": label}


def asked(data: Path, items: int) -> Iterator[tuple[str, Row]]:
    """Yield right answers to their question and to the one most like it; and right and wrong ones.

    Scorers that compare are given the question as the context.
    """
    rng = random.Random(0)
    rows = rng.sample(truthful(data), min(items, 817))
    answers = [(r["Question"], r["Best Answer"]) for r in rows]
    wrong = [r["Incorrect Answers"].split(";")[0].strip() for r in rows]
    sets = {"truthfulqa": (answers, wrong)}
    qa = halueval(data, "qa", items)
    sets["halueval qa"] = (
        [(r["question"], r["right_answer"]) for r in qa],
        [r["hallucinated_answer"] for r in qa],
    )
    dialogue = halueval(data, "dialogue", items)
    sets["halueval dialogue"] = (
        [(_last(r["dialogue_history"]), r["right_response"]) for r in dialogue],
        [r["hallucinated_response"] for r in dialogue],
    )
    for name, (pairs, false) in sets.items():
        near = others_like([q for q, _ in pairs], 1)
        for i, (question, answer) in enumerate(pairs):
            common = {"prompt": question, "contexts": [question], "group": f"{name} {i}"}
            other = pairs[near[i][0]][1]
            yield f"{name}: other question", {**common, "response": answer, "label": 0}
            yield f"{name}: other question", {**common, "response": other, "label": 1}
            yield f"{name}: wrong answer", {**common, "response": answer, "label": 0}
            yield f"{name}: wrong answer", {**common, "response": false[i], "label": 1}


def _last(history: str) -> str:
    return history.rpartition("[Human]:")[2].strip()


def conversations(data: Path, items: int) -> Iterator[tuple[str, Row]]:
    """Yield three exchanges, each with the knowledge that a tool gave before the reply.

    Label: any reply is not attributable.
    """
    rng = random.Random(0)
    sets = {f"begin {part}": begin(data, part) for part in BEGIN}
    sets["halueval dialogue"] = [
        Record(
            prompt=_last(r["dialogue_history"]),
            response=r[f"{kind}_response"],
            contexts=(r["knowledge"],),
            label=label,
        )
        for i, r in enumerate(halueval(data, "dialogue", 3 * items))
        for label, kind in [((i % 3 == 0) * 1, ("right", "hallucinated")[i % 3 == 0])]
    ]
    for name, records in sets.items():
        drawn = rng.sample(records, min(3 * items, len(records) // 3 * 3))
        for i in range(0, len(drawn), 3):
            exchange = drawn[i : i + 3]
            messages: list[Row] = []
            for record in exchange:
                messages += [
                    {"role": "user", "content": str(record.prompt or "Go on.")},
                    {"role": "tool", "content": record.contexts[0].text},
                    {"role": "assistant", "content": record.response},
                ]
            yield (
                f"{name}: any of three turns",
                {
                    "prompt": messages[:-1],
                    "response": exchange[-1].response,
                    "contexts": [r.contexts[0].text for r in exchange],
                    "label": max(r.label or 0 for r in exchange),
                    "labels": [r.label for r in exchange],
                    "group": f"{name} {i}",
                },
            )


PARTS = {
    "citations": (cited, f"citations, {GROUNDING}"),
    "retrieval": (
        retrieved,
        "context_recall, context_recall(counting=expected), context_precision, first_about, "
        + GROUNDING,
    ),
    "relevancy": (
        asked,
        "answer_relevancy, answer_relevancy(aggregate=mean), answer_relevancy(aggregate=whole), "
        "knowledge_bertscore, knowledge_f1",
    ),
    "turns": (conversations, f"turns, {GROUNDING}"),
}
FACTS = (
    "factual_correctness, factual_correctness(counting=expected), "
    "factual_correctness(mode=precision,counting=expected), reference_match, "
    "claims(against=reference), nli_grounding(against=reference), knowledge_f1(against=reference), "
    "rouge_l"
)


def facts(data: Path, items: int, out: Path) -> list[list[str]]:
    """Measure answers by their gold answers.

    TruthfulQA is measured by its suite, biographies of WikiBio by their share of wrong sentences.
    """
    found = bench("truthfulqa", data / "truthfulqa", FACTS, limit=4 * items, out=out / "truthfulqa")
    rows = open_source(data / "wikibio_gpt3" / "wikibio_gpt3.jsonl", reader="wikibio").rows()
    records = [r for r in rows if isinstance(r, Record) and r.reference][: items // 2]
    file = out / "wikibio.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for r in records:
            label = float(np.mean([u.label for u in r.unit_labels or ()]))
            row = {"response": r.response, "reference": r.reference, "label": label}
            lines.write(json.dumps(row | {"split": "wikibio: share wrong"}) + "\n")
    graded = bench("graded", file, FACTS, out=out / "wikibio")
    return [*table(found), *table(graded)]


def table(found: Any) -> list[list[str]]:
    """Task, scorer, number, AUROC or Spearman with its interval, average precision."""
    figures: dict[tuple[str, str], dict[str, Any]] = {}
    for row in found.rows:
        if row.metric in ("auroc", "spearman", "average_precision") and row.level == "response":
            figures.setdefault((row.split, row.scorer), {})[row.metric] = row
    lines = []
    for (split, name), by_metric in figures.items():
        main = by_metric.get("spearman") or by_metric.get("auroc")
        graded_alone = split.endswith((": rank", ": share wrong"))
        if main is None or main.value is None or graded_alone or name in ("risk", "random"):
            continue
        precision = by_metric.get("average_precision")
        interval = "" if main.ci_low is None else f" [{main.ci_low:.3f}, {main.ci_high:.3f}]"
        shown = "" if precision is None or precision.value is None else f"{precision.value:.3f}"
        scored = f"{main.n_scored} / {main.n_total}"
        lines.append([split, name, scored, f"{main.metric} {main.value:.3f}{interval}", shown])
    return lines


def of_turns(file: Path, results: Sequence[veridical.Result]) -> Iterator[list[str]]:
    """AUROC of single turns, by the labels of each."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for task in dict.fromkeys(r["split"] for r in rows):
        truth, risks = [], []
        for row, result in zip(rows, results, strict=True):
            raw = result.scores["turns"].raw
            if row["split"] != task or not isinstance(raw, dict):
                continue
            for label, turn in zip(row["labels"], raw["turns"], strict=True):
                if turn["risk"] is not None:
                    truth.append(label)
                    risks.append(turn["risk"])
        value = areas(np.array(truth, float), np.array(risks))["auroc"]
        total = 3 * sum(r["split"] == task for r in rows)
        yield [f"{task}, each turn", "turns", f"{len(truth)} / {total}", f"auroc {value:.3f}", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", default=",".join([*PARTS, "facts", "actions"]))
    parser.add_argument("--items", type=int, default=120)
    parser.add_argument("--llm", help="LLM that writes questions for relevancy, in addition")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or Path(tempfile.mkdtemp())
    out.mkdir(parents=True, exist_ok=True)
    for part in options.part.split(","):
        if part == "facts":
            lines = facts(options.data, options.items, out)
        elif part == "actions":
            lines = actions(options.data, out)
        else:
            make, scorers = PARTS[part]
            if part == "relevancy" and options.llm is not None:
                scorers += ", answer_relevancy(by=llm)"
            file = out / f"{part}.jsonl"
            with file.open("w", encoding="utf-8") as rows:
                for task, row in make(options.data, options.items):
                    rows.write(json.dumps(row | {"split": task}) + "\n")
            found = bench("graded", file, scorers, out=out / part, bootstrap=200, llm=options.llm)
            lines = table(found)
            if part == "turns":
                lines += of_turns(file, list(veridical.check(file, "turns", store=None)))
        print(f"\n{part}\n")
        print("| task | scorer | scored | AUROC or Spearman | average precision |")
        print("|---|---|---|---|---|")
        for line in lines:
            print("| " + " | ".join(line) + " |", flush=True)


if __name__ == "__main__":
    main()
