"""Retrievers: passage search for the statements of an answer.

A retriever is a corpus of the user's files (:mod:`veridical.retrieval.corpus`) or a search service.
The latter is configured in ``veridical.toml``:

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

#: Prefix of a search service's name.
SEARCH = "search:"
#: Maximum pages fetched per query.
MOST_PAGES = 10
#: Valid header names (RFC 9110, section 5.6.2).
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True)
class Found:
    """A passage found by a retriever.

    Attributes:
        id: id of the record's context, which gives the passage's origin.
        text: the passage.
        source: its document or address.
        start, end: its place in the document's text, in code points; None if unknown.
        page: page of its start, from 1; None without pages.
        title: title of the document, or empty.
        score: the larger the better; comparable within one query only.
        unread: the reason why the page at ``source`` could not be read, in which case the text is
            the search service's; empty otherwise.
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
    """A passage search. ``name`` is for display."""

    name: str

    def identity(self) -> Mapping[str, Any]:
        """Return all that the passages depend on, as JSON, for a run's fingerprint."""
        ...

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        """Return at most ``k`` passages for each query, best first.

        Raises:
            ModelError: the call fails, or the reply is unusable.
            RefusedQuery: one of these queries is rejected; others may succeed.
        """
        ...

    async def close(self) -> None:
        """Release resources; called by the creator."""
        ...


class RefusedQuery(Exception):
    """Rejection of a query by a retriever, with its message."""


@dataclass(frozen=True)
class SearchService:
    """A search service that answers an HTTP query with JSON.

    Attributes:
        name: name of its section in ``veridical.toml``.
        url: the address for queries. Redirects are not followed. Result pages are fetched only by
            :class:`~veridical.retrieval.search_pages.PageSearch`.
        method: ``POST`` sends the query as a JSON object, ``GET`` as parameters of the address.
        query: name of the parameter for the query.
        count: name of the parameter for the number of results; None sends none.
        parameters: sent with every query.
        key_env: environment variable with the key; None sends none.
        key_header: header for the key; ``Authorization`` adds ``Bearer``.
        results: path of the list of results in the reply: names and list indices, separated by full
            stops. It is empty if the reply is the list.
        text: path of the text in a result. Several texts are joined by newlines.
        title, source, id: paths of these fields; None if they are missing.
        longest_query: maximum code points of a query; longer ones are truncated.
        timeout: timeout in seconds per attempt.
        attempts: attempts per query, at least 1.
        max_concurrency: maximum queries in flight, at least 1.
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
            raise UsageError(f"{where}: {self.url!r} is not a URL: {e}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise UsageError(f"{where}: {self.url!r} is not an http(s) URL")
        if "@" in parts.netloc:
            raise UsageError(f"{where}: url must not contain credentials; set key_env")
        if parts.fragment or (parts.query and self.method == "GET"):
            raise UsageError(
                f"{where}: url must not contain '?' or '#': {self.url!r}; use parameters"
            )
        if self.method not in ("GET", "POST"):
            raise UsageError(f"{where}: method must be GET or POST, not {self.method!r}")
        if not _HEADER.fullmatch(self.key_header):
            raise UsageError(f"{where}: {self.key_header!r} is not a header name")
        if not self.text or not self.query:
            raise UsageError(f"{where}: text and query must not be empty")
        if min(self.attempts, self.max_concurrency, self.longest_query) < 1:
            raise UsageError(
                f"{where}: attempts, max_concurrency and longest_query must be at least 1"
            )
        if not 0 < self.timeout < float("inf"):
            raise UsageError(f"{where}: timeout must be a positive number of seconds")

    def key(self) -> str | None:
        """Return the key from the environment.

        Raises:
            UsageError: the variable is not set, or its value is not a valid key.
        """
        return key_from(self.key_env, f"search {self.name!r}")

    def identity(self) -> dict[str, Any]:
        """Return all that its results depend on, without its name, key and limits."""
        names = ("url", "method", "query", "count", "results", "title", "source", "id")
        plain = {name: getattr(self, name) for name in names}
        return {
            **plain,
            "text": list(self.text),
            "parameters": dict(self.parameters),
            "longest_query": self.longest_query,
        }


def find_service(name: str) -> SearchService:
    """Return the search service of ``[search.NAME]`` in ``veridical.toml``.

    Raises:
        UsageError: the section is missing or invalid.
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
