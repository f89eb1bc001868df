"""Builder of RefChecker's benchmark from its source corpora.

Hu et al. 2024, appendix A. The release has no questions and references, only their ids: rows of
Natural Questions (no context), MS MARCO (noisy context) and Dolly (accurate context). Here they
become the ``references.jsonl`` that ``bench`` and ``rank`` read, as the released script takes them.
Without ids, rows that meet the paper's conditions are drawn.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from veridical.errors import RowError, UsageError
from veridical.files.atomic import write_atomic
from veridical.io.problems import RowProblem
from veridical.review.triplets import SETTINGS, told_by_name
from veridical.text.display import display, shown
from veridical_lab.bench.datasets.files import Row, data_files, each_row, text_list, text_of

#: Kinds of Dolly's rows that have a context.
KINDS = ("closed_qa", "information_extraction", "summarization")
_IDS = "_example_ids.json"


@dataclass(frozen=True)
class BuiltQuestion:
    """A question of the benchmark.

    Attributes:
        id: within its corpus; of Dolly the number of the row, from 0.
        setting: ``zero_context``, ``noisy_context`` or ``accurate_context``.
        references: the long answer, the passages, or the context.
        answers: short ones of people, where the corpus has them.
        kind: of task, of Dolly.
    """

    id: str
    setting: str
    question: str
    references: tuple[str, ...]
    answers: tuple[str, ...] = ()
    kind: str | None = None

    def line(self) -> dict[str, Any]:
        """Return its line of ``references.jsonl``."""
        named = {"answers": list(self.answers), "kind": self.kind}
        return {
            "id": self.id,
            "setting": self.setting,
            "question": self.question,
            "references": list(self.references),
        } | {k: v for k, v in named.items() if v}


@dataclass
class Built:
    """The questions, by setting in the order of the ids; ``missing`` ids that no row has, and
    ``bad`` rows."""

    questions: list[BuiltQuestion] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    bad: list[RowError] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write ``references.jsonl``, whole or not at all."""
        write_rows((q.line() for q in self.questions), path)


def build(
    corpora: Mapping[str, Path],
    *,
    ids: Path | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Built:
    """Build the questions of the ids, or ``sample`` drawn ones per corpus.

    Args:
        corpora: ``nq``, ``msmarco``, ``dolly``: file or folder of the published rows, of the
            release or of the hub.
        ids: folder or file of RefChecker's annotations, or of its ``..._example_ids.json``.

    Raises:
        UsageError: neither or both of ``ids`` and ``sample``, no corpus, ids of no given corpus, or
            no rows.
    """
    if (ids is None) == (sample is None):
        raise UsageError("give one of the two: ids of questions, or how many to sample")
    if not corpora:
        raise UsageError("name at least one corpus: nq, msmarco or dolly")
    wanted = {} if ids is None else ids_of(ids)
    if ids is not None and not wanted.keys() & corpora.keys():
        raise UsageError(
            f"{display(ids)} has ids of {', '.join(wanted)}, and none of {', '.join(corpora)}"
        )
    built = Built()
    for name in SETTINGS:
        if name in corpora and (ids is None or name in wanted):
            _add(built, name, corpora[name], wanted.get(name), sample, seed)
    return built


def ids_of(path: Path) -> dict[str, list[str]]:
    """Return the ids of questions by corpus, in order.

    Raises:
        UsageError: there are no ids, or a file is unreadable.
    """
    files = data_files(path) if path.is_dir() else [path]
    found: dict[str, dict[str, None]] = {}
    for file in files:
        if file.name.endswith(_IDS):
            corpus = file.name.removesuffix(_IDS)
            if corpus in SETTINGS:
                found.setdefault(corpus, {}).update(dict.fromkeys(_listed(file)))
            continue
        told = told_by_name(file)
        for row in each_row(file, lambda row, _: [row]):
            if isinstance(row, RowError):
                continue
            of = told.get("dataset") or _corpus_of(row.get("setting"))
            if of and isinstance(row.get("id"), (str, int)):
                found.setdefault(of, {})[str(row["id"])] = None
    if not found:
        raise UsageError(
            f"{display(path)}: no ids of questions; give RefChecker's human_annotations_v1, "
            "claims.jsonl or responses.jsonl (setting, id), or files such as nq_example_ids.json"
        )
    return {corpus: list(found[corpus]) for corpus in SETTINGS if corpus in found}


def _listed(file: Path) -> list[str]:
    try:
        ids = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as e:
        raise UsageError(f"{display(file)} cannot be read: {e}") from None
    if not isinstance(ids, list) or not all(isinstance(i, (str, int)) for i in ids):
        raise UsageError(f"{display(file)} is not a list of ids")
    return [str(i) for i in ids]


def _corpus_of(setting: object) -> str | None:
    return next((corpus for corpus, of in SETTINGS.items() if of == setting), None)


def _add(
    built: Built,
    name: str,
    path: Path,
    wanted: list[str] | None,
    sample: int | None,
    seed: int,
) -> None:
    """Add the questions of one corpus."""
    if not path.exists():
        raise UsageError(f"{display(path)}: no such file or folder of {name}")
    found: dict[str, BuiltQuestion] = {}
    drawn = random.Random(f"{seed} {name}")
    keep = None if wanted is None else frozenset(wanted)
    seen = 0
    for row in _read(name, path, keep):
        if isinstance(row, RowError):
            built.bad.append(row)
        elif keep is not None or sample is None:
            found[row.id] = row
        else:
            seen += 1
            if len(found) < sample:
                found[row.id] = row
            elif (place := drawn.randrange(seen)) < sample:  # reservoir sampling
                del found[list(found)[place]]
                found[row.id] = row
    if keep is not None:
        assert wanted is not None
        built.missing[name] = [i for i in wanted if i not in found]
        found = {i: found[i] for i in wanted if i in found}
    built.questions += found.values()


def _read(
    name: str, path: Path, keep: Collection[str] | None
) -> Iterator[BuiltQuestion | RowError]:
    """Yield questions of a corpus with ids in ``keep``, or that meet the conditions."""
    read: Callable[[Row, int], BuiltQuestion | None] = {
        "nq": _natural_question,
        "msmarco": _ms_marco,
        "dolly": _dolly,
    }[name]
    row_id: Callable[[Row, int], object] = {
        "nq": lambda row, _: row.get("example_id", row.get("id")),
        "msmarco": lambda row, _: row.get("query_id"),
        "dolly": lambda _, number: number,
    }[name]
    files = data_files(path) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"{display(path)}: no file of {name} can be read there")
    numbers = count()  # row numbers over all files

    def questions(row: Row, number: int) -> list[BuiltQuestion]:
        if keep is not None and str(row_id(row, number)) not in keep:
            return []
        question = read(row, number)
        if question is None and keep is not None:
            raise RowProblem("has no reference to check by")
        return [] if question is None else [question]

    for file in files:
        yield from each_row(file, questions, numbers)


def _dolly(row: Row, number: int) -> BuiltQuestion | None:
    """Return a question; None if its kind has no context."""
    kind, context = row.get("category"), text_of(row.get("context") or "", "context")
    if kind not in KINDS or not context.strip():
        return None
    question = text_of(row.get("instruction"), "instruction")
    answer = text_of(row.get("response") or "", "response")
    given = (answer,) if answer else ()
    return BuiltQuestion(str(number), SETTINGS["dolly"], question, (context,), given, str(kind))


def _ms_marco(row: Row, _: int) -> BuiltQuestion | None:
    """Return a question; None if no passage is marked as having the answer (appendix A)."""
    passages = row.get("passages")
    if not isinstance(passages, dict):
        raise RowProblem(
            f"must be an object with passage_text and is_selected, got {shown(passages)}",
            "passages",
        )
    texts = text_list(passages.get("passage_text"), "passages.passage_text")
    if not any(passages.get("is_selected") or ()) or not texts:
        return None
    question = text_of(row.get("query"), "query")
    answers = tuple(text_list(row.get("answers"), "answers"))
    return BuiltQuestion(
        str(row.get("query_id")), SETTINGS["msmarco"], question, tuple(texts), answers
    )


def _natural_question(row: Row, _: int) -> BuiltQuestion | None:
    """Return a question; None if no annotator gave both a long and a short answer."""
    tokens, is_html = _tokens(row)
    question = row.get("question_text", row.get("question"))
    if isinstance(question, dict):
        question = question.get("text")

    def text(place: Any) -> str:
        where = place if isinstance(place, dict) else {}
        start, end = where.get("start_token"), where.get("end_token")
        if not isinstance(start, int) or not isinstance(end, int) or start < 0:
            return ""
        return " ".join(tokens[i] for i in range(start, min(end, len(tokens))) if not is_html[i])

    for long, shorts in _annotations(row):
        answers = tuple(filter(None, map(text, shorts)))
        reference = text(long)
        if answers and reference:
            identity = str(row.get("example_id", row.get("id")))
            asked = text_of(question, "question_text")
            return BuiltQuestion(identity, SETTINGS["nq"], asked, (reference,), answers)
    return None


def _tokens(row: Row) -> tuple[list[str], list[bool]]:
    """Return the page's words and their tag mask: rows of the release, columns on the hub."""
    document = row.get("document_tokens")
    if isinstance(document, list) and all(isinstance(t, dict) for t in document):
        return [str(t.get("token")) for t in document], [
            bool(t.get("html_token")) for t in document
        ]
    document = row.get("document")
    columns = document.get("tokens") if isinstance(document, dict) else None
    if isinstance(columns, dict):
        words, tags = columns.get("token"), columns.get("is_html")
        if isinstance(words, list) and isinstance(tags, list) and len(words) == len(tags):
            return [str(w) for w in words], [bool(t) for t in tags]
    raise RowProblem("must be a list of objects with token and html_token", "document_tokens")


def _annotations(row: Row) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the long answer of each annotator with the short ones."""
    given = row.get("annotations")
    if isinstance(given, dict):  # columns, as on the hub
        for long, short in zip(
            _list(given.get("long_answer")), _list(given.get("short_answers")), strict=False
        ):
            starts, ends = (
                _list(short.get(k) if isinstance(short, dict) else None)
                for k in ("start_token", "end_token")
            )
            pairs = zip(starts, ends, strict=False)
            yield long, [{"start_token": a, "end_token": b} for a, b in pairs]
        return
    if not isinstance(given, list) or not all(isinstance(a, dict) for a in given):
        raise RowProblem(f"must be a list of annotations, got {shown(given)}", "annotations")
    for annotation in given:
        yield annotation.get("long_answer"), _list(annotation.get("short_answers"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def questions_of(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a ``references.jsonl``.

    Raises:
        UsageError: a row lacks its id, question or reference, or its setting is unknown.
    """
    rows: list[dict[str, Any]] = []
    for row in each_row(path, lambda row, _: [_checked(row)]):
        if isinstance(row, RowError):
            raise UsageError(str(row))
        rows.append(row)
    return rows


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(row.get("id"), (str, int)):
        raise RowProblem(f"must be a question's id, got {shown(row.get('id'))}", "id")
    if row.get("setting") not in (None, *SETTINGS.values()):
        raise RowProblem(f"is not a setting: {shown(row['setting'])}", "setting")
    if not text_of(row.get("question"), "question").strip():
        raise RowProblem("is empty", "question")
    if not any(t.strip() for t in text_list(row.get("references"), "references")):
        raise RowProblem("has no text", "references")
    return row


def write_rows(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write JSON lines, whole or not at all."""
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    write_atomic(path, "".join(f"{line}\n" for line in lines))
