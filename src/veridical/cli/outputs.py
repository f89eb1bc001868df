"""Where a command writes: checked before the work, replaced whole after it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console

from veridical.errors import UsageError

#: Endings of a report's name, each with its form.
FORMS = (".html", ".md", ".txt", ".json")


def writable(*paths: Path | str | None, inputs: Iterable[Path | str] = ()) -> None:
    """Find out before hours of work, not after, that an output cannot be written, or that it
    would take the place of one of ``inputs``, the files that the command reads, or of another
    output."""
    read = {Path(p).resolve() for p in inputs}
    written = set()
    for path in (Path(p) for p in paths if p not in (None, "-")):
        folder = path.resolve().parent
        if path.is_dir():
            raise UsageError(f"cannot write {str(path)!r}: it is a folder")
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise UsageError(f"cannot write {path}: its folder must exist and be writable")
        if path.resolve() in read:
            raise UsageError(f"cannot write {path}: it is the data, or is read with it")
        if path.resolve() in written and (path.is_file() or not path.exists()):
            raise UsageError(f"cannot write {path}: two outputs have that name")
        written.add(path.resolve())


@contextmanager
def opened(path: str | None) -> Iterator[TextIO | None]:
    """The text output at ``path``: ``-`` is standard output, None is none.

    A file is replaced whole at the end; a device, a pipe or a link is written to as it is.

    Raises:
        UsageError: it cannot be written.
    """
    if path is None:
        yield None
    elif path == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as JSON and Markdown are, in any locale
        yield sys.stdout
        sys.stdout.flush()
    else:
        target = Path(path)
        in_place = target.is_symlink() or (target.exists() and not target.is_file())
        draft = target if in_place else target.with_name(target.name + ".tmp")
        try:
            file = draft.open("w", encoding="utf-8", newline="\n")
        except OSError as e:
            raise UsageError(f"cannot write {path}: {e.strerror}") from None
        with file:
            yield file
        if not in_place:
            draft.replace(target)


def form_of(path: Path) -> str:
    """The form, one of :data:`FORMS`, that the name of a report asks for.

    Raises:
        UsageError: none of them.
    """
    form = path.suffix.lower()
    if form not in FORMS:
        raise UsageError(f"a report is .html, .md, .txt or .json, not {path.name!r}")
    return form


def write_report_as(
    path: Path,
    *,
    html: Callable[[Path], object],
    markdown: Callable[[], str],
    text: Callable[[Console], object],
    json: Callable[[], str],
) -> None:
    """Write a report in the form that the name of ``path`` asks for."""
    form = form_of(path)
    if form == ".html":
        html(path)
        return
    if form == ".txt":
        page = io.StringIO()
        text(Console(file=page, width=120, highlight=False))
        body = page.getvalue()
    else:
        body = markdown() if form == ".md" else json() + "\n"
    with opened(str(path)) as out:
        assert out is not None
        out.write(body)


def coverage_code(coverage: Mapping[str, float | None], least: float, err: Console) -> int:
    """Exit code 2 where a coverage is under ``least``, each told of by its name; else 0. None is
    no coverage to speak of."""
    low = {name: share for name, share in coverage.items() if share is not None and share < least}
    for name, share in low.items():
        err.print(f"coverage under {100 * least:g} %: {name} {100 * share:.1f} %", markup=False)
    return 2 if low else 0
