"""Self-contained HTML report: summary, records, evidence.

The page needs no network and makes no requests. All record data is in inert script blocks (zlib +
base64, decoded on demand) and reaches the page as text nodes only. The Content-Security-Policy
allows exactly one style and one script, by hash, and forbids turning strings into markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from veridical.core.records import Record
from veridical.core.scores import Result
from veridical.files.outputs import writing
from veridical.report import overview
from veridical.report.payload import detail, index_row, search_text

#: Files of the page, in order of dependency.
STYLES = ("page.css", "report.css", "claims.css", "decisions.css")
SCRIPTS = ("theme.js", "markdown.js", "claims.js", "decisions.js", "overview.js", "report.js")
BLOCK_CHARACTERS = 1_000_000  #: a block of long records is closed at this size


class DataBlock(NamedTuple):
    """An inert block of the page: ``data`` is base64 of zlib of a JSON list."""

    kind: str
    first: int
    data: str


def write_report(
    path: Path,
    pairs: Iterable[tuple[Record, Result]],
    summary: Mapping[str, Any],
    *,
    title: str,
    shown: str | None,
    tables: Sequence[Markup] = (),
) -> None:
    """Write the report to ``path``, replacing it atomically.

    Args:
        pairs: the records to show with their results; read once, never held together.
        summary: counts, coverage and means of the whole run; ``outcome`` is its result in one
            sentence.
        title: heading of the page.
        shown: description of the shown part of the records; None if all are shown.
        tables: escaped tables, shown below the records.

    Raises:
        UsageError, OSError: the report cannot be written; an older one then remains.
    """
    path = Path(path)
    style = "".join(map(asset, STYLES))
    script = "".join(map(asset, SCRIPTS))
    histogram = [int(c) for c in (summary.get("risk") or {}).get("histogram") or []]
    scorers = summary.get("scorers") or ()
    page = environment().get_template("report.html")
    parts = page.generate(
        policy=content_security_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        config=Markup(inert_json({"verdicts": overview.VERDICTS, "reasons": overview.REASONS})),
        blocks=blocks(pairs),
        summary=summary,
        tables=tables,
        cards=overview.cards(summary),
        meaning=overview.meaning(summary),
        applied=[s for s in scorers if s["coverage"] is not None],
        idle=[s for s in scorers if s["coverage"] is None],
        banner=overview.banner(summary),
        trust=overview.trust(summary),
        bars=overview.bars(histogram),
        title=title,
        shown=shown,
    )
    write_whole(path, parts)


def blocks(pairs: Iterable[tuple[Record, Result]]) -> Iterator[DataBlock]:
    """Yield detail, index and search blocks as they fill up."""
    details, index, search = _Packer("detail", 32), _Packer("index", 512), _Packer("search", 512)
    for record, result in pairs:
        yield from details.add(detail(record, result))
        yield from index.add(index_row(record, result))
        yield from search.add(search_text(record, result))
    for packer in (details, index, search):
        yield from packer.rest()


class _Packer:
    """Collector of items of one kind, which yields a block whenever it is full."""

    def __init__(self, kind: str, items: int) -> None:
        self._kind, self._most = kind, items
        self._items: list[str] = []
        self._size = self._first = 0

    def add(self, item: Any) -> Iterator[DataBlock]:
        self._items.append(_json(item))
        self._size += len(self._items[-1])
        if len(self._items) >= self._most or self._size >= BLOCK_CHARACTERS:
            yield from self.rest()

    def rest(self) -> Iterator[DataBlock]:
        if not self._items:
            return
        packed = zlib.compress(f"[{','.join(self._items)}]".encode("ascii"), 6)
        yield DataBlock(self._kind, self._first, base64.b64encode(packed).decode("ascii"))
        self._first += len(self._items)
        self._items, self._size = [], 0


def content_security_policy(style: str, script: str) -> str:
    """Return a policy that allows only this style and this script."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_sha256(style)}'",
            f"script-src '{_sha256(script)}'",
            "img-src data:",  # the icon; without one a browser requests it from the server
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def inert_json(value: Any) -> str:
    """Return JSON that no HTML or script parser can misinterpret."""
    text = _json(value)  # ASCII only, so U+2028 and similar characters are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _sha256(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def asset(name: str, *packages: str) -> str:
    """Read a file of the folder ``static`` from the first of ``packages`` that has it, or this
    one."""
    for package in packages:
        if (file := files(package) / "static" / name).is_file():
            return file.read_text("utf-8")
    return (files("veridical.report") / "static" / name).read_text("utf-8")


def environment(*packages: str) -> jinja2.Environment:
    """Make an environment whose templates come from :func:`asset`, with automatic escaping."""
    env = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset(name, *packages)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(percent=overview.percent, number=overview.number)
    return env


def rendered(template: str, **values: Any) -> Markup:
    """Render a template of the folder ``static``."""
    return Markup(environment().get_template(template).render(**values))


def write_whole(path: Path, parts: Iterable[str]) -> None:
    """Write the parts to ``path``, replacing it atomically.

    Raises:
        UsageError, OSError: it cannot be written; the old content then remains.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as out:
        out.writelines(parts)
