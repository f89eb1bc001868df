"""Where a command writes: checked before the work, replaced whole after it."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console

from veridical.errors import UsageError
from veridical.files.outputs import STANDARD, check_outputs, writing

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer


def check_named(
    read: Mapping[str, Any], *, outputs: Iterable[Any], runs: Iterable[Any] = ()
) -> None:
    """Find out before hours of work, not after, that an output cannot be written, or that it
    would take the place of a file that the command reads, of a run's own, or of another output.

    Args:
        read: arguments of a command by name. Every file that one of them names counts as read.
        outputs: what is written.
        runs: folders which hold a run, or will.

    Raises:
        UsageError: one of these.
    """
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
    check_outputs(
        *(path for value in outputs for path in _texts(value)),
        reads=[
            *(path for value in read.values() for text in _texts(value) for path in _paths(text)),
            *(path for bound in _scorers(read) for path in _files(bound)),
            *("veridical.toml", os.environ.get("VERIDICAL_CONFIG", "")),
        ],
        folders=[*_texts(read.get("corpus")), Path(config, "veridical")],
        runs=[path for value in runs for path in _texts(value)],
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, (str, Path)):
        yield str(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _paths(text: str) -> Iterator[str]:
    """What in ``text`` may be a path: itself, what follows a name as in ``data=PATH`` or
    ``local:PATH``, and the parameters of scorers."""
    yield text
    for mark in ("=", ":"):
        yield text.partition(mark)[2]
    if "(" in text:
        yield from _NO_PATH.split(text)


_NO_PATH = re.compile(r"[=,()'\"\s@]+")


def _scorers(arguments: Mapping[str, Any]) -> Iterator[BoundScorer]:
    """Scorers that are named, by themselves or in the files of a cascade or a policy. What is
    wrong with them is said where they are used."""
    from veridical.core.registry import REGISTRY

    if isinstance(arguments.get("scorers"), str):
        with suppress(UsageError):
            yield from REGISTRY.parse(arguments["scorers"])
    if arguments.get("cascade") is not None:
        with suppress(UsageError):
            yield REGISTRY.bind("cascade", {"file": str(arguments["cascade"])})
    if arguments.get("policy") is not None:
        from veridical.decide.policy_file import read_policy

        with suppress(UsageError):
            ensemble = read_policy(arguments["policy"]).ensemble
            if ensemble is not None:
                file = Path(arguments["policy"]).parent / ensemble
                yield REGISTRY.bind("ensemble", {"file": str(file)})


def _files(bound: BoundScorer) -> Iterator[str]:
    """What the parameters of a scorer and of its parts name."""
    for value in bound.values.values():
        if isinstance(value, str):
            yield value
            yield value.rpartition("@")[0]
    for part in bound.parts:
        yield from _files(part)


@contextmanager
def opened(path: str | None) -> Iterator[IO[str] | None]:
    """The text output at ``path``: ``-`` is standard output, None is none; see
    :func:`~veridical.files.outputs.writing`.

    Raises:
        UsageError: it cannot be written.
    """
    if path is None:
        yield None
    elif path == STANDARD:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as JSON and Markdown are, in any locale
        yield sys.stdout
        sys.stdout.flush()
    else:
        with writing(path) as file:
            yield file


def coverage_code(coverage: Mapping[str, float | None], least: float, err: Console) -> int:
    """Exit code 2 where a coverage is under ``least``, each told of by its name; else 0. None is
    no coverage to speak of."""
    low = {name: share for name, share in coverage.items() if share is not None and share < least}
    for name, share in low.items():
        err.print(f"coverage under {100 * least:g} %: {name} {100 * share:.1f} %", markup=False)
    return 2 if low else 0
