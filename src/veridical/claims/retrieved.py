"""Records without contexts, given those that a retriever finds for them."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.claims.search import Found, RefusedQuery, Retriever
from veridical.errors import RowError, UsageError
from veridical.evidence.rundir import mend
from veridical.records import Context, Record

if TYPE_CHECKING:
    from veridical.io import Source
    from veridical.llm.stream import SampledSource

#: The file of retrieved contexts in a run directory.
CONTEXTS = "contexts.jsonl"
#: What a record's meta has of the retrieval.
META = "retrieval"
#: Passages a statement.
TOP = 3
#: Passages a record.
MOST = 100
#: Code points of the prompt that are put before a statement: its last ones, where a question is.
_ASKED = 300

Submit = Callable[[Coroutine[Any, Any, Any]], "Future[Any]"]


class RetrievedSource:
    """A :class:`~veridical.io.Source` that gives records without contexts those that are found
    for their responses. Other records pass as they are.

    What was found is kept in a file of the run directory, in input order; read again, it comes
    from there. A record whose retrieval was refused is a row error.

    Args:
        inner: the records.
        top: passages for each statement of a response.

    Before any row is read, :meth:`attach` says where the file is, and what finds passages.
    """

    def __init__(self, inner: Source | SampledSource, top: int = TOP) -> None:
        if top < 1:
            raise UsageError(f"at least 1 passage a statement must be asked for, not {top}")
        self.inner = inner
        self.read = inner.read
        self.top = top
        self._path: Path | None = None
        self._live: tuple[Retriever, Submit] | None = None
        self._limit: int | None = None

    @property
    def reiterable(self) -> bool:
        return True

    def fingerprint(self) -> str:
        """That of the records, before anything is retrieved for them."""
        return self.inner.fingerprint()

    def describe(self) -> list[dict[str, Any]]:
        """See :meth:`veridical.io.Source.describe`."""
        return self.inner.describe()

    def fraction(self) -> float | None:
        """See :meth:`veridical.io.Source.fraction`."""
        return self.inner.fraction()

    def attach(
        self,
        folder: Path,
        retriever: Retriever | None = None,
        submit: Submit | None = None,
        *,
        limit: int | None = None,
    ) -> None:
        """Keep what is found in ``folder``, a run directory.

        Args:
            retriever: finds passages; None reads what is there, up to the first record without.
            submit: runs a coroutine on the retriever's event loop. Rows are read in another
                thread.
            limit: for rows from this one on nothing is retrieved.
        """
        self._path = folder / CONTEXTS
        self._live = None if retriever is None or submit is None else (retriever, submit)
        self._limit = limit

    def rows(self, start: int = 0) -> Iterator[Record | RowError]:
        """Records and row errors in input order, from ordinal ``start`` on.

        Raises:
            ModelError: the retriever cannot be asked.
        """
        if self._path is None:
            raise UsageError("attach() says where retrieved contexts are kept")
        rows = self.inner.rows(start)
        if self._limit is not None:
            limit = self._limit
            rows = takewhile(lambda r: r.row < limit, rows)
        if self._live is not None:
            mend(self._path)
        kept = _lines(self._path)
        held = next(kept, None)
        for row in rows:
            while held is not None and held["row"] < row.row:
                held = next(kept, None)
            if isinstance(row, RowError) or not _wants(row):
                yield row
            elif held is not None and held["row"] == row.row:
                yield self._given(row, held)
            elif self._live is None:
                return
            else:
                yield from self._retrieved(row, rows, *self._live)
                return

    def _retrieved(
        self,
        first: Record,
        rest: Iterator[Record | RowError],
        retriever: Retriever,
        submit: Submit,
    ) -> Iterator[Record | RowError]:
        assert self._path is not None
        some: list[Record | RowError] = [first, *islice(rest, self.read - 1)]
        with self._path.open("ab") as file:
            while some:
                asked = [r for r in some if isinstance(r, Record) and _wants(r)]
                lines = submit(retrieve(retriever, asked, self.top)).result() if asked else []
                for line in lines:
                    file.write(line + b"\n")
                file.flush()
                told = {found["row"]: found for found in map(json.loads, lines)}
                for row in some:
                    yield self._given(row, told[row.row]) if row.row in told else row
                some = list(islice(rest, self.read))

    def _given(self, record: Record | RowError, told: dict[str, Any]) -> Record | RowError:
        assert isinstance(record, Record)
        if "error" in told:
            error = f"no contexts could be retrieved: {told['error']}"
            return RowError(record.row, str(self._path), None, None, error)
        contexts = tuple(Context(id=c["id"], text=c["text"]) for c in told["contexts"])
        meta = {**record.meta, META: told[META]}
        return record.model_copy(update={"contexts": contexts, "meta": meta})


def queries_of(record: Record) -> list[str]:
    """What is searched for: each sentence of the response, after the end of the prompt's text,
    which tells whom or what "it" is about (as FActScore puts the topic before the fact)."""
    asked = _prompt(record)[-_ASKED:].strip()
    sentences = [s.text.strip() for s in record.sentences if s.text.strip()]
    return list(dict.fromkeys(f"{asked} {s}".strip() for s in sentences))


def _prompt(record: Record) -> str:
    if isinstance(record.prompt, str) or record.prompt is None:
        return record.prompt or ""
    for message in reversed(record.prompt):
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts = [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)]
        if message.get("role") == "user" and texts:
            return "\n".join(texts)
    return ""


async def retrieve(retriever: Retriever, records: Sequence[Record], top: int) -> list[bytes]:
    """A line for each record: row, id, and what was found for it, or why nothing could be."""
    asked = [queries_of(r) for r in records]
    try:
        flat = await retriever.search([q for qs in asked for q in qs], top)
        at = iter(flat)
        found: list[list[list[Found]] | str] = [[next(at) for _ in qs] for qs in asked]
    except RefusedQuery:  # of one record, perhaps: each is asked for by itself
        found = [await _alone(retriever.search(qs, top)) for qs in asked]
    return [
        json.dumps(_told(record, retriever.name, one), ensure_ascii=True).encode()
        for record, one in zip(records, found, strict=True)
    ]


async def _alone(search: Awaitable[list[list[Found]]]) -> list[list[Found]] | str:
    try:
        return await search
    except RefusedQuery as e:
        return str(e)


def _told(record: Record, name: str, found: list[list[Found]] | str) -> dict[str, Any]:
    told: dict[str, Any] = {"row": record.row, "id": record.id}
    if isinstance(found, str):
        return {**told, "error": found}
    distinct: dict[str, Found] = {}
    longest = max(map(len, found), default=0)
    for rank in range(longest):  # the best of every statement before the second best of any
        for passages in found:
            for passage in passages[rank : rank + 1]:
                distinct.setdefault(passage.text, passage)
    kept = list(distinct.values())[:MOST]
    about = {"by": name, "passages": len(kept), "left_out": len(distinct) - len(kept)}
    return {**told, META: about, "contexts": [_context(f) for f in kept]}


def _context(found: Found) -> dict[str, Any]:
    places = {"source": found.source, "start": found.start, "end": found.end, "page": found.page}
    told = {"id": found.id, **places, "title": found.title or None, "text": found.text}
    return {k: v for k, v in told.items() if v is not None}


def _wants(row: Record) -> bool:
    return not any(c.text.strip() for c in row.contexts)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Whole lines of the file, of which there may be none yet."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            try:
                found = json.loads(line)
                if type(found["row"]) is not int or not ({"contexts", "error"} & found.keys()):
                    raise ValueError
            except (ValueError, KeyError, TypeError):
                raise UsageError(f"{path}: not a line of retrieved contexts") from None
            yield found


def identity(retriever: Retriever, top: int) -> dict[str, Any]:
    """What retrieved contexts depend on, besides the records: a part of a run's fingerprint."""
    text = json.dumps(dict(retriever.identity()), sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return {"retriever": retriever.name, "hash": digest, "top": top}
