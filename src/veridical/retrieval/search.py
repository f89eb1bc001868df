"""Retrievers: what finds passages for the statements of an answer.

A corpus of the user's own is one (:mod:`veridical.retrieval.corpus`), a search service another. The
latter is configured in ``veridical.toml``:

.. code-block:: toml

    [search.web]
    url = "https://google.serper.dev/search"
    key_env = "SERPER_API_KEY"
    key_header = "X-API-KEY"
    count = "num"
    results = "organic"
    text = "snippet"
    source = "link"

and named ``search:web``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from veridical.errors import UsageError, unknown_name
from veridical.llm.configuration import Section, read_section, sections
from veridical.llm.endpoints import key_from

#: Before the name of a search service.
SEARCH = "search:"
#: Pages of a query that may be fetched.
MOST_PAGES = 10
#: What a header's name may be (RFC 9110, section 5.6.2).
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True)
class Found:
    """A passage that a retriever found.

    Attributes:
        id: what the record's context is called: it tells where the passage is from.
        text: the passage.
        source: document or address it is from.
        start, end: where it stands in the document's text, in code points; None if unknown.
        page: page it begins on, from 1; None where there are none.
        title: of the document, or nothing.
        score: the larger the better; comparable within one query only.
        unread: why the page at ``source`` was not read, so that this is what the search service
            says of it; nothing where it was read, or was not to be.
    """

    id: str
    text: str
    source: str
    start: int | None = None
    end: int | None = None
    page: int | None = None
    title: str = ""
    score: float = 0.0
    unread: str = ""


class Retriever(Protocol):
    """Finds passages. ``name`` is for people."""

    name: str

    def identity(self) -> Mapping[str, Any]:
        """All that the passages depend on, as JSON: a part of a run's fingerprint."""
        ...

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        """At most ``k`` passages for each query, best first.

        Raises:
            ModelError: it cannot be asked, or gives no usable answer.
            RefusedQuery: it will not answer one of these queries, and may answer others.
        """
        ...

    async def close(self) -> None:
        """Let go of what it holds. Whoever made it does this."""
        ...


class RefusedQuery(Exception):
    """A retriever does not answer a query; what it says of that."""


@dataclass(frozen=True)
class SearchService:
    """A search service that answers a query by HTTP with JSON.

    Attributes:
        name: of its section in ``veridical.toml``.
        url: the address that queries go to. Redirects are not followed. Pages that results name are
            not fetched but by :class:`~veridical.retrieval.search_pages.PageSearch`.
        method: ``POST`` sends the query as a JSON object, ``GET`` as parameters of the address.
        query: name of the parameter that takes the query.
        count: of the one that takes how many results are wanted; None sends none.
        parameters: sent with every query.
        key_env: environment variable with the key; None sends none.
        key_header: header the key is sent in; ``Authorization`` has ``Bearer`` before it.
        results: where in the reply the list of results is: names, and places in lists, apart by
            full stops; nothing where the reply is the list.
        text: where in a result its text is. Several that are there are joined by newlines.
        title, source, id: where those are; None where there are none.
        longest_query: code points of a query; of a longer one the end is left out.
        timeout: seconds for one attempt.
        attempts: tries a query, from 1.
        max_concurrency: most queries under way at once, from 1.
    """

    name: str
    url: str
    results: str
    text: tuple[str, ...]
    method: Literal["GET", "POST"] = "POST"
    query: str = "q"
    count: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key_env: str | None = None
    key_header: str = "Authorization"
    title: str | None = "title"
    source: str | None = "url"
    id: str | None = None
    longest_query: int = 400
    timeout: float = 20.0
    attempts: int = 4
    max_concurrency: int = 4

    def __post_init__(self) -> None:
        where = f"[search.{self.name}]"
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError as e:
            raise UsageError(f"{where}: {self.url!r} is no address: {e}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise UsageError(f"{where}: {self.url!r} is no http(s) address")
        if "@" in parts.netloc:
            raise UsageError(f"{where}: an address holds no credentials: name key_env")
        if parts.fragment or (parts.query and self.method == "GET"):
            raise UsageError(
                f"{where}: put what follows '?' or '#' in {self.url!r} into parameters"
            )
        if self.method not in ("GET", "POST"):
            raise UsageError(f"{where}: method must be GET or POST, not {self.method!r}")
        if not _HEADER.fullmatch(self.key_header):
            raise UsageError(f"{where}: {self.key_header!r} is no name of a header")
        if not self.text or not self.query:
            raise UsageError(f"{where}: text and query must name something")
        if min(self.attempts, self.max_concurrency, self.longest_query) < 1:
            raise UsageError(
                f"{where}: attempts, max_concurrency and longest_query must be at least 1"
            )
        if not 0 < self.timeout < float("inf"):
            raise UsageError(f"{where}: timeout must be a positive number of seconds")

    def key(self) -> str | None:
        """The key, from the environment.

        Raises:
            UsageError: the variable that should hold it is not set, or holds no usable key.
        """
        return key_from(self.key_env, f"search {self.name!r}")

    def identity(self) -> dict[str, Any]:
        """All that its results depend on. Not its name, its key or its limits."""
        names = ("url", "method", "query", "count", "results", "title", "source", "id")
        plain = {name: getattr(self, name) for name in names}
        return {
            **plain,
            "text": list(self.text),
            "parameters": dict(self.parameters),
            "longest_query": self.longest_query,
        }


def find_service(name: str) -> SearchService:
    """The search service of ``[search.NAME]`` in ``veridical.toml``.

    Raises:
        UsageError: there is none, or its section is not as it should be.
    """
    services = sections("search", {})
    if name not in services:
        if not services:
            raise UsageError(
                f"no search service {name!r}: veridical.toml has no section [search.{name}]"
            )
        raise unknown_name("search service", name, services)
    path, table = services[name]
    if isinstance(table, dict) and isinstance(table.get("text"), str):
        table = {**table, "text": [table["text"]]}
    return read_section(SearchService, "search", name, Section(path, table))
