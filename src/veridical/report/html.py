"""One self-contained HTML file: summary, records, evidence. It needs no network and runs none.

All record data lies in inert script blocks (zlib + base64, decoded as they are needed) and reaches
the page as text nodes only; the Content-Security-Policy allows exactly one style and one script,
by hash, and forbids turning strings into markup.
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

#: Files that the page is made of, in the order in which they build on each other.
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
    """Write the report to ``path``, replacing it in one step.

    Args:
        pairs: the records to show with their results; read once, never held together.
        summary: counts, coverage and means of the whole run; ``outcome`` is its answer in one
            sentence.
        title: heading of the page.
        shown: which part of the records is shown, or None when all are.
        tables: shown below the records, escaped already.

    Raises:
        UsageError, OSError: it cannot be written; an older report then stays as it was.
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
    """Detail, index and search blocks, in the order in which they fill up."""
    details, index, search = _Packer("detail", 32), _Packer("index", 512), _Packer("search", 512)
    for record, result in pairs:
        yield from details.add(detail(record, result))
        yield from index.add(index_row(record, result))
        yield from search.add(search_text(record, result))
    for packer in (details, index, search):
        yield from packer.rest()


class _Packer:
    """Gathers items of one kind and hands out a block whenever it is full."""

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
    """A policy under which nothing runs or loads but this style and this script."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_sha256(style)}'",
            f"script-src '{_sha256(script)}'",
            "img-src data:",  # the icon; without one a browser asks the server for it
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def inert_json(value: Any) -> str:
    """JSON that no HTML or script parser can take for anything else."""
    text = _json(value)  # ASCII only, so U+2028 and its like are escaped already
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _sha256(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def asset(name: str, *packages: str) -> str:
    """A file of the folder ``static``, of the first of ``packages`` that has it or of this one."""
    for package in packages:
        if (file := files(package) / "static" / name).is_file():
            return file.read_text("utf-8")
    return (files("veridical.report") / "static" / name).read_text("utf-8")


def environment(*packages: str) -> jinja2.Environment:
    """Templates that :func:`asset` finds, with everything escaped that is not marked safe."""
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
    """A template of the folder ``static``, filled in."""
    return Markup(environment().get_template(template).render(**values))


def write_whole(path: Path, parts: Iterable[str]) -> None:
    """Write the parts to ``path``, replacing what is there in one step.

    Raises:
        UsageError, OSError: it cannot be written; what was there then stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as out:
        out.writelines(parts)
