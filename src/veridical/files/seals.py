"""Seals: keyed checksums that detect damage and forgery of this computer's files.

A seal is a keyed blake2b of the protected content. A forger does not know this computer's secret,
so cannot seal a planted file. Files sealed elsewhere are not trusted here, unless both computers
share the secret (:data:`SECRET_VARIABLE`). If no secret can be stored, seals are plain checksums,
which detect damage only.
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

#: Variable with the secret of computers that share runs, stores or journals: any text of 16
#: characters or more.
SECRET_VARIABLE = "VERIDICAL_SECRET"
#: Bytes of a seal.
SEAL = 12


def seal(*parts: str | bytes, purpose: str) -> bytes:
    """Return the :data:`SEAL` bytes that seal ``parts`` for one ``purpose`` (ASCII, at most 16
    characters). Each part is prefixed with its length, so that parts cannot be confused.

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
    """Return True if ``mark`` is the seal of ``parts``; compared in constant time."""
    return hmac.compare_digest(mark, seal(*parts, purpose=purpose))


def sealed_hex(digits: Any, *parts: str | bytes, purpose: str) -> bool:
    """Return True if ``digits``, of any type, are the hexadecimal digits of that seal."""
    try:
        mark = bytes.fromhex(digits.decode("ascii") if isinstance(digits, bytes) else digits)
    except (TypeError, ValueError):
        return False
    return sealed(mark, *parts, purpose=purpose)


def local_secret() -> bytes:
    """Return this computer's secret, from the environment or else the user's configuration folder.

    If that folder cannot be written, the secret is that of this process. Fences hold, but calls of
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
    """Return the secret that later processes find too; None if it cannot be stored."""
    secret = os.environ.get(SECRET_VARIABLE)
    if secret is not None:
        if len(secret) < 16:
            raise UsageError(f"{SECRET_VARIABLE} must have at least 16 characters")
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
    """Forget the cached secret, as after a change of the environment."""
    _kept_secret.cache_clear()
    _process_secret.cache_clear()


def _path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "veridical" / "secret"


def _make(path: Path) -> None:
    """Write a new secret unless there is one. Of two concurrent processes one wins, as the file
    appears atomically."""
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
