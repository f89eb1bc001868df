"""Outputs of commands: checked before the work, replaced atomically after it."""

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
    """Check before the work that outputs can be written and overwrite no input.

    Args:
        read: arguments of a command by name. Every file that one of them names counts as read.
        outputs: files to write.
        runs: folders of runs, existing or new.

    Raises:
        UsageError: an output cannot be written, or would overwrite an input, a file of a run or
            another output.
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
    """Yield possible paths in ``text``.

    These are the text, the part after a name as in ``data=PATH``, and parameters of scorers.
    """
    yield text
    for mark in ("=", ":"):
        yield text.partition(mark)[2]
    if "(" in text:
        yield from _NO_PATH.split(text)


_NO_PATH = re.compile(r"[=,()'\"\s@]+")


def _scorers(arguments: Mapping[str, Any]) -> Iterator[BoundScorer]:
    """Yield the scorers named by arguments, or in the files of a cascade or a policy.

    Invalid scorers are skipped; their errors are reported on use.
    """
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
    """Yield the texts among the parameters of a scorer and its parts."""
    for value in bound.values.values():
        if isinstance(value, str):
            yield value
            yield value.rpartition("@")[0]
    for part in bound.parts:
        yield from _files(part)


@contextmanager
def opened(path: str | None) -> Iterator[IO[str] | None]:
    """Open the text output at ``path``: ``-`` is standard output, None yields None.

    See :func:`~veridical.files.outputs.writing`.

    Raises:
        UsageError: the output cannot be written.
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
    """Print each coverage below ``least`` and return exit code 2; otherwise return 0.

    A coverage of None is ignored.
    """
    low = {name: share for name, share in coverage.items() if share is not None and share < least}
    for name, share in low.items():
        err.print(f"coverage under {100 * least:g} %: {name} {100 * share:.1f} %", markup=False)
    return 2 if low else 0
