"""Every suite on small files in its published shapes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.errors import UsageError
from veridical_lab.bench.datasets import NAMES, all_suites, find_suite


def row_of(published: Any, name: str, **changes: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(published[name][1])), **changes}


def test_suites_are_found_by_name() -> None:
    assert [s.name for s in all_suites()] == list(NAMES)
    assert find_suite("begin").against == "contexts"
    assert find_suite("wikibio").against == "samples"
    with pytest.raises(UsageError, match="unknown suite 'wikibo'; did you mean 'wikibio'"):
        find_suite("wikibo")


def test_whole_under_quick() -> None:
    assert find_suite("wikibio").quick is None and find_suite("begin").quick is None
    assert find_suite("halueval").quick == 1000


@pytest.mark.parametrize("extension", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("folder", [False, True])
def test_wikibio(extension: str, folder: bool, published: Any, write: Any, load: Any) -> None:
    other = row_of(published, "wikibio", wiki_bio_test_idx=8)
    path = write(f"in/data/evaluation.{extension}", [row_of(published, "wikibio"), other])
    loaded = load("wikibio", path.parents[1] if folder else path)
    assert [i.group for i in loaded.items] == ["7", "8"]
    assert [i.part for i in loaded.items] == ["wikibio"] * 2
    assert loaded.labelled.unit_label.tolist() == [0.0, 1.0, 0.5] * 2
    assert loaded.tasks["passage"].truth.tolist() == [0.5, 0.5]
    assert loaded.tasks["nonfact"].truth.tolist() == [0, 1, 1] * 2
    assert loaded.tasks["factual"].truth.tolist() == [1, 0, 0] * 2
    assert loaded.tasks["nonfact_star"].truth.tolist() == [0, 1, 0] * 2


def test_wikibio_star_leaves_out_passages_wholly_wrong(
    published: Any, write: Any, load: Any
) -> None:
    wrong = row_of(published, "wikibio", annotation=["major_inaccurate"] * 3)
    path = write("w.jsonl", [wrong, row_of(published, "wikibio")])
    star = load("wikibio", path).tasks["nonfact_star"].truth
    assert np.isnan(star[:3]).all() and star[3:].tolist() == [0, 1, 0]


def test_begin_names_tell_the_part(published: Any, write: Any, load: Any) -> None:
    row = row_of(published, "begin")
    wrong = row_of(published, "begin", begin_label="Not fully attributable", model_name="gpt2")
    generic = row_of(published, "begin", begin_label="Generic", message="other")
    write("begin/wow/begin_test_wow.tsv", [row, wrong, generic])
    write("begin/topicalchat/begin_dev_tc.tsv", [row])
    write("begin/test_cmu.tsv", [wrong])
    write("begin/cmu-dog/test_cmu.tsv", [wrong, wrong])  # a copy further down is not read
    path = write("begin/v1_test_05_24_21.tsv", [{"evidence": "e", "gold label": "generic"}])
    loaded = load("begin", path.parent)
    assert list(loaded.tasks) == ["cmu/test", "tc/dev", "wow/test"]
    assert [(i.part, i.record.label, i.facets["model"]) for i in loaded.items] == [
        ("cmu/test", 1.0, "gpt2"),
        ("tc/dev", 0.0, "t5"),
        ("wow/test", 0.0, "t5"),
        ("wow/test", 1.0, "gpt2"),
    ]
    same = {i.group for i in loaded.items if i.part == "wow/test"}
    assert len(same) == 1  # two systems on one message
    kept = load("begin", path.parent, keep_generic=True)
    assert [i.record.label for i in kept.items if i.part == "wow/test"] == [0.0, 1.0, 1.0]
    assert len({i.group for i in kept.items if i.part == "wow/test"}) == 2
    quoted = loaded.items[1].record
    assert quoted.response == 'i do , " they sleep a lot'  # a lone quote is a character


def test_begin_first_release_is_refused(write: Any, load: Any) -> None:
    row = {"evidence": "e", "previous turn": "m", "response": "r", "gold label": "entailment"}
    path = write("v1_dev.tsv", [row])
    with pytest.raises(UsageError, match="first release"):
        load("begin", path)
    with pytest.raises(UsageError, match="no file in the folder"):
        load("begin", path.parent)


def test_halueval_names(published: Any, write: Any, load: Any) -> None:
    qa = [row_of(published, "halueval", question=f"q{i}") for i in range(5)]
    dialogue = {
        "knowledge": "k",
        "dialogue_history": "h",
        "right_response": "yes",
        "hallucinated_response": "no",
    }
    summary = {"document": "d", "right_summary": "s", "hallucinated_summary": "t"}
    general = {"ID": "9", "user_query": "u", "chatgpt_response": "c", "hallucination": "yes"}
    path = write("h/qa_data.jsonl", qa)
    path.rename(path.with_suffix(".json"))  # published so: JSON lines under .json
    write("h/dataset_halueval_dialogue.jsonl", [dialogue])
    write("h/summarization/data-00000-of-00001.jsonl", [summary])
    write("h/general_data.json", [general, general])
    loaded = load("halueval", path.parent)
    assert {k: len(t.truth[~np.isnan(t.truth)]) for k, t in loaded.tasks.items()} == {
        "qa": 10,
        "dialogue": 2,
        "general": 2,
    }
    by_part = [(i.part, i.record.label, i.facets["heldout"]) for i in loaded.items]
    assert by_part[:10] == [("qa", float(n % 2), "yes" if n >= 8 else "") for n in range(10)]
    assert by_part[12:] == [("general", 1.0, ""), ("general", 1.0, "")]
    assert len({(i.part, i.group) for i in loaded.items}) == 5 + 1 + 2  # equal ids, two rows
    right, wrong = loaded.items[:2]
    assert right.group == wrong.group and right.record.prompt == "q0"


def test_halueval_as_on_the_hub(published: Any, write: Any, load: Any) -> None:
    path = write("h/qa/data-00000-of-00001.parquet", [row_of(published, "halueval")])
    general = row_of(published, "halueval")
    general = {"ID": "1", "user_query": "u", "chatgpt_response": "c", "hallucination": "no"}
    write("h/general/data-00000-of-00001.parquet", [general])
    one_answer = {"knowledge": "k", "question": "q", "answer": "a", "hallucination": "no"}
    write("h/qa_samples/data-00000-of-00001.parquet", [one_answer])
    loaded = load("halueval", path.parents[1])
    assert [(i.part, i.record.label) for i in loaded.items] == [
        ("general", 0.0),
        ("qa", 0.0),
        ("qa", 1.0),
    ]


def test_refchecker_published_folder(write: Any, load: Any) -> None:
    def answer(identity: str, *labels: str) -> dict[str, Any]:
        claims = [{"triplet": ["a", "is", y], "human_label": y} for y in labels]
        return {"id": identity, "response": "whole answer", "claude2_response_kg": claims}

    nq = write("h/zero_context/nq_gpt4_answers.json", [answer("1", "Neutral", "Entailment")])
    write("h/zero_context/nq_falcon_40B_instruct_answers.json", [answer("1", "Contradiction")])
    write("h/accurate_context/dolly_claude2_answers.json", [answer("1", "Neutral"), answer("2")])
    write("h/notes.json", [{"id": "1"}])
    loaded = load("refchecker", nq.parents[1])
    assert [(i.part, i.facets["model"], i.record.response, i.group) for i in loaded.items] == [
        ("accurate_context", "claude2", "a is Neutral", "1"),
        ("zero_context", "falcon_40B_instruct", "a is Contradiction", "1"),
        ("zero_context", "gpt4", "a is Neutral", "1"),
        ("zero_context", "gpt4", "a is Entailment", "1"),
    ]
    assert loaded.tasks["all"].truth.tolist() == [1, 2, 1, 0]
    assert loaded.tasks["all"].classes == ("Entailment", "Neutral", "Contradiction")
    zero = loaded.tasks["zero_context"].truth
    assert np.isnan(zero[0]) and zero[1:].tolist() == [2, 1, 0]
    assert len(set(loaded.labelled.groups.tolist())) == 2  # the same id in two settings
    one = load("refchecker", nq)
    assert [i.facets["model"] for i in one.items] == ["gpt4", "gpt4"]
    with pytest.raises(UsageError, match=r"nq_gpt4_answers\.json"):
        load("refchecker", nq.rename(nq.with_name("renamed.json")))


def test_refchecker_references(published: Any, write: Any, load: Any) -> None:
    claims = [
        row_of(published, "refchecker"),
        row_of(published, "refchecker", setting="noisy_context"),
        row_of(published, "refchecker", id="43"),
        row_of(published, "refchecker", id="44", reference="own", question="Own?"),
    ]
    path = write("r/claims.jsonl", claims)
    references = [
        {"id": "42", "references": "everywhere", "question": "Who?"},
        {"id": 42, "setting": "noisy_context", "references": ["one", "two"]},
        {"id": "44", "references": "joined"},
    ]
    write("r/references.jsonl", references)
    records = [i.record for i in load("refchecker", path.parent).items]
    assert [[c.text for c in r.contexts] for r in records] == [
        ["everywhere"],
        ["one", "two"],
        [],
        ["own"],
    ]
    assert [r.prompt for r in records] == ["Who?", None, None, "Own?"]
    assert load("refchecker", path).items[0].record.contexts == records[0].contexts
    write("r/references.jsonl", [{"id": "42", "references": 5}])
    with pytest.raises(UsageError, match=r"references.jsonl:1.*'references'.*must be text"):
        load("refchecker", path)


SOURCES = [
    {
        "source_id": "900",
        "task_type": "QA",
        "source": "MARCO",
        "source_info": {"question": "Which?", "passages": "passage 1: five.\n\n"},
        "prompt": "Answer: Which?",
    },
    {
        "source_id": "901",
        "task_type": "Data2txt",
        "source_info": {"name": "Café", "stars": 3.0},
        "prompt": "Write",
    },
    {"source_id": "902", "task_type": "Summary", "source_info": "An article.", "prompt": "Sum"},
]


def test_ragtruth_with_sources(published: Any, write: Any, load: Any) -> None:
    rows = [
        row_of(published, "ragtruth"),
        row_of(published, "ragtruth", source_id="901", labels=[]),
        row_of(published, "ragtruth", source_id="902", model="mistral-7B-instruct", labels=[]),
        row_of(published, "ragtruth", source_id="902"),
        row_of(published, "ragtruth", source_id="900", split="train"),
    ]
    path = write("rag/response.jsonl", rows)
    write("rag/source_info.jsonl", SOURCES)
    loaded = load("ragtruth", path.parent)
    records = [i.record for i in loaded.items]
    assert len(records) == 4  # train is passed over
    assert [r.contexts[0].text for r in records] == [
        "passage 1: five.\n\n",
        '{"name": "Café", "stars": 3.0}',
        "An article.",
        "An article.",
    ]
    assert [r.prompt for r in records] == ["Answer: Which?", "Write", "Sum", "Sum"]
    assert [i.group for i in loaded.items] == ["900", "901", "902", "902"]
    assert {k: t.truth[~np.isnan(t.truth)].tolist() for k, t in loaded.tasks.items()} == {
        "all": [1, 0, 0, 1],
        "all-right": [0, 1, 1, 0],
        "model:gpt-4-0613": [1, 0, 1],
        "model:mistral-7B-instruct": [0],
        "task:Data2txt": [0],
        "task:Data2txt-right": [1],
        "task:QA": [1],
        "task:QA-right": [0],
        "task:Summary": [0, 1],
        "task:Summary-right": [1, 0],
        "spans": [1, 0, 0, 1],
    }
    assert [k for k, t in loaded.tasks.items() if t.flip] == [
        k for k in loaded.tasks if k.endswith("-right")
    ]
    assert load("ragtruth", path).items[0].record.contexts == records[0].contexts


def test_ragtruth_always_positive_of_table_7(published: Any, write: Any, load: Any) -> None:
    """CheckEmbed table 7's always-positive F1 (spec, 0.5) from the shares of right answers."""
    right = {"Summary": 696, "QA": 740, "Data2txt": 321}
    rows, sources = [], []
    for task, count in right.items():
        sources.append({"source_id": task, "task_type": task, "source_info": "text"})
        span = row_of(published, "ragtruth")["labels"]
        for i in range(900):
            labels = [] if i < count else span
            rows.append(row_of(published, "ragtruth", source_id=task, labels=labels))
    path = write("rag/response.jsonl", rows)
    write("rag/source_info.jsonl", sources)
    tasks = load("ragtruth", path).tasks
    for task, published_f1 in {"Summary": 0.8722, "QA": 0.9024, "Data2txt": 0.5258}.items():
        share = np.nanmean(tasks[f"task:{task}-right"].truth)
        assert round(2 * share / (1 + share), 4) == published_f1


def test_ragtruth_needs_test_rows_and_whole_sources(published: Any, write: Any, load: Any) -> None:
    path = write("rag/response.json", [row_of(published, "ragtruth", split="train")])
    with pytest.raises(UsageError, match="none of its 1 rows is in the test split"):
        load("ragtruth", path)
    row = row_of(published, "ragtruth")
    del row["split"]
    path = write("rag/response.json", [row])
    assert [i.part for i in load("ragtruth", path).items] == ["all"]
    write("rag/source_info.jsonl", [{"source_id": "900", "source_info": None}])
    with pytest.raises(UsageError, match=r"source_info.jsonl:1: row 0: field 'source_info'"):
        load("ragtruth", path)


@pytest.mark.parametrize("shape", ["generation", "csv", "multiple choice"])
def test_truthfulqa_shapes(shape: str, published: Any, write: Any, load: Any) -> None:
    row = row_of(published, "truthfulqa")
    if shape == "generation":
        path = write("generation/validation-00000.parquet", [row])
    elif shape == "csv":
        cells = {
            "Question": row["question"],
            "Correct Answers": "; ".join(row["correct_answers"]),
            "Incorrect Answers": "A cloud",
        }
        path = write("TruthfulQA.csv", [cells])
    else:
        scores = {"A stone": 1, "A rock": 1, "A cloud": 0}
        path = write("task_mc.json", [{"input": row["question"], "target_scores": scores}])
    loaded = load("truthfulqa", path.parent)
    assert [(i.record.response, i.record.label, i.record.reference) for i in loaded.items] == [
        ("A stone", 0.0, ("A rock",)),
        ("A rock", 0.0, ("A stone",)),
        ("A cloud", 1.0, ("A stone", "A rock")),
    ]
    assert len({i.group for i in loaded.items}) == 1


def test_faithdial(published: Any, write: Any, load: Any) -> None:
    turn = row_of(published, "faithdial")["utterances"][0]
    dialogues = [
        {
            "utterances": [
                turn,
                {**turn, "original_response": None, "BEGIN": ["Entailment"], "response": "kept"},
                {**turn, "speaker": "Apprentice"},
                {**turn, "BEGIN": ["Generic", "Uncooperative"], "response": "edited"},
                {**turn, "original_response": "same", "BEGIN": ["Entailment"], "response": "same"},
            ]
        },
        {"utterances": [{**turn, "original_response": "", "BEGIN": ["Generic"]}]},
    ]
    path = write("f/test.json", dialogues)
    write("f/train.json", [{"utterances": [turn]}])
    loaded = load("faithdial", path.parent)
    told = [(i.record.response, i.record.label, i.facets["which"]) for i in loaded.items]
    assert told == [
        ("It began in 2015.", 0.0, "edited"),
        ("It began in 2015. Imagine that!", 1.0, "original"),
        ("kept", 0.0, "original"),
        ("edited", 0.0, "edited"),
        ("same", 0.0, "original"),
    ]
    first, second = loaded.items[:2]
    assert first.group == second.group != loaded.items[2].group
    assert [c.text for c in first.record.contexts] == ["It began in 2015."]
    assert first.record.prompt == "Been to a concert?\nTell me more."
    assert list(loaded.tasks) == ["test"] and "generic" not in loaded.tasks["test"].positive
    kept = load("faithdial", path, keep_generic=True)
    assert [i.record.label for i in kept.items] == [0, 1, 0, 0, 1, 0, 1]
    assert "generic" in kept.tasks["test"].positive
    assert list(load("faithdial", path.with_name("train.json")).tasks) == ["train"]


def test_faithdial_row_an_utterance(published: Any, write: Any, load: Any) -> None:
    turn = row_of(published, "faithdial")["utterances"][0]
    path = write("f/valid-00000.parquet", [turn, turn])
    loaded = load("faithdial", path.parent)
    assert [i.record.label for i in loaded.items] == [0, 1, 0, 1]
    assert len({i.group for i in loaded.items}) == 2 and list(loaded.tasks) == ["valid"]


def test_gzipped_published_name(published: Any, tmp_path: Path, load: Any) -> None:
    line = json.dumps(row_of(published, "refchecker")) + "\n"
    (tmp_path / "claims.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    (tmp_path / "other.jsonl").write_text(line * 2)
    assert len(load("refchecker", tmp_path).items) == 1
