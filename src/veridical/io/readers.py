"""Named readers of published data sets and logged conversations.

A reader is a function from one input row (and its ordinal) to one or more records, as dicts of
record fields. Label polarity is always 0 right .. 1 hallucinated. Values that the reader does not
use go to ``meta``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from veridical.errors import UsageError, unknown_name
from veridical.io import chat_readers, langchain_reader, trace_readers
from veridical.io.problems import RowProblem
from veridical.text.display import named, shown

Row = dict[str, Any]
Reads = Callable[..., Iterable["Row | RowProblem"]]
T = TypeVar("T")


@dataclass(frozen=True)
class Reader:
    """A registered reader.

    Attributes:
        name: name with its options, as in ``openai-chat(system=true)``.
        quotes: True if ``"`` quotes cells in the data set's TSV files.
        whole: True if a JSON file with one object is one row, possibly of many records.
        talks: True if it reads conversations and has the option ``system``, which makes the system
            prompt a context.
    """

    name: str
    function: Reads
    quotes: bool = True
    whole: bool = False
    talks: bool = False

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        function = getattr(self.function, "func", self.function)
        return (inspect.getdoc(function) or "").split("\n", 1)[0]

    def read(self, row: Row, index: int) -> list[Row | RowProblem]:
        """Return the records of row number ``index``, or its problem."""
        try:
            return list(self.function(row, index))
        except RowProblem as e:
            return [e]


READERS: dict[str, Reader] = {}


def find_reader(name: str) -> Reader:
    """Return the reader called ``name``, possibly with its option: ``otel(system=true)``.

    Raises:
        UsageError: there is no such reader (with suggestions), or it has no such option.
    """
    bare, bracket, options = name.partition("(")
    if bare.strip() not in READERS:
        raise unknown_name("reader", bare, READERS)
    reader = READERS[bare.strip()]
    if not bracket:
        return reader
    chosen = re.fullmatch(r"\s*system\s*=\s*(true|false)\s*\)\s*", options, re.IGNORECASE)
    if not reader.talks or chosen is None:
        has = "system=true or system=false" if reader.talks else "no options"
        raise UsageError(f"reader {shown(name)}: {reader.name} has {has}")
    system = chosen[1].lower() == "true"
    called = f"{reader.name}(system={str(system).lower()})"
    return replace(reader, name=called, function=partial(reader.function, system=system))


def _reader(name: str, *, quotes: bool = True) -> Callable[[Reads], Reads]:
    def register(function: Reads) -> Reads:
        READERS[name] = Reader(name, function, quotes)
        return function

    return register


READERS |= {
    name: Reader(name, function, whole=True, talks=True)
    for name, function in {
        "openai-chat": chat_readers.openai_chat,
        "anthropic": chat_readers.anthropic,
        "otel": trace_readers.otel,
        "langchain": langchain_reader.langchain,
        "langfuse": trace_readers.langfuse,
        "inspect": trace_readers.inspect,
        "promptfoo": trace_readers.promptfoo,
    }.items()
}


@_reader("wikibio")
def wikibio(row: Row, index: int) -> Iterable[Row]:
    """Read WikiBio GPT-3 hallucination data (Manakul 2023): sentence labels 0, 0.5, 1; passage =
    mean.

    The data's own sentences are kept by their offsets. ``wiki_bio_text`` is the gold text, so it is
    the reference and not a context.
    """
    grades = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
    response = _text(row, "gpt3_text")
    sentences = _list(row, "gpt3_sentences")
    annotation = _list(row, "annotation")
    if len(sentences) != len(annotation):
        raise RowProblem(
            f"has {len(annotation)} entries for {len(sentences)} sentences", "annotation"
        )
    spans, units, end = [], [], 0
    for i, (sentence, grade) in enumerate(zip(sentences, annotation, strict=True)):
        start = response.find(sentence, end) if isinstance(sentence, str) else -1
        if start < 0:
            raise RowProblem("does not follow in gpt3_text", f"gpt3_sentences[{i}]")
        end = start + len(sentence)
        spans.append([start, end])
        label = _among(grades, grade, f"annotation[{i}]")
        units.append({"start": start, "end": end, "label": label})
    yield {
        "id": row.get("wiki_bio_test_idx"),
        "response": response,
        "samples": row.get("gpt3_text_samples"),
        "reference": row.get("wiki_bio_text"),
        "sentences": spans,
        "unit_labels": units,
        "label": sum(u["label"] for u in units) / len(units) if units else None,
        "meta": _others(
            row,
            *("gpt3_text", "gpt3_sentences", "annotation"),
            *("gpt3_text_samples", "wiki_bio_text", "wiki_bio_test_idx"),
        ),
    }


@_reader("halueval")
def halueval(row: Row, index: int) -> Iterable[Row]:
    """Read HaluEval (Li 2023): a pair row yields the right answer, then the hallucinated one.

    Both have the id of the item. Rows of ``general_data`` (``chatgpt_response``, ``hallucination``
    yes or no) yield one record.
    """
    if "chatgpt_response" in row:
        label = _among({"yes": 1.0, "no": 0.0}, row.get("hallucination"), "hallucination")
        yield {
            "id": row.get("ID"),
            "prompt": row.get("user_query"),
            "response": _text(row, "chatgpt_response"),
            "label": label,
            "meta": _others(row, "ID", "user_query", "chatgpt_response", "hallucination"),
        }
        return
    kinds = {
        "right_answer": ("qa", "answer", "question", "knowledge"),
        "right_response": ("dialogue", "response", "dialogue_history", "knowledge"),
        "right_summary": ("summarization", "summary", None, "document"),
    }
    shape = next((k for k in kinds if k in row), None)
    if shape is None:
        raise RowProblem(f"not a HaluEval row: no column {', '.join(kinds)}; it has {_has(row)}")
    kind, what, prompt, context = kinds[shape]
    used = (f"right_{what}", f"hallucinated_{what}", prompt, context)
    for label, column in enumerate(used[:2]):
        yield {
            "id": f"{kind}-{index}",
            "prompt": row.get(prompt) if prompt else None,
            "response": _text(row, str(column)),
            "contexts": _text(row, context),
            "label": label,
            "meta": {"kind": kind, **_others(row, *used)},
        }


@_reader("ragtruth")
def ragtruth(row: Row, index: int) -> Iterable[Row]:
    """Read RAGTruth ``response.jsonl`` (Niu 2024): spans are units of label 1; any span makes label
    1.

    The sources are in another file; after joining, ``--map contexts=COLUMN`` names them.
    """
    response = _text(row, "response")
    units = []
    for i, span in enumerate(_list(row, "labels")):
        start, end = (span.get("start"), span.get("end")) if isinstance(span, dict) else (None, 0)
        if type(start) is not int or type(end) is not int or not 0 <= start <= end <= len(response):
            raise RowProblem("needs 'start' and 'end' inside the response", f"labels[{i}]")
        if span.get("text", response[start:end]) != response[start:end]:
            raise RowProblem(f"its text is not response[{start}:{end}]", f"labels[{i}]")
        units.append({"start": start, "end": end, "label": 1.0})
    meta = _others(row, "id", "response", "labels", "prompt")
    yield {
        "id": row.get("id"),
        "prompt": row.get("prompt"),
        "response": response,
        "unit_labels": units,
        "label": 1.0 if units else 0.0,
        "meta": {**meta, "labels": row["labels"]},
    }


@_reader("begin", quotes=False)
def begin(row: Row, index: int) -> Iterable[Row]:
    """Read BEGIN (Dziri 2022), both releases: attributable 0, not attributable 1; generic: no
    label."""
    labels = {
        "Fully attributable": 0.0,
        "Not fully attributable": 1.0,
        "Generic": None,
        "entailment": 0.0,
        "hallucination": 1.0,
        "contradiction": 1.0,
        "off-topic": 1.0,
        "generic": None,
    }
    names = ("knowledge", "message", "begin_label")
    if "gold label" in row:
        names = ("evidence", "previous turn", "gold label")
    context, prompt, label = names
    yield {
        "prompt": _text(row, prompt),
        "response": _text(row, "response"),
        "contexts": _text(row, context),
        "label": _among(labels, row.get(label), label),
        "meta": {**_others(row, "response", *names), label: row[label]},
    }


@_reader("refchecker")
def refchecker(row: Row, index: int) -> Iterable[Row]:
    """Read RefChecker ``claims.jsonl`` (Hu 2024): each claim is judged as a response of its own.

    The response is the triplet's parts joined by spaces; Entailment 0, Neutral 0.5, Contradiction
    1. Claims of one answer share its id; the answer itself is in ``meta``.
    """
    labels = {"Entailment": 0.0, "Neutral": 0.5, "Contradiction": 1.0}
    triplet = _list(row, "triplet")
    if not triplet or not all(isinstance(part, str) for part in triplet):
        raise RowProblem("must be a list of texts", "triplet")
    yield {
        "id": row.get("id"),
        "response": " ".join(triplet),
        "label": _among(labels, row.get("human_label"), "human_label"),
        "meta": _others(row, "id"),
    }


@_reader("aggrefact")
def aggrefact(row: Row, index: int) -> Iterable[Row]:
    """Read LLM-AggreFact (Tang 2024): a claim against a document; label 1 (supported) becomes 0."""
    yield {
        "response": _text(row, "claim"),
        "contexts": _text(row, "doc"),
        "label": _among({"1": 0.0, "0": 1.0}, _digit(row.get("label")), "label"),
        "meta": _others(row, "claim", "doc", "label"),
    }


@_reader("truthfulqa")
def truthfulqa(row: Row, index: int) -> Iterable[Row]:
    """Read TruthfulQA (Lin 2022): each listed answer is a record; correct 0, incorrect 1.

    The reference is the question's correct answers without the judged one. The CSV, the
    ``generation`` and the BIG-bench multiple-choice shapes are supported.
    """
    if "target_scores" in row:
        scores = row["target_scores"]
        if not isinstance(scores, dict) or not all(s in (0, 1) for s in scores.values()):
            raise RowProblem("must be an object of answers with score 0 or 1", "target_scores")
        question, used = "input", ["input", "target_scores"]
        right = [a for a, s in scores.items() if s == 1]
        wrong = [a for a, s in scores.items() if s == 0]
    elif "Question" in row:
        question, used = "Question", ["Question", "Correct Answers", "Incorrect Answers"]
        right, wrong = (
            [a.strip() for a in _text(row, c).split(";") if a.strip()] for c in used[1:]
        )
    else:
        question, used = "question", ["question", "correct_answers", "incorrect_answers"]
        right, wrong = (_list(row, c) for c in used[1:])
    prompt = _text(row, question)
    if not right and not wrong:
        raise RowProblem("lists no answers", used[1])
    for label, answers in enumerate((right, wrong)):
        for answer in answers:
            yield {
                "id": f"truthfulqa-{index}",
                "prompt": prompt,
                "response": answer,
                "reference": [a for a in right if a != answer],
                "label": label,
                "meta": _others(row, *used),
            }


def _text(row: Row, column: str) -> str:
    return _cell(row, column, str, "text")


def _list(row: Row, column: str) -> list[Any]:
    return _cell(row, column, list, "a list")


def _cell(row: Row, column: str, kind: type[T], what: str) -> T:
    if column not in row:
        raise RowProblem(f"is missing; the row has {_has(row)}", column)
    value = row[column]
    if not isinstance(value, kind):
        raise RowProblem(f"must be {what}, got {shown(value)}", column)
    return value


def _among(values: dict[str, Any], value: Any, column: str) -> Any:
    if not isinstance(value, str) or value not in values:
        raise RowProblem(f"must be one of {named(values)}, got {shown(value)}", column)
    return values[value]


def _digit(value: Any) -> Any:
    """Normalise labels that are numbers or, in CSV, text."""
    return str(int(value)) if isinstance(value, (int, float)) and value in (0, 1) else value


def _others(row: Row, *used: str | None) -> Row:
    return {k: v for k, v in row.items() if k not in used}


def _has(row: Row) -> str:
    return named(row) if row else "no columns"
