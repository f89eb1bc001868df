"""S3-compatible object storage: addresses, and the clients of a bucket.

Credentials and endpoint come only from the usual environment variables, never from an address.
These are ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``, ``AWS_REGION``,
``AWS_ENDPOINT_URL``, or those that a cluster sets for a role.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from veridical.errors import UsageError
from veridical.text.display import cut, printable, shown

#: Prefix of object addresses.
SCHEME = "s3://"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_NO_BUCKET = "<Code>NoSuchBucket</Code>"
_LONGEST = 800  # maximum bytes of a prefix; S3 allows keys of 1024
_KEY = "AWS_ACCESS_KEY_ID"
_SECRET = "AWS_SECRET_ACCESS_KEY"
#: Variables that clusters set for a role; any of them replaces credentials.
_ROLES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
#: Timeout of a request, including retries.
_PATIENCE = timedelta(seconds=30)
_TRIES = 4


@dataclass(frozen=True)
class Address:
    """An object, or a common prefix of names.

    Attributes:
        key: without a slash at its beginning or end; empty for the whole bucket.
    """

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}"


def is_address(text: str | os.PathLike[str]) -> bool:
    """Return True if ``text`` is an address of any scheme, and not a path."""
    return _ADDRESS.match(os.fspath(text)) is not None


def parse(text: str) -> Address:
    """Parse the address of an object.

    Raises:
        UsageError: it is not an address of an object, or has more than a bucket and a key.
    """
    if not text.startswith(SCHEME):
        raise UsageError(f"{shown(text)}: not a supported address; use s3://BUCKET/NAME")
    bucket, _, key = text.removeprefix(SCHEME).partition("/")
    key = key.removesuffix("/")
    why = None
    if "@" in bucket or ":" in bucket:
        why = f"credentials and hosts are no part of it: set {_KEY} and AWS_ENDPOINT_URL"
    elif not _BUCKET.fullmatch(bucket) or ".." in bucket:
        why = "a bucket has 3 to 63 small letters, digits, dots and dashes"
    elif not key.isprintable() or any(mark in key for mark in "?#*\\%"):
        why = "a name has no ? # * % \\ or control characters here"
    elif key and any(part in ("", ".", "..") for part in key.split("/")):
        why = "a name has no empty part, and no . or .. as a part"
    elif len(key.encode("utf-8", "replace")) > _LONGEST:
        why = f"a name has {_LONGEST} bytes at most"
    if why is not None:
        raise UsageError(f"{shown(text)}: {why}")
    return Address(bucket, key)


def objects(bucket: str) -> Any:
    """Return the ``obstore.store.S3Store`` of a bucket.

    Raises:
        UsageError: the extra or the credentials are missing.
    """
    return _store(bucket, _endpoint(), *_credentials())


def filesystem() -> Any:
    """Return the ``pyarrow.fs.S3FileSystem`` with the same credentials and endpoint.

    Raises:
        UsageError: the credentials are missing.
    """
    return _filesystem(_endpoint(), *_credentials())


@contextlib.contextmanager
def plain_errors(address: Address | str) -> Iterator[None]:
    """Convert errors of an object's server to plain messages.

    Raises:
        UsageError: access is denied, or the server does not respond as it should. A missing
            object, or a failed precondition, is left to the caller.
    """
    from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

    try:
        yield
    except (AlreadyExistsError, PreconditionError):
        raise
    except (FileNotFoundError, BaseError) as e:
        if _NO_BUCKET in str(e):
            raise UsageError(f"{address}: there is no such bucket") from None
        if isinstance(e, FileNotFoundError):
            raise
        said = printable(str(e).split("Debug source", 1)[0])
        raise UsageError(f"{address}: {cut(said, 300)}") from None


def _endpoint() -> str | None:
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None
    if endpoint is not None and not re.fullmatch(r"https?://[^\s/@?#]+/?", endpoint):
        raise UsageError(
            f"AWS_ENDPOINT_URL: {shown(endpoint)} is not https://HOST or http://HOST:PORT"
        )
    return endpoint


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def _credentials() -> tuple[str | None, str | None, str | None]:
    key, secret = os.environ.get(_KEY) or None, os.environ.get(_SECRET) or None
    if (key is None) != (secret is None):
        raise UsageError(f"{_KEY} and {_SECRET} must be set together; one of them is missing")
    if key is None and not any(os.environ.get(name) for name in _ROLES):
        raise UsageError(f"S3 requires credentials; set {_KEY} and {_SECRET}")
    return key, secret, os.environ.get("AWS_SESSION_TOKEN") or None


@lru_cache(maxsize=16)
def _store(
    bucket: str, endpoint: str | None, key: str | None, secret: str | None, token: str | None
) -> Any:
    try:
        from obstore.store import S3Store
    except ImportError as e:
        raise UsageError(f"S3 requires obstore; pip install obstore ({e})") from None
    given = {
        "endpoint": endpoint,
        "access_key_id": key,
        "secret_access_key": secret,
        "session_token": token,
    }
    config: Any = {"region": _region()} | {n: v for n, v in given.items() if v is not None}
    return S3Store(
        bucket,
        config=config,
        client_options={
            "allow_http": endpoint is not None and endpoint.startswith("http:"),
            "connect_timeout": timedelta(seconds=5),
        },
        retry_config={"max_retries": _TRIES, "retry_timeout": _PATIENCE},
    )


@lru_cache(maxsize=4)
def _filesystem(
    endpoint: str | None, key: str | None, secret: str | None, token: str | None
) -> Any:
    from pyarrow.fs import S3FileSystem

    # a copy of the environment, so that no configuration file overrides it
    return S3FileSystem(
        access_key=key,
        secret_key=secret,
        session_token=token,
        region=_region(),
        endpoint_override=endpoint,
        connect_timeout=5,
        request_timeout=30,
    )
