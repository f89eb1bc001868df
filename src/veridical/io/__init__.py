"""Records from files, standard input, rows in memory and data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veridical.io.source import InputSource as Source
    from veridical.io.source import open_source

__all__ = ["Source", "open_source"]


def __getattr__(name: str) -> Any:
    # lazy: users of a single record need these modules, but open nothing
    if name in __all__:
        from veridical.io import source

        return source.InputSource if name == "Source" else source.open_source
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
