"""Endpoints: which server, which model, what it costs, and where its key is.

They are named in ``veridical.toml``, of the current folder or of the user's configuration folder:

.. code-block:: toml

    [llm.judge]
    base_url = "https://api.openai.com/v1"
    model = "gpt-4o-mini"
    key_env = "OPENAI_API_KEY"
    price_in = 0.15
    price_out = 0.60
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from veridical.errors import UsageError, unknown_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: File with the user's endpoints, and the variable that names another one.
CONFIG = "veridical.toml"
CONFIG_VARIABLE = "VERIDICAL_CONFIG"
#: Holds the key for an endpoint given by its address alone. Never another service's key.
URL_KEY = "VERIDICAL_LLM_KEY"
ENDPOINT_FORMS = (
    "NAME of a section [llm.NAME] in veridical.toml",
    "openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL",
    "http(s)://HOST/v1#MODEL (any OpenAI-compatible server)",
    "local, local:PATH.gguf (runs here; extra [local])",
    "torch:HUB_ID, torch:FOLDER, torch:PATH.gguf (runs here, slowly; extra [torch])",
    "fake:FILE.json (scripted answers, for tests)",
)
#: What a server can be said to support, or not, in place of finding out.
CAPABILITIES = ("n", "logprobs", "schema", "echo")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_RESERVED = ("local", "torch", "fake")


@dataclass(frozen=True)
class Endpoint:
    """One model of one server.

    Attributes:
        name: what messages and signatures call it.
        base_url: address before ``/chat/completions``; ``local:PATH``, ``torch:MODEL`` or
            ``fake:PATH`` where no server is called.
        model: the model's name as the server knows it.
        key_env: environment variable with the bearer token; None sends none.
        price_in, price_out: money per million tokens, in the currency of the budget; None where
            unknown, which is not 0.
        max_concurrency: most calls under way at once, from 1; fewer where the server pushes back.
        timeout: seconds for one attempt.
        attempts: tries a call, from 1.
        extra_body: sent along in every request, as the server's own options. Part of what a
            reply depends on.
        supports: what is known of the server, by :data:`CAPABILITIES`; the rest is found out.
    """

    name: str
    base_url: str
    model: str
    key_env: str | None = None
    price_in: float | None = None
    price_out: float | None = None
    max_concurrency: int = 64
    timeout: float = 120.0
    attempts: int = 6
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    supports: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_address(self)
        if not self.model and not self.runs_here:
            raise UsageError(f"LLM {self.name!r}: name the model, as in {self.base_url}#MODEL")
        for name in ("price_in", "price_out"):
            price = getattr(self, name)
            if price is not None and not 0 <= price < float("inf"):
                raise UsageError(f"LLM {self.name!r}: {name} must be at least 0, not {price}")
        if self.max_concurrency < 1 or self.attempts < 1 or not 0 < self.timeout < float("inf"):
            raise UsageError(
                f"LLM {self.name!r}: max_concurrency and attempts must be at least 1, and timeout "
                "a positive number of seconds"
            )
        for name in self.supports:
            if name not in CAPABILITIES:
                raise unknown_name(f"capability of LLM {self.name!r}:", name, CAPABILITIES)

    @property
    def runs_here(self) -> bool:
        """Whether nothing leaves this machine and no server need be running."""
        return self.base_url.startswith(("local:", "torch:", "fake:"))

    @property
    def identity(self) -> str:
        """All of the endpoint that a reply depends on. Not its name, prices or limits."""
        parts = [self.base_url.rstrip("/"), self.model]
        if self.extra_body:
            parts.append(json.dumps(self.extra_body, sort_keys=True))
        return "\n".join(parts)

    def key(self) -> str | None:
        """The bearer token, from the environment.

        Raises:
            UsageError: the variable that should hold it is not set, or holds no usable token.
        """
        return key_from(self.key_env, f"LLM {self.name!r}")

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Price of a call with these tokens; None where a price or a count is not known."""
        total = 0.0
        for tokens, price in ((tokens_in, self.price_in), (tokens_out, self.price_out)):
            if price == 0 or tokens == 0:
                continue
            if price is None or tokens is None:
                return None
            total += tokens * price / 1e6
        return total


def key_from(variable: str | None, whose: str) -> str | None:
    """The key in an environment variable; None where none is named.

    Args:
        whose: for messages.

    Raises:
        UsageError: the variable is not set, or holds no usable key.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"{whose} needs its key in the variable {variable}")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{variable} holds characters that no key has")
    return key


@dataclass(frozen=True)
class _Provider:
    base_url: str
    key_env: str | None
    supports: Mapping[str, bool] = field(default_factory=dict)
    price: float | None = None


_PROVIDERS = {
    "openai": _Provider("https://api.openai.com/v1", "OPENAI_API_KEY", {"echo": False}),
    "anthropic": _Provider(
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        {"n": False, "logprobs": False, "schema": False, "echo": False},
    ),
    "gemini": _Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        {"echo": False},
    ),
    "ollama": _Provider("http://127.0.0.1:11434/v1", None, {"n": False, "echo": False}, price=0.0),
}


def find_endpoint(spec: str, *, named_only: bool = False) -> Endpoint:
    """The endpoint that ``spec`` names (see :data:`ENDPOINT_FORMS`).

    Args:
        named_only: take names from ``veridical.toml`` alone. For specs that come from elsewhere
            than the user's own command line: a request may name an endpoint, never give a URL.

    Raises:
        UsageError: ``spec`` has none of the forms, or the configuration cannot be read.
    """
    named = configured()
    if spec in named:
        return named[spec]
    if named_only:
        raise unknown_name("LLM", spec, named)
    if spec.startswith(("http://", "https://")):
        url, _, model = spec.partition("#")
        key = URL_KEY if os.environ.get(URL_KEY) else None
        return Endpoint(model or url, url, model, key)
    kind, _, rest = spec.partition(":")
    if kind == "local":
        path = str(Path(rest).expanduser()) if rest else ""
        model = Path(rest).stem if rest else "smollm2"
        return Endpoint(spec, f"local:{path}", model, price_in=0.0, price_out=0.0)
    if kind == "torch" and rest:
        return Endpoint(spec, spec, rest, price_in=0.0, price_out=0.0, max_concurrency=1)
    if kind == "fake" and rest:
        return Endpoint(spec, spec, Path(rest).stem, price_in=0.0, price_out=0.0)
    provider = _PROVIDERS.get(kind)
    if provider is not None and rest:
        return Endpoint(
            spec,
            provider.base_url,
            rest,
            provider.key_env,
            provider.price,
            provider.price,
            supports=provider.supports,
        )
    told = f" Named in {_config_file() or CONFIG}: {', '.join(sorted(named)) or 'none'}."
    raise UsageError(f"{spec!r} names no LLM.{told} Forms:\n  " + "\n  ".join(ENDPOINT_FORMS))


def configured() -> dict[str, Endpoint]:
    """Endpoints of the configuration file, by name; empty where there is no file.

    Raises:
        UsageError: the file is not TOML, or a section is not as it should be.
    """
    path, found = sections("llm")
    return {name: _read(path, name, section) for name, section in found.items()}


def sections(kind: str) -> tuple[Path, dict[str, Any]]:
    """The configuration file and its sections ``[kind.NAME]``, by name; none where there is no
    file.

    Raises:
        UsageError: the file is not TOML, or has a value in place of the sections.
    """
    path = _config_file()
    if path is None:
        return Path(CONFIG), {}
    try:
        found = tomllib.loads(path.read_text("utf-8")).get(kind, {})
    except (OSError, ValueError, RecursionError) as e:
        raise UsageError(f"{path}: {e}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path}: {kind!r} holds sections, as in [{kind}.NAME]")
    return path, found


def _config_file() -> Path | None:
    given = os.environ.get(CONFIG_VARIABLE)
    if given:
        path = Path(given).expanduser()
        if not path.is_file():
            raise UsageError(f"{CONFIG_VARIABLE} names {given!r}, which is no file")
        return path
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    places = (Path(CONFIG), Path(folder) / "veridical" / CONFIG)
    return next((p for p in places if p.is_file()), None)


_KINDS: dict[str, tuple[type, ...]] = {
    "base_url": (str,),
    "model": (str,),
    "key_env": (str,),
    "price_in": (int, float),
    "price_out": (int, float),
    "max_concurrency": (int,),
    "timeout": (int, float),
    "attempts": (int,),
    "extra_body": (dict,),
    "supports": (dict,),
}


def _read(path: Path, name: str, section: Any) -> Endpoint:
    where = f"{path}: [llm.{name}]"
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise UsageError(f"{where}: {name!r} cannot be a name")
    if not isinstance(section, dict):
        raise UsageError(f"{where}: this is a section, not a value")
    for key, value in section.items():
        if key in ("key", "api_key", "token"):
            raise UsageError(
                f"{where}: keys are not kept in files; put it in an environment variable and "
                "name that by key_env"
            )
        if key not in _KINDS:
            raise unknown_name(f"setting in {where}:", key, _KINDS)
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            kinds = " or ".join(k.__name__ for k in _KINDS[key])
            raise UsageError(f"{where}: {key} must be {kinds}, not {value!r}")
    if "base_url" not in section:
        raise UsageError(f"{where}: base_url is missing")
    for key, value in section.get("supports", {}).items():
        if not isinstance(value, bool):
            raise UsageError(f"{where}: supports.{key} must be true or false, not {value!r}")
    known = {f.name for f in fields(Endpoint)} & set(section)
    try:
        settings = {"model": "", **{key: section[key] for key in known}}
        return Endpoint(name=name, **settings)
    except UsageError as e:
        raise UsageError(f"{path}: {e}") from None


def _check_address(endpoint: Endpoint) -> None:
    if endpoint.runs_here:
        return
    url = endpoint.base_url
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as e:
        raise UsageError(f"LLM {endpoint.name!r}: {url!r} is no address: {e}") from None
    if "@" in parts.netloc:
        raise UsageError("an LLM's address holds no credentials: put the key in a variable")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"LLM {endpoint.name!r}: {url!r} is no http(s) address")
    if parts.query or parts.fragment:
        raise UsageError(f"LLM {endpoint.name!r}: {url!r} must end before any '?' or '#'")
