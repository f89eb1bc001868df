"""The whole of the training data: parts, balance, overlap with evaluation, and the same again."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from training_scripts import training_script

EVALUATED = "the old lighthouse keeper counted nine ships before the fog came in"


@pytest.fixture(scope="module")
def module() -> Iterator[Any]:
    with training_script("checker_data") as found:
        yield found


@pytest.fixture(scope="module")
def parts() -> Iterator[Any]:
    with training_script("checker.balancing") as found:
        yield found


def story(n: int) -> list[str]:
    name = ["Mona", "Igor", "Tess", "Bram", "Lena", "Odd"][n % 6] + chr(97 + n // 6 % 26)
    return [
        f"{name} runs a bakery with {n + 2} ovens near the canal.",
        f"The rent of the bakery was {n * 7 + 11} crowns in spring.",
        "A dog sleeps by the door on most days.",
        f"{name} sold the van in {1950 + n}.",
        "Rye bread is sold out by noon.",
        f"In winter the {n + 3} windows of {name} freeze over at night.",
    ]


def written(folder: Path, rows: Sequence[Any]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def data(module: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small copy of the folder of public data: every file, few rows."""
    home = tmp_path_factory.mktemp("data")
    for k, (name, _, _, _) in enumerate(module.NLI):
        rows = []
        for n in range(24):
            text = story(n + 24 * k)
            says = [text[0], text[3]]
            label = ["entailment", "contradiction", "neutral", "entailment"][n % 4]
            said = says[n % 2] if label == "entailment" else says[n % 2].replace("the", "its")
            rows.append({"premise": " ".join(text), "hypothesis": said, "label": label})
        rows.append({"premise": EVALUATED + ".", "hypothesis": "Fog came in.", "label": "neutral"})
        written(home / "nli" / f"{name}.jsonl", rows)
    for k, (name, kind, _) in enumerate(module.GROUNDED):
        rows = []
        for n in range(16):
            text = story(n // 2 + 500 + 40 * k)
            whole = " ".join(text)
            less = " ".join(text[i] for i in (5, 4, 2, 0, 1))  # other words at both ends
            wrong = n % 2
            document = less if kind == "relation" and wrong else whole
            said = text[3] if kind == "relation" or not wrong else text[3].replace("sold", "lost")
            asked = "" if kind == "relation" else "And?"
            rows.append({"response": said, "contexts": [document], "label": wrong, "prompt": asked})
        written(home / "grounded" / f"{name}.jsonl", rows)
    marked = []
    for n in range(12):
        text = story(n + 900)
        words = [*text[3].rstrip(".").split(), "on", "Monday", "."]
        flags = [w in ("on", "Monday") for w in words]
        row = {"tokens": words, "non_supported": flags, "evidence_sentences": text}
        marked.append(row | {"response": " ".join(words), "supporting": [[3]]})
    written(home / "grounded" / "wice_tokens_train.jsonl", marked)
    qa = []
    for n in range(60):
        text = story(n + 1200)
        name = text[0].split()[0]
        qa.append(
            {"knowledge": " ".join(text), "question": f"When did {name} sell the van?",
             "right_answer": str(1950 + n + 1200)}
        )  # fmt: skip
    written(home / "halueval" / "dataset_halueval_qa.jsonl", qa)
    written(home / "plain" / "dev.jsonl", [{"contexts": ["Note: " + EVALUATED + " at last."]}])
    return home


def entailed(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The year that a claim ends with is in the premise, or it is not."""
    return [0.9 if h.rstrip(".").split()[-1] in p else 0.05 for p, h in pairs]


@pytest.fixture(scope="module")
def rows(module: Any, data: Path) -> list[Any]:
    return list(module.make(data, 3, 1200, entailed, 400))


def test_same_seed_same_rows(module: Any, data: Path, rows: list[Any]) -> None:
    assert module.make(data, 3, 1200, entailed, 400) == rows
    assert module.generated(4, 60) != module.generated(3, 60)


def test_every_kind_has_rows_of_both_labels(module: Any, rows: list[Any]) -> None:
    counts = Counter((r.kind, r.right) for r in rows)
    kinds = {r.kind for r in rows}
    # of so few claims none of both lengths is left of some
    assert set(module.SHARES) - kinds <= {"detail", "typed_edit", "two_documents"}
    for kind in kinds:
        right, wrong = counts[kind, True], counts[kind, False]
        assert min(right, wrong) >= 0.5 * max(right, wrong), (kind, right, wrong)
    labels = {r.label for r in rows}
    assert labels == {"supported", "contradicted", "not_stated", "not_supported"}


def test_no_group_is_in_both_parts(rows: list[Any]) -> None:
    parts: dict[str, set[str]] = {}
    for row in rows:
        parts.setdefault(row.group, set()).add(row.part)
    assert all(len(found) == 1 for found in parts.values())
    share = sum(r.part == "dev" for r in rows) / len(rows)
    assert 0.04 < share < 0.3
    # no document of dev, even a passage that lengthens another, stands in train
    dev = {p for r in rows if r.part == "dev" for p in r.document.split("\n\n") if len(p) > 200}
    train = {p for r in rows if r.part == "train" for p in r.document.split("\n\n") if len(p) > 200}
    assert not dev & train


def test_a_relation_is_right_by_one_document_and_not_stated_by_another(
    module: Any, data: Path
) -> None:
    claims: dict[tuple[str, str], dict[str, str]] = {}
    for row in module.public_rows(data, 3, 0.2):
        if row.kind == "relation":
            claims.setdefault((row.group, row.statement), {})[row.label] = row.document
    assert len(claims) == 8  # pairs of rows in the file
    for (_, statement), documents in claims.items():
        assert set(documents) == {"supported", "not_stated"}
        assert statement in documents["supported"] and statement not in documents["not_stated"]


def test_nothing_of_an_evaluation_file(module: Any, rows: list[Any]) -> None:
    run = " ".join(EVALUATED.split()[:8])
    assert all(run not in " ".join((r.document + " " + r.statement).split()) for r in rows)


def test_lengths(module: Any, rows: list[Any]) -> None:
    sizes = [module.tokens(f"{r.document} {r.statement}") for r in rows]
    assert min(sizes) >= 20 and max(sizes) <= 1700
    assert sum(s > 300 for s in sizes) > 0.1 * len(sizes)


def test_written_and_described(module: Any, rows: list[Any], tmp_path: Path) -> None:
    module.write(rows, tmp_path)
    found = [
        json.loads(line)
        for part in ("train", "dev")
        for line in (tmp_path / f"{part}.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(found) == len(rows)
    assert all(
        list(row) == ["document", "statement", "label", "kind", "source", "group"] for row in found
    )
    text = module.describe(rows)
    assert "| table | supported |" in text and "| scifact_train |" in text and "CC BY 4.0" in text


# --- parts ------------------------------------------------------------------------------------


def test_runs_of_words(module: Any, tmp_path: Path) -> None:
    plain = [{"right": EVALUATED, "contexts": ["short", {"text": "x " + EVALUATED.upper() + "!"}]}]
    written(tmp_path / "plain" / "dev.jsonl", plain)
    qa = [{"knowledge": " ".join(f"word{i}x{k}" for k in range(9))} for i in range(8003)]
    written(tmp_path / "halueval" / "dataset_halueval_qa.jsonl", qa)
    found = module.Overlap.of(tmp_path)
    words = EVALUATED.split()
    texts = [
        EVALUATED, "So " + " ".join(words[2:10]) + "?", " ".join(words[2:9]), "",
        qa[7999]["knowledge"], qa[8000]["knowledge"], " ".join(reversed(words)),
    ]  # fmt: skip
    assert found.shared(texts).tolist() == [5, 1, 0, 0, 0, 2, 0]
    assert found.hits["plain/dev.jsonl"] == 2


def example(parts: Any, statement: str, label: str, **more: Any) -> Any:
    given = {"document": "Some text.", "kind": "k", "source": "s", "group": statement} | more
    return parts.Example(statement=statement, label=label, **given)


def test_balanced_by_negation_and_length(parts: Any) -> None:
    rows = [
        *(example(parts, f"It is {n}.", "supported", group=f"{n}") for n in range(40)),
        *(example(parts, f"It is not {n}.", "contradicted", group=f"{n}") for n in range(40)),
        *(example(parts, f"It is no {n}.", "supported", group=f"{n}") for n in range(10)),
        *(example(parts, f"It was {n}.", "not_stated", group=f"{n}") for n in range(10)),
    ]
    assert parts.statement_only(rows) > 0.75
    kept = parts.balanced(rows, random.Random(0))
    counts = Counter((bool(parts.NEGATION.search(r.statement)), r.right) for r in kept)
    assert counts[True, True] == counts[True, False] == 10
    assert counts[False, True] == counts[False, False] == 10


def test_statements_that_give_the_label_away_are_seen(parts: Any) -> None:
    away = [example(parts, f"{w} {n}", label, group=f"{n}") for n in range(60)
            for w, label in (("surely", "supported"), ("hardly", "contradicted"))]  # fmt: skip
    assert parts.statement_only(away) > 0.95
    twins = [example(parts, f"fact {n}", label, group=f"{n}") for n in range(60)
             for label in ("supported", "contradicted")]  # fmt: skip
    assert parts.statement_only(twins) == 0.5


def test_lengthened_by_what_is_unrelated(parts: Any) -> None:
    rows = [
        example(parts, f"Item{n} weighs {n} kilos.", ("supported", "contradicted")[n % 2],
                group=f"{n}", document=f"Item{n} has weight {n}. " + f"Filler{n} goes on. " * 20)
        for n in range(120)
    ]  # fmt: skip
    found = parts.lengthened(rows, random.Random(0))
    longer = [(a, b) for a, b in zip(rows, found, strict=True) if a.document != b.document]
    assert 20 < len(longer) < 100
    for before, after in longer:
        assert before.document in after.document
        assert after.document.count(f"{before.statement.split()[0]} has") == 1
        assert len(after.document.split()) * 1.3 <= 1500
    assert any(b.document.index(a.document) > 0 for a, b in longer)
    assert any(not b.document.endswith(a.document) for a, b in longer)


@pytest.mark.data
def test_real_sources_are_licensed(module: Any, shared_data: Path) -> None:
    text = (shared_data / "nli" / "README.md").read_text() + (
        shared_data / "grounded" / "README.md"
    ).read_text()
    names = [name for name, *_ in (*module.NLI, *module.GROUNDED)]
    assert all(name in text for name in names)
    evaluation = ("_dev", "_test", "textfooler", "rte_", "control", "sick")
    assert not [n for n in names if n.startswith(evaluation) or n.endswith(evaluation)]
