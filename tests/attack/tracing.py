"""Commands under strace: what they connect to and the files they write."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

#: Calls that make or change a file, besides opens for writing.
_MAKES = "creat|mkdir|mkdirat|mknod|mknodat|rename|renameat|renameat2|link|linkat|symlink|symlinkat"
_CALLS = f"network,open,openat,truncate,{_MAKES.replace('|', ',')}"
_LINE = re.compile(rf"^\d+\s+(open|openat|truncate|{_MAKES})\((.*)$")
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
#: Calls by which something may leave, or come. A socket alone carries nothing: urllib3 makes one
#: when it is imported, as packages that are here by chance do, to see whether there is IPv6.
_SOCKET = re.compile(r"^\d+\s+(connect\(|listen\(|(sendto|sendmsg|sendmmsg)\(.*AF_INET)")
#: Users' names may be asked of a process of this machine.
_NAMES = re.compile(r"sun_path=\"/(var/)?run/nscd/socket\"")
_WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE")


@dataclass
class Ran:
    """A finished command.

    Attributes:
        sockets: the lines of calls to elsewhere or from there; None where nothing could trace them.
        written: files that were made, changed or renamed.
    """

    code: int
    errors: str
    sockets: list[str] | None
    written: set[Path] = field(default_factory=set)


@cache
def jail() -> str | None:
    """What can show that a command is offline: ``strace``, ``unshare`` (no network at all) or
    None."""
    for name, command in (("strace", ["-f", "true"]), ("unshare", ["-r", "-n", "true"])):
        place = shutil.which(name)
        if place and not subprocess.run([place, *command], capture_output=True).returncode:
            return name
    return None


def clean_environment(home: Path) -> dict[str, str]:
    """A new user's environment, with everything that belongs to the user under ``home``."""
    temporary = home.parent / "tmp"
    for folder in (home, temporary):
        folder.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run(folder: Path, environment: dict[str, str], *arguments: str) -> Ran:
    """``python`` with ``arguments`` in ``folder``, in the :func:`jail` that there is."""
    trace = folder.parent / "trace"
    before = ["unshare", "-r", "-n"]
    if jail() == "strace":
        before = ["strace", "-f", "-y", "-qq", "--seccomp-bpf", "-s", "4096"]
        before += ["-e", f"trace={_CALLS}", "-e", "signal=none", "-o", str(trace)]
    done = subprocess.run(
        [*before, sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if jail() != "strace":
        return Ran(done.returncode, done.stderr, None)
    lines = trace.read_text(errors="replace").splitlines()
    sockets = [line for line in lines if _SOCKET.match(line) and not _NAMES.search(line)]
    written = {path for line in lines for path in _written(line, folder)}
    return Ran(done.returncode, done.stderr, sockets, written)


def _written(line: str, folder: Path) -> list[Path]:
    found = _LINE.match(line)
    if found is None:
        return []
    call, rest = found.groups()
    if call in ("open", "openat") and not _WRITES.search(rest.partition('"')[2].partition('"')[2]):
        return []
    return [Path(base or folder) / name for base, name in _PATH.findall(rest)]
