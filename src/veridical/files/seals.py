"""Seals: keyed checksums that tell damage and forgery from what this computer wrote.

A seal is a keyed blake2b of what it protects. Whoever plants a file does not know the secret of
this computer, so cannot seal it; what was sealed elsewhere is not trusted here, unless both share
the secret (:data:`SECRET_VARIABLE`). Where no secret can be kept, seals are plain checksums, which
tell damage only.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from functools import cache
from pathlib import Path
from typing import Any

from veridical.errors import UsageError

#: Names the secret where several computers share runs, stores or journals: any text of 16
#: characters or more.
SECRET_VARIABLE = "VERIDICAL_SECRET"
#: Bytes of a seal.
SEAL = 12


def seal(*parts: str | bytes, purpose: str) -> bytes:
    """The :data:`SEAL` bytes that seal ``parts`` for one ``purpose`` (ASCII, 16 characters at
    most). Each part is prefixed with its length, so none can run into the next.

    Raises:
        UsageError: as :func:`local_secret`.
    """
    key = _kept_secret() or b""
    h = hashlib.blake2b(key=key[:64], digest_size=SEAL, person=purpose.encode("ascii"))
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.digest()


def sealed(mark: bytes, *parts: str | bytes, purpose: str) -> bool:
    """Whether ``mark`` is the seal of ``parts``; compared in constant time."""
    return hmac.compare_digest(mark, seal(*parts, purpose=purpose))


def sealed_hex(digits: Any, *parts: str | bytes, purpose: str) -> bool:
    """Whether ``digits``, which may be anything, are the hexadecimal digits of that seal."""
    try:
        mark = bytes.fromhex(digits.decode("ascii") if isinstance(digits, bytes) else digits)
    except (TypeError, ValueError):
        return False
    return sealed(mark, *parts, purpose=purpose)


def local_secret() -> bytes:
    """This computer's secret: of the environment, else of the user's configuration folder.

    Where that folder cannot be written, a secret of this process: fences hold, but calls of
    another run are not found in the journal.

    Raises:
        UsageError: the variable is set to fewer than 16 characters, or the file has fewer bytes.
    """
    return _kept_secret() or _process_secret()


@cache
def _process_secret() -> bytes:
    return secrets.token_bytes(32)


@cache
def _kept_secret() -> bytes | None:
    """The secret that later processes find too; None where none can be kept."""
    secret = os.environ.get(SECRET_VARIABLE)
    if secret is not None:
        if len(secret) < 16:
            raise UsageError(f"{SECRET_VARIABLE} needs 16 characters or more")
        return secret.encode()
    try:
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
        content = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    if len(content) < 16:
        raise UsageError(f"{path} is not a secret of this package; remove it")
    return content


def forget_secret() -> None:
    """Look the secret up anew the next time, as after a change of the environment."""
    _kept_secret.cache_clear()
    _process_secret.cache_clear()


def _path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "veridical" / "secret"


def _make(path: Path) -> None:
    """Write a new secret unless there is one. Of two processes at once, one wins: the file
    appears whole under its name."""
    if path.exists():
        return
    draft = path.with_name(f"secret.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            if not path.exists():
                draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
