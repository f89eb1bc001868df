"""Retrieval of contexts for records without any."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.records import Context, Record
from veridical.errors import RowError, UsageError
from veridical.files.rowlog import Distrusted, RowLog, Rows, joined_rows
from veridical.prompts import prompt_identity
from veridical.retrieval.query_writing import PROMPTS, QueryWriter, queries_of
from veridical.retrieval.search import Found, RefusedQuery, Retriever

if TYPE_CHECKING:
    from veridical.io.source import InputSource
    from veridical.io.unused import UnusedColumn
    from veridical.sampling.stream import SampledSource

#: The file of retrieved contexts in a run directory.
CONTEXTS = "contexts.jsonl"
#: Key of the retrieval in a record's meta.
META = "retrieval"
#: Passages per statement.
TOP = 3
#: Passages per record.
MOST = 100

_MAY_LACK = frozenset({"title", "unread"})  # omitted from a line if empty

Submit = Callable[[Coroutine[Any, Any, Any]], "Future[Any]"]


class RetrievedSource:
    """A :class:`~veridical.io.Source` that adds retrieved contexts to records.

    Other records are unchanged. Contexts are stored in a file of the run directory, in input order;
    a second reading takes them from there. A record with a rejected query is a row error.

    Args:
        inner: the records.
        folder: the run directory for the contexts.
        top: passages for each statement of a response.
        retriever: source of passages; None reads stored ones and skips records without.
        submit: runs a coroutine on the retriever's event loop. Rows are read in another thread.
        writer: writes the queries; None searches for each sentence of a response.
        limit: number of rows to process.
        key: key of the run, see :class:`~veridical.files.rowlog.RowLog`; default: the fingerprint.
        unsealed: also read contexts without this computer's seal.
    """

    def __init__(
        self,
        inner: InputSource | SampledSource,
        folder: Path,
        *,
        top: int = TOP,
        retriever: Retriever | None = None,
        submit: Submit | None = None,
        writer: QueryWriter | None = None,
        limit: int | None = None,
        key: str | None = None,
        unsealed: bool = False,
    ) -> None:
        if top < 1:
            raise UsageError(f"--corpus-top must be at least 1, not {top}")
        self.inner = inner
        self.read = inner.read
        self.top = top
        key = self.fingerprint() if key is None else key
        self._log = RowLog(folder / CONTEXTS, key, "contexts", unsealed=unsealed)
        self._live = None if retriever is None or submit is None else (retriever, submit)
        self._writer = writer
        self._limit = limit

    @property
    def reiterable(self) -> bool:
        return True

    @property
    def given(self) -> InputSource:
        """Return the input source."""
        return self.inner.given

    def fingerprint(self) -> str:
        """Return the fingerprint of the records before retrieval."""
        return self.inner.fingerprint()

    def describe(self) -> list[dict[str, Any]]:
        """See :meth:`veridical.io.Source.describe`."""
        return self.inner.describe()

    def unused_columns(self) -> list[UnusedColumn]:
        """See :meth:`veridical.io.Source.unused_columns`."""
        return self.inner.unused_columns()

    def fraction(self) -> float | None:
        """See :meth:`veridical.io.Source.fraction`."""
        return self.inner.fraction()

    def rows(self, start: int = 0) -> Iterator[Record | RowError]:
        """Yield records and row errors in input order, starting at ordinal ``start``.

        Raises:
            ModelError: the retriever cannot be called.
        """
        log = self._log
        rows = self.inner.rows(start)
        if self._limit is not None:
            limit = self._limit
            rows = takewhile(lambda r: r.row < limit, rows)
        if self._live is not None:
            log.mend()
        joined = joined_rows(rows, log.lines())
        for row, entry in joined:
            if isinstance(row, RowError) or not _wants(row):
                yield row
            elif entry is not None:
                yield self._with_contexts(row, entry)
            elif self._live is not None:
                yield from self._retrieved(row, joined, *self._live)
                return

    @property
    def keeps(self) -> bool:
        """Return True if there are contexts of an earlier run."""
        return bool(self._log.files())

    def lost(self, done: Rows, distrusted: Distrusted) -> Rows:
        """Return the rows of ``done`` without stored contexts: the line is damaged or missing.

        Args:
            distrusted: receives the lines that are not used.
        """
        from veridical.sampling.stream import SampledSource

        lost = Rows()
        rows = (  # an answered prompt keeps its contexts
            (row for row, _ in self.inner.joined())
            if isinstance(self.inner, SampledSource)
            else self.inner.rows()
        )
        for row, entry in joined_rows(rows, self._log.lines(distrusted)):
            if entry is None and row.row in done and not isinstance(row, RowError) and _wants(row):
                lost.add(row.row)
        return lost

    def _retrieved(
        self,
        first: Record,
        following: Iterator[tuple[Record | RowError, bytes | None]],
        retriever: Retriever,
        submit: Submit,
    ) -> Iterator[Record | RowError]:
        log = self._log
        some: list[tuple[Record | RowError, bytes | None]]
        some = [(first, None), *islice(following, self.read - 1)]
        try:
            while some:
                wanting = {r.row: r for r, _ in some if isinstance(r, Record) and _wants(r)}
                lines = {r.row: x for r, x in some if x is not None and r.row in wanting}
                missing = [r for row, r in wanting.items() if row not in lines]
                if missing:
                    work = retrieve(retriever, missing, self.top, self._writer)
                    for record, line in zip(missing, submit(work).result(), strict=True):
                        log.append(record.row, line)
                        lines[record.row] = line
                for one, _ in some:
                    yield self._with_contexts(one, lines[one.row]) if one.row in lines else one
                some = list(islice(following, self.read))
        finally:
            log.close()

    def _with_contexts(self, record: Record | RowError, line: bytes) -> Record | RowError:
        assert isinstance(record, Record)
        path = self._log.path
        try:
            content = json.loads(line)
            if "error" in content:
                error = f"no contexts could be retrieved: {content['error']}"
                return RowError(record.row, str(path), None, None, error)
            contexts = tuple(Context(id=c["id"], text=c["text"]) for c in content["contexts"])
            meta = {**record.meta, META: content[META]}
        except (ValueError, KeyError, TypeError):  # from a run without a valid seal
            raise UsageError(f"{path}: not a line of retrieved contexts: {line[:80]!r}") from None
        return record.model_copy(update={"contexts": contexts, "meta": meta})


async def retrieve(
    retriever: Retriever, records: Sequence[Record], top: int, writer: QueryWriter | None = None
) -> list[bytes]:
    """Return a line per record: row, id, and its passages or the reason why they are missing.

    Args:
        writer: writes the queries; None searches for each sentence.
    """
    queries: list[list[str] | str]
    queries = [*map(queries_of, records)] if writer is None else await writer.write(records)
    asked = [qs for qs in queries if not isinstance(qs, str)]
    outcomes: list[list[list[Found]] | str]
    try:
        flat = iter(await retriever.search([q for qs in asked for q in qs], top))
        outcomes = [[next(flat) for _ in qs] for qs in asked]
    except RefusedQuery:  # may concern one record only, so each is retried alone
        outcomes = [await _alone(retriever.search(qs, top)) for qs in asked]
    found = iter(outcomes)
    lines = []
    for record, qs in zip(records, queries, strict=True):
        line = _line(record, retriever.name, qs if isinstance(qs, str) else next(found))
        if writer is not None and not isinstance(qs, str) and META in line:
            line[META]["queries"] = qs
        lines.append(json.dumps(line, ensure_ascii=True).encode())
    return lines


async def _alone(search: Awaitable[list[list[Found]]]) -> list[list[Found]] | str:
    try:
        return await search
    except RefusedQuery as e:
        return str(e)


def _line(record: Record, name: str, outcome: list[list[Found]] | str) -> dict[str, Any]:
    fields: dict[str, Any] = {"row": record.row, "id": record.id}
    if isinstance(outcome, str):
        return {**fields, "error": outcome}
    distinct: dict[str, Found] = {}
    longest = max(map(len, outcome), default=0)
    for rank in range(longest):  # the best passage of every statement before any second best
        for passages in outcome:
            for passage in passages[rank : rank + 1]:
                distinct.setdefault(passage.text, passage)
    contexts = list(distinct.values())[:MOST]
    about = {"by": name, "passages": len(contexts), "left_out": len(distinct) - len(contexts)}
    return {**fields, META: about, "contexts": [_context(f) for f in contexts]}


def _context(passage: Found) -> dict[str, Any]:
    names = ("id", "source", "start", "end", "page", "title", "unread", "text")
    fields = {name: getattr(passage, name) for name in names}
    return {k: v for k, v in fields.items() if v is not None and (k not in _MAY_LACK or v)}


def _wants(row: Record) -> bool:
    return not any(c.text.strip() for c in row.contexts)


def identity(retriever: Retriever, top: int, writer: str | None = None) -> dict[str, Any]:
    """Return the part of a run's fingerprint that retrieved contexts depend on.

    Args:
        writer: identity of the LLM that writes the queries, if any.
    """
    text = json.dumps(dict(retriever.identity()), sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    parts: dict[str, Any] = {"retriever": retriever.name, "hash": digest, "top": top}
    if writer is not None:
        parts |= {"llm": writer, "prompts": [prompt_identity(name) for name in PROMPTS]}
    return parts
