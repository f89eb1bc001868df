"""Labelled answers for fitting the default, and for measuring it."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nli_stages import LONG, WRITTEN

#: Answers of a pair differ by at most this many characters, so that length has no information.
LENGTH_GAP = 4
#: Rows of HaluEval qa from here on are held out.
HELD_OUT_FROM = 0.8


@dataclass(frozen=True)
class Labelled:
    """Answers with labels: 1 wrong, 0 right. Those of one ``group`` stay in one fold.

    Attributes:
        benchmark: what the set is a part of: each benchmark counts the same in a fit.
        field: what they are checked against.
        role: ``fit``, ``cut`` (the cuts of verdicts are chosen on it too), or ``held out``.
    """

    benchmark: str
    name: str
    field: str
    role: str
    rows: list[dict[str, Any]]
    labels: list[float]
    groups: list[str]

    @classmethod
    def of(
        cls,
        benchmark: str,
        part: str,
        field: str,
        role: str,
        items: Sequence[tuple[dict[str, Any], float, str]],
    ) -> Labelled:
        rows, labels, groups = (list(column) for column in zip(*items, strict=True))
        return cls(benchmark, f"{benchmark} {part}".strip(), field, role, rows, labels, groups)

    def first(self, most: int | None) -> Labelled:
        """Return at most ``most`` of the answers, spread over the set."""
        if most is None or most >= len(self.rows):
            return self
        kept = [len(self.rows) * i // most for i in range(most)]
        rows, labels, groups = (
            [column[i] for i in kept] for column in (self.rows, self.labels, self.groups)
        )
        return replace(self, rows=rows, labels=labels, groups=groups)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as f:
        for line in f:
            yield json.loads(line)


def begin(path: Path, most: int | None = None) -> list[tuple[dict[str, Any], float, str]]:
    """Load dialogue responses with human labels: attributable to the knowledge (right) or not.

    Generic responses, which state nothing, are left out.
    """
    with path.open(encoding="utf-8", newline="") as f:
        table = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    items = []
    for row in table:
        label = {"Fully attributable": 0.0, "Not fully attributable": 1.0}.get(row["begin_label"])
        if label is not None and row["response"].strip() and row["knowledge"].strip():
            record = {
                "prompt": row["message"],
                "contexts": row["knowledge"],
                "response": row["response"],
            }
            items.append((record, label, row["knowledge"]))
    return items if most is None else random.Random(0).sample(items, min(most, len(items)))


def halueval_qa(path: Path, most: int, held_out: bool) -> list[tuple[dict[str, Any], float, str]]:
    """Load a right and a hallucinated answer to each question, of like length."""
    rows = list(lines(path))
    cut = int(len(rows) * HELD_OUT_FROM)
    pairs = [
        row
        for row in (rows[cut:] if held_out else rows[:cut])
        if abs(len(row["right_answer"]) - len(row["hallucinated_answer"])) <= LENGTH_GAP
    ]
    items = []
    for i, row in enumerate(random.Random(0).sample(pairs, min(most, len(pairs)))):
        for label, name in enumerate(("right_answer", "hallucinated_answer")):
            record = {
                "prompt": row["question"],
                "contexts": row["knowledge"],
                "response": row[name],
            }
            items.append((record, float(label), f"{i}"))
    return items


def grounded(path: Path, most: int) -> list[tuple[dict[str, Any], float, str]]:
    """Load claims, summaries and replies judged against documents, at most ``most`` of them."""
    rows = list(lines(path))
    items = []
    for row in random.Random(0).sample(rows, min(most, len(rows))):
        record = {k: row[k] for k in ("prompt", "contexts", "response") if row.get(k)}
        source = (
            record["contexts"] if isinstance(record["contexts"], str) else record["contexts"][0]
        )
        items.append((record, float(row["label"]), str(source)))
    return items


def halueval_summaries(path: Path, most: int) -> list[tuple[dict[str, Any], float, str]]:
    """Load a right and a hallucinated summary of each of ``most`` documents."""
    items = []
    for i, row in enumerate(random.Random(0).sample(list(lines(path)), most)):
        for label, name in enumerate(("right_summary", "hallucinated_summary")):
            items.append(
                ({"contexts": row["document"], "response": row[name]}, float(label), f"{i}")
            )
    return items


def _final(solution: str) -> str:
    """Return the text after a solution's last "A:" mark, to be put in a sentence."""
    return solution.rsplit("A:", 1)[-1].strip()


def _steps(solution: str) -> str:
    """Return a solution without its calculator's marks, one sentence per line."""
    text = "".join(piece.split(">>", 1)[-1] for piece in solution.split("<<"))
    return " ".join(
        line.strip().rstrip(".") + "."
        for line in text.replace("A:", "The answer is").splitlines()
        if line.strip()
    )


def gsm8k(
    path: Path, most: int, field: str, text: Callable[[str], str], held_out: bool = False
) -> list[tuple[dict[str, Any], float, str]]:
    """Load one model's answer to each question, as many wrong as right.

    Three others' answers are the samples, or the gold answer is the reference.
    """
    rows = list(lines(path))
    cut = int(len(rows) * HELD_OUT_FROM)
    rows = rows[cut:] if held_out else rows[:cut]
    random.Random(0).shuffle(rows)
    by_label: dict[bool, list[tuple[dict[str, Any], float, str]]] = {True: [], False: []}
    for i, row in enumerate(rows):
        answers = [value for value in row.values() if isinstance(value, dict)]
        want = len(by_label[True]) <= len(by_label[False])
        fitting = [k for k, a in enumerate(answers) if bool(a["is_correct"]) == want]
        if not fitting or len(by_label[want]) >= most // 2:
            continue
        judged = fitting[i % len(fitting)]
        record = {"prompt": row["question"], "response": text(answers[judged]["solution"])}
        if field == "samples":
            record["samples"] = [text(a["solution"]) for k, a in enumerate(answers) if k != judged]
        else:
            record["reference"] = text(row["ground_truth"])
        if record["response"]:
            by_label[want].append((record, float(not want), row["question"]))
    return [*by_label[True], *by_label[False]]


def truthfulqa(path: Path, held_out: bool) -> list[tuple[dict[str, Any], float, str]]:
    """Load a right and a wrong answer to each question, with another right one as the reference.

    The two have the lengths nearest to each other. Every other question is held out.
    """
    items = []
    for i, row in enumerate(lines(path)):
        if (i % 2 == 1) != held_out:
            continue
        right = [a for a in row["correct_answers"] if a != row["best_answer"]]
        pairs = [(a, b) for a in right for b in row["incorrect_answers"]]
        if pairs:
            pair = min(pairs, key=lambda p: (abs(len(p[0]) - len(p[1])), p))
            for label, answer in enumerate(pair):
                record = {
                    "prompt": row["question"],
                    "reference": row["best_answer"],
                    "response": answer,
                }
                items.append((record, float(label), row["question"]))
    return items


def examples(path: Path) -> list[tuple[dict[str, Any], float, str]]:
    """Load this project's example answers of a small model with its log-probabilities.

    They were graded by hand; those graded half right are left out.
    """
    return [
        (
            {"prompt": row["prompt"], "response": row["response"], "logprobs": row["logprobs"]},
            float(row["label"] > 0.5),
            str(row["id"]),
        )
        for row in lines(path)
        if row.get("logprobs") and row["label"] != 0.5
    ]


def written(path: Path, most: int) -> list[tuple[dict[str, Any], float, str]]:
    """Load pairs of answers of one to three statements on a document, ``most`` answers at most.

    In the wrong answer of a pair, a wrong statement of like length replaces a right one.

    Args:
        path: ``dev.jsonl`` of ``checker_data.py``, held out from the models by document.
    """
    by_document: dict[str, list[dict[str, Any]]] = {}
    for row in lines(path):
        if row["kind"] in (WRITTEN, LONG):
            by_document.setdefault(row["group"], []).append(row)
    documents = []
    for group, rows in by_document.items():
        right = [row["statement"] for row in rows if row["label"] == "supported"]
        wrong = [row["statement"] for row in rows if row["label"] != "supported"]
        alone = Counter(row["document"] for row in rows).most_common(1)[0][0]
        documents.append((group, alone, right, wrong))
    draw = random.Random(0)
    items: list[tuple[dict[str, Any], float, str]] = []
    # round by round, so that documents count alike
    for turn in range(max(len(wrong) for *_, wrong in documents)):
        for group, alone, right, wrong in documents:
            others = len(items) // 2 % 3
            if turn >= len(wrong) or len(right) <= others or len(items) + 2 > most:
                continue
            error = wrong[turn]
            twin = min(right, key=lambda text: abs(len(text) - len(error)))
            around = draw.sample([text for text in right if text != twin], others)
            place = draw.randint(0, others)
            for label, text in enumerate((twin, error)):
                response = " ".join([*around[:place], text, *around[place:]])
                items.append(({"contexts": alone, "response": response}, float(label), group))
    return items


def load(data: Path, home: Path, checker: Path) -> list[Labelled]:
    """Load every set, those for fitting first. ``checker``: the output of ``checker_data.py``."""
    path = data / "grounded"
    qa = data / "qa" / "gsm8k_example_model_solutions.jsonl"
    halueval = data / "halueval" / "dataset_halueval_qa.jsonl"
    truthful = data / "truthfulqa" / "TruthfulQA_generation.jsonl"
    sets = [
        *(
            Labelled.of("BEGIN", f"{part}/dev", "contexts", "fit", begin(data / "begin" / file))
            for part, file in (
                ("cmu", "dev_cmu.tsv"),
                ("tc", "dev_tc.tsv"),
                ("wow", "dev_wow.tsv"),
            )
        ),
        Labelled.of("HaluEval", "qa", "contexts", "fit", halueval_qa(halueval, 400, False)),
        *(
            Labelled.of(benchmark, part, "contexts", "fit", grounded(path / f"{file}.jsonl", most))
            for benchmark, part, file, most in (
                ("CG2C", "doc", "cg2c_doc_train", 400),
                ("FaithDial", "audit", "faithdial_audit_train", 400),
                ("SummEdits", "podcast", "summedits_podcast_train", 120),
                ("SummEdits", "qmsumm", "summedits_qmsumm_train", 120),
            )
        ),
        Labelled.of("Written", "", "contexts", "fit", written(checker / "dev.jsonl", 400)),
        Labelled.of("GSM8K", "solutions", "samples", "fit", gsm8k(qa, 400, "samples", _steps)),
        Labelled.of("GSM8K", "answers", "samples", "fit", gsm8k(qa, 400, "samples", _final)),
        Labelled.of("GSM8K", "solutions", "reference", "fit", gsm8k(qa, 400, "reference", _steps)),
        Labelled.of("GSM8K", "answers", "reference", "fit", gsm8k(qa, 400, "reference", _final)),
        Labelled.of("TruthfulQA", "", "reference", "fit", truthfulqa(truthful, False)),
        Labelled.of(
            "examples", "", "logprobs", "fit", examples(home / "examples" / "answers.jsonl")
        ),
        Labelled.of(
            "BEGIN",
            "wow/test",
            "contexts",
            "held out",
            begin(data / "begin" / "test_wow.tsv", 1000),
        ),
        Labelled.of("HaluEval", "qa", "contexts", "held out", halueval_qa(halueval, 300, True)),
        Labelled.of(
            "HaluEval",
            "summarization",
            "contexts",
            "held out",
            halueval_summaries(data / "halueval" / "dataset_halueval_summarization.jsonl", 100),
        ),
        *(
            Labelled.of(benchmark, "dev", "contexts", "cut", grounded(path / file, most))
            for benchmark, file, most in (
                ("FactCC", "factcc_dev.jsonl", 300),
                ("FRANK", "frank_dev.jsonl", 250),
                ("HealthVer", "healthver_dev.jsonl", 300),
                ("SciTab", "scitab_dev.jsonl", 250),
            )
        ),
        Labelled.of(
            "GSM8K", "solutions", "samples", "held out", gsm8k(qa, 200, "samples", _steps, True)
        ),
        Labelled.of(
            "GSM8K", "answers", "samples", "held out", gsm8k(qa, 200, "samples", _final, True)
        ),
        Labelled.of("TruthfulQA", "", "reference", "held out", truthfulqa(truthful, True)),
    ]
    return sets
