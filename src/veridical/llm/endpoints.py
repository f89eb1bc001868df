"""LLM endpoints: server, model, prices and key.

They are named in ``veridical.toml``, in the current folder or the user's configuration folder:

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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from veridical.core.model_names import ModelName, forms
from veridical.errors import UsageError, unknown_name
from veridical.llm.configuration import CONFIG, BuiltIn, read_section, sections
from veridical.llm.extra_body import check_extra_body
from veridical.weights import checkers
from veridical.weights.download import SMOLLM2, WEIGHTS

#: Variable with the key of an endpoint given by its address alone. Never another service's key.
URL_KEY = "VERIDICAL_LLM_KEY"
ENDPOINT_FORMS = forms("llm")
_HERE = ("local", "torch", "fake")  # kinds that need no server
#: Capabilities that a section may declare, instead of having them detected.
CAPABILITIES = ("n", "logprobs", "schema", "echo")


@dataclass(frozen=True)
class Endpoint:
    """One model of one server.

    Attributes:
        name: label in messages and signatures.
        base_url: address before ``/chat/completions``; ``local:PATH``, ``torch:MODEL`` or
            ``fake:PATH`` for models without a server; ``auto`` in a file.
        model: the server's name of the model.
        key_env: environment variable with the bearer token; None sends no token.
        price_in, price_out: money per million tokens, in the currency of the budget; None if
            unknown, which is not 0.
        max_concurrency: maximum calls in flight, from 1; fewer if the server rejects calls.
        timeout: seconds for one attempt.
        attempts: maximum attempts per call, from 1.
        patience: seconds until a server that rejects every call (429, 503, 529) is given up;
            its longest Retry-After is added.
        extra_body: server options that are sent with every request. Part of what a reply
            depends on. Permitted keys: :mod:`veridical.llm.extra_body`.
        supports: known capabilities of the server, by :data:`CAPABILITIES`; the rest are
            detected.
    """

    name: str
    base_url: str
    model: str = ""
    key_env: str | None = None
    price_in: float | None = None
    price_out: float | None = None
    max_concurrency: int = 64
    timeout: float = 120.0
    attempts: int = 6
    patience: float = 120.0
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    supports: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_address(self)
        if not self.model and not self.runs_here:
            raise UsageError(
                f"LLM {self.name!r}: the model is missing; append it, as in {self.base_url}#MODEL"
            )
        for name in ("price_in", "price_out"):
            price = getattr(self, name)
            if price is not None and not 0 <= price < float("inf"):
                raise UsageError(f"LLM {self.name!r}: {name} must be at least 0, not {price}")
        if self.max_concurrency < 1 or self.attempts < 1:
            raise UsageError(f"LLM {self.name!r}: max_concurrency and attempts must be at least 1")
        for name in ("timeout", "patience"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError(f"LLM {self.name!r}: {name} must be a positive number of seconds")
        check_extra_body(f"LLM {self.name!r}", self.extra_body)
        for name in self.supports:
            if name not in CAPABILITIES:
                raise unknown_name(f"capability of LLM {self.name!r}:", name, CAPABILITIES)

    @property
    def kind(self) -> str:
        """Return ``local``, ``torch`` or ``fake`` if no server is needed, else an empty text."""
        name = ModelName.parse(self.base_url)
        return "" if name.alone or name.kind not in _HERE else name.kind

    @property
    def runs_here(self) -> bool:
        """Return True if the model runs locally and nothing leaves this machine."""
        return self.kind in _HERE or self.base_url == checkers.AUTO

    @property
    def llama_cpp(self) -> bool:
        """Return True if llama.cpp runs the model locally.

        It caches common prompt prefixes and returns token probabilities.
        """
        return self.kind == "local"

    @property
    def identity(self) -> str:
        """Return the settings that a reply depends on (not the name, prices or limits)."""
        parts = [self.base_url.rstrip("/"), self.model]
        if self.extra_body:
            parts.append(json.dumps(self.extra_body, sort_keys=True))
        return "\n".join(parts)

    def key(self) -> str | None:
        """Return the bearer token from the environment.

        Raises:
            UsageError: the variable is not set, or contains no usable token.
        """
        return key_from(self.key_env, f"LLM {self.name!r}")

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Return the price of a call with these tokens; None if a price or a count is unknown."""
        total = 0.0
        for tokens, price in ((tokens_in, self.price_in), (tokens_out, self.price_out)):
            if price == 0 or tokens == 0:
                continue
            if price is None or tokens is None:
                return None
            total += tokens * price / 1e6
        return total


def key_from(variable: str | None, whose: str) -> str | None:
    """Return the key in an environment variable; None if no variable is named.

    Args:
        whose: the owner, for messages.

    Raises:
        UsageError: the variable is not set, or contains no usable key.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"{whose} needs a key; set the environment variable {variable}")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{variable} contains characters that no key has; set it again")
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

#: Names that need no file, including models that run locally.
_BUILT_IN = {
    **{name: BuiltIn(p.base_url, p.key_env) for name, p in _PROVIDERS.items()},
    **dict.fromkeys(
        (
            "minilm",
            *WEIGHTS,
            *checkers.CHECKERS,
            "mini",
            "base",
            "veridical-nli-mini",
            "veridical-nli-base",
        ),
        BuiltIn(""),
    ),
}


def find_endpoint(spec: str, *, named_only: bool = False) -> Endpoint:
    """Return the endpoint that ``spec`` names (see :data:`ENDPOINT_FORMS`).

    Args:
        named_only: accept only names of ``veridical.toml``. For specs from outside the user's own
            command line: a request may name an endpoint, never give a URL.

    Raises:
        UsageError: ``spec`` has none of the forms, or the configuration cannot be read.
    """
    named = configured()
    if spec in named:
        found = named[spec]
        automatic = found.base_url == checkers.AUTO
        return replace(found, base_url=_best_checker()) if automatic else found
    if named_only:
        raise unknown_name("LLM", spec, named)
    name = ModelName.parse(spec)
    if name.remote:
        url, model = name.served
        key = URL_KEY if os.environ.get(URL_KEY) else None
        return Endpoint(model or url, url, model, key)
    if spec == checkers.AUTO:
        spec = _best_checker()
        name = ModelName.parse(spec)
    kind, place = name.kind, name.place
    if kind == "local":
        path = str(Path(place).expanduser()) if place else ""
        known = place in WEIGHTS or place in checkers.CHECKERS
        model = place if known else Path(place).stem or SMOLLM2.name
        url = str(replace(name, place=path, alone=False))
        return Endpoint(spec, url, model, price_in=0.0, price_out=0.0)
    if kind == "torch" and name.rest:
        return Endpoint(spec, spec, place, price_in=0.0, price_out=0.0, max_concurrency=1)
    if kind == "fake" and name.rest:
        return Endpoint(spec, spec, Path(name.rest).stem, price_in=0.0, price_out=0.0)
    if kind in _PROVIDERS and name.rest:
        p = _PROVIDERS[kind]
        return Endpoint(
            spec, p.base_url, name.rest, p.key_env, p.price, p.price, supports=p.supports
        )
    names = ", ".join(sorted(named)) or "none"
    raise UsageError(
        f"{spec!r} is not a known LLM. Named in {CONFIG}: {names}. Forms:\n  "
        + "\n  ".join(ENDPOINT_FORMS)
    )


def _best_checker() -> str:
    """Return the largest installed checker, as a spec.

    Raises:
        UsageError: no checker is installed.
    """
    best = checkers.best()
    if best is None:
        names = " or ".join(f"veridical models get {name}" for name in checkers.CHECKERS)
        raise UsageError(f"llm auto: no checker is installed; run {names}")
    return f"local:{best.name}"


def configured() -> dict[str, Endpoint]:
    """Return the endpoints of the configuration (:mod:`veridical.llm.configuration`), by name.

    Raises:
        UsageError: a file is not TOML, or a section is invalid.
    """
    return {
        name: read_section(Endpoint, "llm", name, section, _HERE)
        for name, section in sections("llm", _BUILT_IN).items()
    }


def _check_address(endpoint: Endpoint) -> None:
    if endpoint.runs_here:
        return
    url = endpoint.base_url
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as e:
        raise UsageError(f"LLM {endpoint.name!r}: {url!r} is not an address: {e}") from None
    if "@" in parts.netloc:
        raise UsageError(
            "an LLM's address may not contain credentials; put the key in an environment variable"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"LLM {endpoint.name!r}: {url!r} is not an http(s) address")
    if parts.query or parts.fragment:
        raise UsageError(f"LLM {endpoint.name!r}: {url!r} must end before any '?' or '#'")
