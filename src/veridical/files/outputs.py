"""Protection of inputs and run files from being overwritten by outputs.

Every output of a command is checked by :func:`check_outputs` before the work, and written by
:func:`writing` after it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any, NamedTuple

from veridical.errors import UsageError
from veridical.files.atomic import replacing
from veridical.text.display import display, reason

#: Standard output, as a path.
STANDARD = "-"
#: Extension of the failures file next to sampled answers.
FAILURES = ".errors.jsonl"
#: Files that identify a folder of this package: of a run, of sampled answers, of a store, of a
#: corpus index.
_MARKERS = ("run.lock", "journal.sqlite", "keys.sqlite", "index.sqlite")
#: Files in such folders. Other names are free: reports are often stored next to their run.
_OWN = (
    *("manifest.json*", "run.lock*", "results.jsonl*", "results.*.jsonl*", "errors.*"),
    *("input", "input.*", "ledger.*", "decisions.*", "promises.*", "contexts.*", "answers.jsonl*"),
    *("repairs.*", "graded.*", "selected-*", "repair-*", "bench.json*", "journal.*", "keys.*"),
    *("values.*", "index.*", "vectors-*", "corpus", "*.sqlite", "*.sqlite-*", "lock", "*.lock"),
    "*.tmp",
)
#: Extensions that neither runs nor data sets have: such an output may be in their folders.
_REPORTS = (".html", ".md")
_DESCRIPTORS = re.compile(r"/dev/fd|/proc/(\d+)(?:/task/\d+)?/fd")
_LINKS = 8


class _File(NamedTuple):
    device: int
    number: int


def check_outputs(
    *outputs: Path | str | None,
    reads: Iterable[Path | str] = (),
    folders: Iterable[Path | str] = (),
    runs: Iterable[Path | str | None] = (),
) -> None:
    """Check, before hours of work, that outputs can be written and overwrite no input, file of a
    run or other output.

    Files are compared by device and inode, so links and other spellings of a name are detected.
    Devices, pipes and descriptors are always accepted.

    Args:
        outputs: paths; None is skipped, :data:`STANDARD` is standard output.
        reads: files and folders that are read; missing ones are ignored. In such a folder, only a
            report may be written.
        folders: folders in which not even a report may be written, such as a corpus.
        runs: folders of existing or future runs.

    Raises:
        UsageError: a check failed; the message names the output.
    """
    read: set[_File] = set()  # files
    within: set[_File] = set()  # folders
    whole: set[_File] = set()
    for paths, places in ((reads, within), (folders, whole)):
        for there in filter(None, map(_status, paths)):
            (places if stat.S_ISDIR(there.st_mode) else read).add(_file(there))
    run_folders = {_file(s) for s in (_status(p) for p in runs if p is not None) if s is not None}
    written: set[str] = set()
    for path in outputs:
        if path is None:
            continue
        name = display(path)
        place = None if path == STANDARD else place_of(path)
        status = _status(1 if path == STANDARD else place or path)
        if status is not None and _file(status) in read:
            raise UsageError(f"cannot write {name}: it is an input")
        if path == STANDARD:
            if STANDARD in written:
                raise UsageError("cannot write two outputs to standard output")
            written.add(STANDARD)
        if place is None:
            continue
        above = [_file(s) for s in (_status(p) for p in place.parents) if s is not None]
        report = place.suffix.lower() in _REPORTS
        if not whole.isdisjoint(above) or (not report and not within.isdisjoint(above)):
            raise UsageError(f"cannot write {name}: it is in a folder that is read")
        answers = place.name.removesuffix(FAILURES)
        failures = answers != place.name and place.with_name(answers).is_file()
        if _of_a_run(place, run_folders) or (
            failures and str(place.with_name(answers)) not in written
        ):
            raise UsageError(f"cannot write {name}: it is a file of a run or store")
        if str(place).casefold() in (w.casefold() for w in written):  # one file on some systems
            raise UsageError(f"cannot write {name}: two outputs have that name")
        written.add(str(place))


def place_of(path: Path | str) -> Path | None:
    """Return the file that the output ``path`` is written to; None for a device, a pipe or a
    descriptor (``/dev/stdout``), which is written directly.

    A link is followed within its folder, so that it is kept. A link out of its folder may have been
    placed by another user.

    Raises:
        UsageError: it is a folder, leads elsewhere, or cannot be written.
    """
    name, path = display(path), Path(path)
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    except (OSError, ValueError) as e:
        raise UsageError(f"cannot write {name}: {reason(e)}") from None
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise UsageError(f"cannot write {name!r}: it is a folder")
    if _descriptor(path) is not None:
        if status is None:
            raise UsageError(f"cannot write {name}: nothing is open there")
        return None
    if status is not None and not stat.S_ISREG(status.st_mode):
        return None
    folder = os.path.realpath(path.parent)
    if not Path(folder).is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {name}: its folder must exist and be writable")
    place = os.path.realpath(path) if path.is_symlink() else str(Path(folder, path.name))
    if os.path.dirname(place) != folder:  # noqa: PTH120  (as text: nothing is resolved again)
        raise UsageError(
            f"cannot write {name}: it is a link that leads out of its folder, to "
            f"{display(place)}; name that file itself"
        )
    return Path(place)


@contextmanager
def writing(path: Path | str, *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open the output ``path``.

    A file is replaced atomically when the block ends without an error. A device, a pipe or a
    descriptor is written directly.

    Raises:
        UsageError: it cannot be written; the old content remains.
    """
    place = place_of(path)
    with ExitStack() as stack:
        try:
            if place is not None:
                file = stack.enter_context(replacing(place, binary=binary))
            else:
                number = _descriptor(Path(path))
                # a descriptor opened by the shell is used unaltered: possibly to append
                number = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
                file = stack.enter_context(
                    os.fdopen(number, "wb")
                    if binary
                    else os.fdopen(number, "w", -1, "utf-8", "replace", "\n")
                )
        except OSError as e:
            raise UsageError(f"cannot write {display(path)}: {reason(e)}") from None
        yield file


def _file(status: os.stat_result) -> _File:
    return _File(status.st_dev, status.st_ino)


def _status(path: Path | str | int) -> os.stat_result | None:
    """Return the status of a path or descriptor; None if it does not exist or cannot be
    accessed."""
    try:
        return os.stat(path)  # noqa: PTH116  (the fastest way)
    except (OSError, ValueError):
        return None


def _descriptor(path: Path) -> int | None:
    """Return the descriptor of this process for a path such as ``/dev/stdout`` or ``/dev/fd/3``."""
    for _ in range(_LINKS):
        folder = Path(os.path.realpath(path.parent))
        match = _DESCRIPTORS.fullmatch(str(folder))
        if match and path.name.isdecimal() and match[1] in (None, str(os.getpid())):
            return int(path.name)
        if not path.is_symlink():
            return None
        path = folder / path.readlink()
    return None


def _of_a_run(place: Path, run_folders: set[_File]) -> bool:
    """Return True if ``place`` is, or would be, a file of a run, store, journal, index or
    benchmark.

    Args:
        run_folders: folders of future runs.
    """
    if place.suffix.lower() in _REPORTS:
        return False
    for folder in place.parents:
        within = [part.casefold() for part in place.relative_to(folder).parts]
        if len(within) > 1 and _is_bench(folder):
            return True
        if not any(fnmatchcase(within[0], pattern) for pattern in _OWN):
            continue
        status = _status(folder)
        if status is not None and (_file(status) in run_folders or _is_ours(folder)):
            return True
    return False


def _is_ours(folder: Path) -> bool:
    return (
        any((folder / name).exists() for name in _MARKERS)
        or _is_bench(folder)
        or _holds(folder / "manifest.json", "identity")
    )


def _is_bench(folder: Path) -> bool:
    usual = folder.parent.name == "bench" and folder.parent.parent.name == ".veridical"
    return usual or _holds(folder / "bench.json", "signature")


def _holds(path: Path, field: str) -> bool:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and field in content
