"""Import aliases of modules that moved since version 0.2, until 0.4."""

from __future__ import annotations

import sys

from veridical import plugins

TYPE_CHECKING = False  # typing's own would dominate the import time
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

#: Old module -> new module, both below ``veridical``.
_MOVED = {
    "claims.corpus": "retrieval.corpus",
    "claims.search": "retrieval.search",
    "claims.search_http": "retrieval.search_http",
    "evaluate.graders": "tuning.graders",
    "evaluate.report.document": "report.document",
    "ground": "claims_run",
    "llm.download": "weights.download",
    "one": "single",
    "planning": "run",
}
_HOUSE = "veridical."


class Moved:
    """Finder and loader of moved modules. An alias is the module itself, not a copy."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """Return the spec of a moved module; None for all others.

        Raises:
            MissingDistribution: the module belongs to a distribution that is not installed.
        """
        if not name.startswith(_HOUSE):
            return None
        there = _new_place(name.removeprefix(_HOUSE))
        if there is None:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, origin=there)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Use the default module, which :meth:`exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Register the module of the new name under the old one."""
        import warnings
        from importlib import import_module

        spec = module.__spec__
        assert spec is not None and spec.origin is not None
        warnings.warn(
            f"{spec.name} is {spec.origin} now; the old name goes away in version 0.4",
            DeprecationWarning,
            stacklevel=2,
        )
        sys.modules[spec.name] = import_module(spec.origin)


def _new_place(name: str) -> str | None:
    """Return the new name of the module ``veridical.NAME``; None if it never moved."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        known, rest = ".".join(parts[:n]), parts[n:]
        if known in _MOVED:
            return ".".join([_HOUSE + _MOVED[known], *rest])
        if n == 1 and known == "bench":  # a function
            return None
        if known in plugins.LAB[plugins.NAMES] or (n > 1 and _is_added(known, parts)):
            module = plugins.load(plugins.NAMES, known).__name__
            return ".".join([module, *rest])
    return None


def _is_added(known: str, parts: list[str]) -> bool:
    """Return True if a distribution provides the location of a module below a moved one."""
    return parts[0] in plugins.LAB[plugins.NAMES] and known in plugins.points(plugins.NAMES)
