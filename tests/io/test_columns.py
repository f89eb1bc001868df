"""Aliases, mappings and the shapes of fields (contract, section 1)."""

from __future__ import annotations

from typing import Any

import pytest
from image_files import DOT

from veridical.core.records import Record
from veridical.errors import RowError, UsageError, typed_options
from veridical.io import open_source

# Written out from the contract, not imported: the table is what is under test.
CONTRACT = {
    "id": "example_id idx",
    "prompt": "question query input user_input",
    "response": "answer output actual_output generated_text prediction",
    "samples": "sampled_responses gpt3_text_samples",
    "contexts": "context retrieved_contexts retrieval_context knowledge document documents source "
    "passages",
    "reference": "reference_answer gold ground_truth expected_output right_answer",
}


def read(row: dict[str, Any], **mapping: str) -> Record | RowError:
    (item,) = open_source([row], mapping=mapping).rows()
    return item


def good(row: dict[str, Any], **mapping: str) -> Record:
    item = read(row, **mapping)
    assert isinstance(item, Record), str(item)
    return item


def bad(row: dict[str, Any], **mapping: str) -> RowError:
    item = read(row, **mapping)
    assert isinstance(item, RowError)
    return item


@pytest.mark.parametrize(
    ("field", "alias"), [(f, a) for f, s in CONTRACT.items() for a in s.split()]
)
def test_every_alias(field: str, alias: str) -> None:
    values: dict[str, Any] = {"id": "i", "prompt": "p", "samples": ["s"], "contexts": ["c"]}
    values |= {"reference": ["g"], "response": "r"}
    canonical = good(dict(values))
    assert good({alias if k == field else k: v for k, v in values.items()}) == canonical
    # Beside the field's own name an alias is just another column.
    both = good({alias: "other", **values})
    assert both.meta == {alias: "other"} and both == canonical.model_copy(
        update={"meta": {alias: "other"}}
    )


def test_only_label_is_the_label() -> None:
    r = good({"response": "r", "labels": 1, "is_hallucination": True, "right": 1})
    assert r.label is None and set(r.meta) == {"labels", "is_hallucination", "right"}


def test_two_aliases() -> None:
    error = bad({"response": "r", "question": "a", "query": "b"})
    assert error.field == "question" and "'question'" in error.error and "'query'" in error.error
    assert good({"response": "r", "question": "a", "query": "a"}).prompt == "a"
    assert good({"response": "r", "question": None, "query": "b"}).prompt == "b"
    r = good({"response": "r", "question": "a", "query": "b"}, prompt="query")
    assert r.prompt == "b" and r.meta == {"question": "a"}


def test_mapping() -> None:
    row = {
        "response": "not this",
        "choices": [{"message": {"content": "this"}}],
        "retrieval": {"docs": [{"title": "t", "text": "c"}]},
        "a.b": "dot in a name",
        "wrong": True,
    }
    r = good(
        row,
        response="choices.0.message.content",
        contexts="retrieval.docs",
        prompt="a.b",
        label="wrong",
        samples="retrieval.samples",
    )
    assert (r.response, r.prompt, r.label, r.samples) == ("this", "dot in a name", 1.0, ())
    assert [c.text for c in r.contexts] == ["c"]
    assert set(r.meta) == {"response", "choices", "retrieval"}


def test_mapping_errors_name_the_column() -> None:
    for path in ("gone", "a.gone", "l.7", "l.x", "l.0.x"):
        error = bad({"response": "r", "a": {}, "l": [1]}, response=path)
        assert error.field == path and "missing" in error.error
    error = bad({"mine": 3}, response="mine")
    assert (error.field, error.error) == ("mine", "must be text, got 3")
    error = bad({"response": "r", "x": {"y": ["a", 2]}}, samples="x.y")
    assert error.field == "x.y[1]"
    assert "null" in bad({"mine": None}, response="mine").error
    assert good({"response": "r", "contexts": "kept in meta"}, contexts="gone").contexts == ()


@pytest.mark.parametrize("column", ["messages", "conversation"])
def test_a_conversation_is_pointed_to_its_reader(column: str) -> None:
    said = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "There."}]
    error = bad({column: said})
    assert error.field == "response" and "reader=openai-chat" in error.error
    assert "reader" not in bad({column: [{"text": "no message"}]}).error
    assert "reader" not in bad({column: said, "final_answer": "There."}).error


def test_a_column_name_in_the_place_of_a_field_keeps_the_users_column() -> None:
    with pytest.raises(UsageError, match=r"write mapping=\{'contexts': 'docs'\} \(field"):
        open_source([{"answer": "a"}], mapping={"context": "docs"})
    with typed_options(), pytest.raises(UsageError, match="write --map contexts=docs "):
        open_source([{"answer": "a"}], mapping={"context": "docs"})


def test_wrong_mappings() -> None:
    with pytest.raises(UsageError, match=r"did you mean .*'samples'"):
        open_source([{}], mapping={"sample": "a"})
    with pytest.raises(UsageError, match=r"write mapping=.'response': 'a'"):
        open_source([{}], mapping={"answer": "a"})
    with pytest.raises(UsageError, match="name of a column"):
        open_source([{}], mapping={"response": ""})


def test_shapes_of_contexts_samples_and_logprobs() -> None:
    r = good(
        {
            "response": "ab",
            "contexts": [
                "s",
                {"id": 4, "text": "t"},
                {"page_content": "p", "metadata": {}},
                {"title": "x", "content": "c"},
                {"doc_id": 1, "passage": "q"},
            ],
            "samples": [
                "a",
                {"text": "b", "finish_reason": "stop", "score": 1},
                {"image": DOT},
            ],
            "logprobs": [
                {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": None},
                {"token": "b", "logprob": 0, "top_logprobs": [{"token": "c", "logprob": -3}]},
            ],
            "reference": "gold",
            "label": True,
            "unit_labels": [{"start": 0, "end": 1, "label": 0.5, "type": "x"}],
        }
    )
    assert [(c.id, c.text) for c in r.contexts] == [
        (None, "s"),
        (4, "t"),
        (None, "p"),
        (None, "c"),
        (None, "q"),
    ]
    assert r.samples[1].finish_reason == "stop" and r.samples[2].image == DOT
    assert r.sample_texts == ["a", "b"]
    assert r.logprobs is not None and [t.logprob for t in r.logprobs[1].top] == [-3]
    assert (r.reference, r.label, r.meta) == (("gold",), 1.0, {})
    one = good({"response": "a", "contexts": {"content": "x"}, "samples": {"text": "y"}})
    assert (one.contexts[0].text, one.sample_texts) == ("x", ["y"])


def test_meta_keeps_unknown_columns_and_its_own_entries() -> None:
    r = good({"response": "r", "meta": {"a": 1, "b": [2]}, "a": 3, "row": 9})
    assert r.meta == {"a": 1, "b": [2], "column.a": 3, "row": 9}
    assert (r.row, r.id) == (0, 0)


def test_field_is_named_as_in_the_input() -> None:
    assert bad({"answer": "r", "sampled_responses": ["a", 2]}).field == "sampled_responses[1]"
    assert bad({"answer": "r", "documents": [{"text": 1}]}).field == "documents[0].text"
    assert bad({"answer": ["r"]}).field == "answer"
    assert bad({"answer": "r", "gold": "a\0"}).field == "gold"
    error = bad({"answer": "r", "sentences": [[0, 2]]})
    assert (error.field, error.error) == ("sentences[0]", "[0, 2] is outside the response (1)")


def test_many_shapes_of_rows_do_not_grow_the_plan_cache() -> None:
    source = open_source([{"response": "r", f"k{i}": i} for i in range(1000)])
    assert all(isinstance(r, Record) and r.meta == {f"k{r.row}": r.row} for r in source.rows())
    assert len(source._columns._plans) <= 256
