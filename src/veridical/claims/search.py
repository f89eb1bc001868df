"""Retrievers: what finds passages for the statements of an answer.

A corpus of the user's own is one (:mod:`veridical.claims.corpus`), a search service another. The
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
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from veridical.errors import UsageError, unknown_name
from veridical.llm.endpoints import key_from, sections

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
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
    """

    id: str
    text: str
    source: str
    start: int | None = None
    end: int | None = None
    page: int | None = None
    title: str = ""
    score: float = 0.0


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
        url: the address that queries go to. No other is ever asked: pages that results name are
            not fetched, and redirects are not followed.
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
        told = f"[search.{self.name}]"
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError as e:
            raise UsageError(f"{told}: {self.url!r} is no address: {e}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise UsageError(f"{told}: {self.url!r} is no http(s) address")
        if "@" in parts.netloc:
            raise UsageError(f"{told}: an address holds no credentials: name key_env")
        if parts.fragment or (parts.query and self.method == "GET"):
            raise UsageError(f"{told}: put what follows '?' or '#' in {self.url!r} into parameters")
        if self.method not in ("GET", "POST"):
            raise UsageError(f"{told}: method must be GET or POST, not {self.method!r}")
        if not _HEADER.fullmatch(self.key_header):
            raise UsageError(f"{told}: {self.key_header!r} is no name of a header")
        if not self.text or not self.query:
            raise UsageError(f"{told}: text and query must name something")
        if min(self.attempts, self.max_concurrency, self.longest_query) < 1:
            raise UsageError(
                f"{told}: attempts, max_concurrency and longest_query must be at least 1"
            )
        if not 0 < self.timeout < float("inf"):
            raise UsageError(f"{told}: timeout must be a positive number of seconds")

    def key(self) -> str | None:
        """The key, from the environment.

        Raises:
            UsageError: the variable that should hold it is not set, or holds no usable key.
        """
        return key_from(self.key_env, f"search {self.name!r}")

    def identity(self) -> dict[str, Any]:
        """All that its results depend on. Not its name, its key or its limits."""
        names = ("url", "method", "query", "count", "results", "title", "source", "id")
        told = {name: getattr(self, name) for name in names}
        return {
            **told,
            "text": list(self.text),
            "parameters": dict(self.parameters),
            "longest_query": self.longest_query,
        }


_KINDS: dict[str, tuple[type, ...]] = {
    "url": (str,),
    "results": (str,),
    "text": (str, list),
    "method": (str,),
    "query": (str,),
    "count": (str,),
    "parameters": (dict,),
    "key_env": (str,),
    "key_header": (str,),
    "title": (str,),
    "source": (str,),
    "id": (str,),
    "longest_query": (int,),
    "timeout": (int, float),
    "attempts": (int,),
    "max_concurrency": (int,),
}


def find_service(name: str) -> SearchService:
    """The search service of ``[search.NAME]`` in ``veridical.toml``.

    Raises:
        UsageError: there is none, or its section is not as it should be.
    """
    path, found = sections("search")
    if name not in found:
        if not found:
            raise UsageError(
                f"no search service {name!r}: veridical.toml has no section [search.{name}]"
            )
        raise unknown_name("search service", name, found)
    return _read(f"{path}: [search.{name}]", name, found[name])


def _read(where: str, name: str, section: Any) -> SearchService:
    if not isinstance(section, dict):
        raise UsageError(f"{where}: this is a section, not a value")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: {name!r} cannot be a name")
    for key, value in section.items():
        if key in ("key", "api_key", "token"):
            raise UsageError(
                f"{where}: keys are not kept in files; put it in an environment variable and "
                "name that by key_env"
            )
        if key not in _KINDS:
            raise unknown_name(f"setting in {where}:", key, _KINDS)
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            kinds = " or ".join(k.__name__ for k in _KINDS[key])
            raise UsageError(f"{where}: {key} must be {kinds}, not {value!r}")
    for key in ("url", "results", "text"):
        if key not in section:
            raise UsageError(f"{where}: {key} is missing")
    text = section["text"]
    paths = (text,) if isinstance(text, str) else tuple(text)
    if not all(isinstance(p, str) for p in paths):
        raise UsageError(f"{where}: text must be a path or a list of paths, not {text!r}")
    known = {f.name for f in fields(SearchService)} & section.keys()
    return SearchService(**{"name": name, **{k: section[k] for k in known}, "text": paths})
