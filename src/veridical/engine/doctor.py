"""Installation check: models, extras, endpoints, the store and a test judgement."""

from __future__ import annotations

import hashlib
import os
import platform
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from veridical.core.protocols import LABELS, Pair
from veridical.engine.options import EngineOptions
from veridical.errors import ModelError, VeridicalError
from veridical.models.nli.packaged import BASE, HOW
from veridical.text.display import printable, reason
from veridical.version import __version__
from veridical.weights import checkers

#: Module -> name of its package, where that differs.
_PACKAGES = {"sklearn": "scikit-learn", "PIL": "pillow", "ray": "'ray[data]'"}
#: Extra -> its modules.
EXTRAS = {
    "torch": ("torch", "transformers", "safetensors"),
    "spacy": ("spacy",),
    "local": ("xllamacpp",),
    "gguf": ("gguf", "accelerate"),
    "train": ("torch", "sklearn"),
    "corpus": ("pypdf",),
    "meta": ("prince",),
    "ray": ("ray",),
    "s3": ("obstore",),
    "vision": ("PIL",),
}
#: Test pairs of the default's NLI model: premise, hypothesis and expected class.
PAIRS = (
    ("The concert was held in Vienna in 1987.", "The concert took place in Vienna.", "entailment"),
    ("The bridge was finished in 1932.", "The bridge was finished in 1951.", "contradiction"),
)
_REINSTALL = "reinstall the package: pip install --force-reinstall . (in a checkout)"


@dataclass(frozen=True)
class DoctorFinding:
    """One finding of the installation check.

    Attributes:
        area: ``core``, ``models``, ``pairs``, ``extras``, ``endpoints``, ``store`` or
            ``local models``.
        name: name of the item.
        status: ``ok``, ``absent`` (not installed, and not required) or ``broken``.
        says: description.
        fix: how to repair or install it.
        details: the same data for programs.
    """

    area: str
    name: str
    status: str
    says: str
    fix: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(options: EngineOptions | None = None) -> list[DoctorFinding]:
    """Check everything that a run may need. Nothing is created, downloaded or called.

    Args:
        options: options with the store to check; default: the default store.
    """
    from veridical.models import load_encoder, load_nli
    from veridical.models.catalog import EMBEDDED
    from veridical.models.images import onnx as images
    from veridical.models.nli import packaged

    chosen = EngineOptions() if options is None else options
    findings = [
        DoctorFinding("core", "veridical", "ok", __version__),
        DoctorFinding("core", "Python", "ok", f"{platform.python_version()}, {platform.system()}"),
    ]
    findings.append(_own("minilm", EMBEDDED, load_encoder))
    embedded = partial(images.OnnxImageEmbedder, images.EMBEDDED)
    findings.append(_own(images.EMBEDDED.name, images.EMBEDDED, embedded))
    for name in (packaged.MINI, packaged.BASE):
        found = packaged.find(name)
        if found is not None:
            findings.append(_own(name, found.folder, partial(load_nli, name)))
        elif name == packaged.MINI:
            why = f"{name} is not in this installation"
            findings.append(_broken(name, why, {}))
    findings += _pairs()
    findings += [_extra(name, modules) for name, modules in EXTRAS.items()]
    return [*findings, *_endpoints(), _store(chosen.store_path), *_local_models()]


def works(findings: list[DoctorFinding]) -> bool:
    """Return True if nothing that a run needs is broken."""
    return all(finding.status != "broken" for finding in findings)


def _own(name: str, folder: Path, load: Callable[..., Any]) -> DoctorFinding:
    """Check a model of this project: its files by their checksums, and whether it loads."""
    details: dict[str, Any] = {"size_bytes": 0, "revision": None, "checksums": False}
    try:
        for line in (folder / "SHA256SUMS").read_text("utf-8").splitlines():
            digest, file = line.split()
            content = (folder / file).read_bytes()
            details["size_bytes"] += len(content)
            if hashlib.sha256(content).hexdigest() != digest:
                return _broken(name, f"{file} differs from the published file", details)
        details["checksums"] = True
        details["revision"] = load(threads=1).revision
    except (OSError, ValueError, VeridicalError) as e:
        return _broken(name, reason(e), details)
    size = details["size_bytes"] / 1e6
    where = "installed" if name == BASE else "embedded"
    says = f"{where}, {size:.0f} MB, {details['revision']}, checksums right"
    return DoctorFinding("models", name, "ok", says, details=details)


def _broken(name: str, why: str, details: dict[str, Any]) -> DoctorFinding:
    fix = f"reinstall it: {HOW}" if name == BASE else _REINSTALL
    return DoctorFinding("models", name, "broken", why, fix, details)


def _pairs() -> Iterator[DoctorFinding]:
    """Check the default's NLI model on pairs with a known class."""
    from veridical.models import load_nli

    for premise, hypothesis, expected in PAIRS:
        details: dict[str, Any] = {
            "premise": premise,
            "hypothesis": hypothesis,
            "expected": expected,
        }
        try:
            model = load_nli(threads=1)
            (windows,) = model.windows([Pair(premise, hypothesis)])
            probabilities = model.assemble(windows, model.run(windows))
        except VeridicalError as e:
            yield DoctorFinding("pairs", expected, "broken", reason(e), _REINSTALL, details)
            continue
        most = max(range(len(LABELS)), key=lambda i: float(probabilities[i]))
        details |= {"judged": LABELS[most], "probability": round(float(probabilities[most]), 4)}
        right = LABELS[most] == expected
        says = f"judged {LABELS[most]} at {float(probabilities[most]):.2f}: "
        says += "right" if right else "wrong"
        status, fix = ("ok", "") if right else ("broken", _REINSTALL)
        yield DoctorFinding("pairs", expected, status, says, fix, details)


def _extra(name: str, modules: tuple[str, ...]) -> DoctorFinding:
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        says = f"not installed: {', '.join(missing)}"
        packages = " ".join(_PACKAGES.get(module, module) for module in missing)
        return DoctorFinding("extras", name, "absent", says, f"pip install {packages}")
    return DoctorFinding("extras", name, "ok", "installed")


def _endpoints() -> list[DoctorFinding]:
    """Check the configured endpoints: capabilities, and presence of their key, which is not
    read."""
    from veridical.llm.endpoints import configured

    try:
        endpoints = configured()
    except VeridicalError as e:
        says = printable(str(e))
        return [
            DoctorFinding(
                "endpoints", "veridical.toml", "broken", says, "correct the file, or move it"
            )
        ]
    findings = []
    for name, endpoint in endpoints.items():
        variable = endpoint.key_env
        is_set = variable is not None and bool(os.environ.get(variable, "").strip())
        can = ["chat", *(what for what, has in endpoint.supports.items() if has)]
        lacks = [what for what, has in endpoint.supports.items() if not has]
        key = "no key" if variable is None else f"{variable} {'is set' if is_set else 'is not set'}"
        says = f"{printable(endpoint.model)}: {', '.join(can)}"
        says += f"; not {', '.join(lacks)}" if lacks else ""
        fix = "" if variable is None or is_set else f"export {variable}=..."
        details: dict[str, Any] = {"model": endpoint.model, "can": can, "lacks": lacks}
        details |= {"key_variable": variable, "key_set": is_set if variable else None}
        status = "absent" if fix else "ok"
        findings.append(
            DoctorFinding("endpoints", printable(name), status, f"{says}; {key}", fix, details)
        )
    return findings or [
        DoctorFinding("endpoints", "none", "absent", "no [llm.NAME] in veridical.toml")
    ]


def _store(path: Path | None) -> DoctorFinding:
    if path is None:
        return DoctorFinding("store", "none", "absent", "model outputs are not stored")
    details: dict[str, Any] = {"path": str(path), "entries": 0, "size_bytes": 0}
    place = path
    while not place.exists() and place != place.parent:
        place = place.parent
    writable = details["writable"] = place.is_dir() and os.access(place, os.W_OK | os.X_OK)
    try:
        if path.exists():
            files = [p for p in path.iterdir() if p.is_file()]
            details["size_bytes"] = sum(p.stat().st_size for p in files)
            details["entries"] = _entries(path / "keys.sqlite")
    except (OSError, sqlite3.Error) as e:
        fix = f"remove {printable(str(path))}: what it holds is computed again"
        return DoctorFinding("store", "store", "broken", reason(e), fix, details)
    size = details["size_bytes"] / 1e6
    held = f"{details['entries']:,} entries, {size:.1f} MB" if path.exists() else "not made yet"
    says = f"{printable(str(path))}: {held}, {'writable' if writable else 'not writable'}"
    fix = "" if writable else "make it writable, or name another one by --store"
    return DoctorFinding("store", "store", "ok" if writable else "broken", says, fix, details)


def _entries(path: Path) -> int:
    """Count the values in a store by its keys, without changing it."""
    if not path.is_file():
        return 0
    address = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=5)) as keys:
        if not keys.execute("SELECT 1 FROM sqlite_master WHERE name = 'entries'").fetchone():
            return 0
        return int(keys.execute("SELECT count(*) FROM entries").fetchone()[0])


def _local_models() -> Iterator[DoctorFinding]:
    """Check downloaded models."""
    from veridical.weights.download import WEIGHTS, fetched, find

    for weights in WEIGHTS.values():
        status, fix, here = "ok", "", ""
        if find(weights) is None:
            part = fetched(weights) / 1e6
            status, fix = "absent", f"veridical models get {weights.name}"
            here = f": {part:.0f} MB of it fetched" if part else ": not fetched"
        says = f"{weights.title}, {weights.size / 1e6:.0f} MB, {weights.good_for}{here}"
        yield DoctorFinding("local models", weights.name, status, says, fix)
    yield from map(_checker, checkers.CHECKERS.values())


def _checker(checker: checkers.KnownChecker) -> DoctorFinding:
    """Check a trained checker: its adapter, by hash, and its base model."""
    from veridical.weights.download import find

    what = f"judges statements by documents, over {checker.base.name}"
    how = checkers.HOW.format(name=checker.name)
    area, name = "local models", checker.name
    try:
        if checkers.find(checker) is None:
            return DoctorFinding(area, name, "absent", f"{what}: its adapter is not installed", how)
        checkers.need(checker)
    except ModelError as e:
        return DoctorFinding(area, name, "broken", str(e), how)
    if find(checker.base) is None:
        fix = f"veridical models get {name}"
        return DoctorFinding(area, name, "absent", f"{what}: {checker.base.name} is missing", fix)
    return DoctorFinding(area, name, "ok", what)
