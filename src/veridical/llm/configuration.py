"""Configuration file ``veridical.toml``: the user's and the current folder's.

The file of the current folder may come with a foreign checkout, so it is trusted less. It may
name endpoints, but not have the user's secrets sent to them: see :func:`sections`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from veridical.errors import UsageError
from veridical.files.settings import settings
from veridical.files.toml import read_toml
from veridical.notices import warn_once
from veridical.text.display import LONGEST_ERROR, cut

S = TypeVar("S")

#: Name of the file with the user's endpoints, and the variable that names another file.
CONFIG = "veridical.toml"
CONFIG_VARIABLE = "VERIDICAL_CONFIG"
#: Prefix of environment variables that any file may name as keys.
PROJECT_KEYS = "VERIDICAL_LLM_KEY_"
#: Kinds of sections, and the setting of each that has its address.
_ADDRESS = {"llm": "base_url", "search": "url"}
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
#: Names that people use for a key written into a file.
_KEYS = frozenset({"key", "api_key", "token"})
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_PORTS = {"http": 80, "https": 443}


class BuiltIn(NamedTuple):
    """Service or model with a name that needs no file; ``address`` is empty if it runs locally."""

    address: str
    key_env: str | None = None


class Section(NamedTuple):
    """Section ``[kind.NAME]`` and the file that contains it."""

    path: Path
    value: Any


def sections(kind: str, built_in: Mapping[str, BuiltIn]) -> dict[str, Section]:
    """Return the sections ``[kind.NAME]`` of the configuration, by name.

    Sections of the current folder's file replace the user's own; a warning is issued once.

    A file of the current folder may name three kinds of variables as keys:

    - those that begin with :data:`PROJECT_KEYS`
    - those in ``key_variables`` of ``[trust]`` in the user's own file
    - those that the user's own file or ``built_in`` names for the same scheme, host and port

    Raises:
        UsageError: a file is not TOML, has a value instead of sections, or names a variable that it
            may not.
    """
    project, users_file = _files()
    ours = {} if users_file is None else _tables(*users_file, kind)
    if project is None:
        return ours
    path, content = project
    if "trust" in content:
        raise UsageError(
            f"{path}: [trust] is allowed only in your own file: move it to {_own_path()}"
        )
    theirs = _tables(path, content, kind)
    for name, section in theirs.items():
        _check_key(kind, name, section, {} if users_file is None else users_file[1], built_in)
        _tell_of(kind, name, section, ours.get(name), built_in.get(name))
    return {**ours, **theirs}


def read_section(
    settings_of: type[S], kind: str, name: str, section: Section, reserved: Collection[str] = ()
) -> S:
    """Read the section ``[kind.NAME]`` as the dataclass ``settings_of``.

    Args:
        reserved: names that no section may have.

    Raises:
        UsageError: the section is invalid, or contains a key.
    """
    where = f"{section.path}: [{kind}.{name}]"
    if not _NAME.fullmatch(name) or name in reserved:
        raise UsageError(f"{where}: {name!r} is a reserved or invalid name; choose another")
    if isinstance(section.value, dict) and not _KEYS.isdisjoint(section.value):
        raise UsageError(
            f"{where}: keys are not allowed in files; put the key in an environment "
            "variable and set "
            "key_env to its name"
        )
    try:
        return settings(settings_of, section.value, where, name=name)
    except UsageError as e:
        placed = str(e).startswith(("unknown", where))
        message = str(e) if placed else f"{section.path}: {e}"
        raise UsageError(cut(message, LONGEST_ERROR)) from None


def _files() -> tuple[tuple[Path, dict[str, Any]] | None, tuple[Path, dict[str, Any]] | None]:
    """Return the current folder's file and the user's own, each None if missing."""
    name = os.environ.get(CONFIG_VARIABLE)
    if name:
        path = Path(name).expanduser()
        if not path.is_file():
            raise UsageError(f"{CONFIG_VARIABLE} names {name!r}, which is not a file")
        return None, (path, _content(path))
    project, users_file = Path(CONFIG), _own_path()
    if not users_file.is_file():
        return ((project, _content(project)) if project.is_file() else None), None
    if not project.is_file() or project.samefile(users_file):
        return None, (users_file, _content(users_file))
    return (project, _content(project)), (users_file, _content(users_file))


def _own_path() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "veridical" / CONFIG


def _content(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except (OSError, ValueError) as e:
        raise UsageError(f"{path}: {e}") from None


def _tables(path: Path, content: dict[str, Any], kind: str) -> dict[str, Section]:
    tables = content.get(kind, {})
    if not isinstance(tables, dict):
        raise UsageError(f"{path}: {kind!r} must contain sections, as in [{kind}.NAME]")
    return {name: Section(path, value) for name, value in tables.items()}


def _check_key(
    kind: str,
    name: str,
    section: Section,
    users_content: Mapping[str, Any],
    built_in: Mapping[str, BuiltIn],
) -> None:
    """Check the variable that a section names as its key.

    Raises:
        UsageError: the section may not name this variable.
    """
    variable, address = _key_and_address(kind, section.value)
    if variable is None or variable.startswith(PROJECT_KEYS) or variable in _trusted(users_content):
        return
    origin = origin_of(address)
    trusted_pairs = [(b.key_env, b.address) for b in built_in.values()]
    for other in _ADDRESS:
        tables = users_content.get(other)
        if isinstance(tables, dict):
            trusted_pairs += [_key_and_address(other, value) for value in tables.values()]
    if origin is not None and any(
        k == variable and origin_of(a) == origin for k, a in trusted_pairs
    ):
        return
    raise UsageError(
        f"{section.path}: [{kind}.{name}] would send the environment variable {variable} to "
        f"{origin or address!r}. A file of the current folder may come from a foreign "
        "checkout, so it "
        f"may name only variables that begin with {PROJECT_KEYS}. If you trust it with this one, "
        f"add to {_own_path()}:\n  [trust]\n  key_variables = [{json.dumps(variable)}]"
    )


def _trusted(users_content: Mapping[str, Any]) -> list[str]:
    """Return the variables that the user's own file lets any file name."""
    trust = users_content.get("trust", {})
    listed = trust.get("key_variables", []) if isinstance(trust, dict) else None
    if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
        raise UsageError(
            f'{_own_path()}: [trust] must contain key_variables = ["NAME", ...] (names of '
            "variables)"
        )
    return listed


def _tell_of(
    kind: str, name: str, section: Section, users_section: Section | None, built_in: BuiltIn | None
) -> None:
    """Warn that a section replaces another one of the same name."""
    mine = _place(kind, section.value)
    message = f"[{kind}.{name}] of {section.path.absolute()} ({mine}) replaces"
    if users_section is not None and users_section.value != section.value:
        warn_once(
            f"{message} the one in {users_section.path} ({_place(kind, users_section.value)})"
        )
    if built_in is not None and origin_of(built_in.address) != mine:
        there = origin_of(built_in.address) or "runs locally"
        warn_once(f"{message} the built-in {name} ({there})")


def _place(kind: str, value: Any) -> str:
    _, address = _key_and_address(kind, value)
    return origin_of(address) or address


def _key_and_address(kind: str, value: Any) -> tuple[str | None, str]:
    if not isinstance(value, dict):
        return None, ""
    variable, address = value.get("key_env"), value.get(_ADDRESS[kind])
    # a value that is not a text is refused where the section is read
    return (
        variable if isinstance(variable, str) else None,
        address if isinstance(address, str) else "",
    )


def origin_of(address: str) -> str | None:
    """Return scheme, host and port of an address in one form; None if it is not a plain address."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or "@" in parts.netloc or not _HOST.fullmatch(host):
        return None
    shown = f"[{host}]" if ":" in host else host
    usual = port in (None, _PORTS[parts.scheme])
    return f"{parts.scheme}://{shown}" + ("" if usual else f":{port}")
