"""Model specifications: one string names any encoder."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.models.protocols import Encoder

EMBEDDED = Path(__file__).parent / "data" / "all-MiniLM-L6-v2"
DEFAULT_ENCODER = "minilm"
MODEL_FORMS = (
    "minilm (embedded)",
    "a local folder",
    "onnx:FOLDER",
    "torch:HUB_ID_OR_FOLDER[?layer=17&revision=COMMIT&prefix=TEXT&dense=SUBFOLDER]",
    "org/name (a hub id, run by torch)",
    "https://HOST/v1#MODEL (OpenAI-compatible)",
    "tei:http://HOST (text-embeddings-inference)",
)
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
#: Options after ``?`` and how they are read, by kind of back end.
_OPTIONS: dict[str, dict[str, Any]] = {
    "onnx": {"prefix": str, "dense": str},
    "torch": {"layer": int, "revision": str, "prefix": str, "dense": str},
}


@dataclass(frozen=True)
class ModelRow:
    """One line of ``veridical models``."""

    name: str
    kind: str
    licence: str
    size_bytes: int
    revision: str
    where: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def load_encoder(
    spec: str = DEFAULT_ENCODER, *, threads: int | None = None, device: str | None = None
) -> Encoder:
    """The encoder that ``spec`` names (see :data:`MODEL_FORMS`).

    Args:
        threads: threads of one forward, for back ends that run here.
        device: torch device, such as ``cuda`` or ``cpu``; for torch back ends only.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded.
    """
    if spec in ("minilm", ""):
        from veridical.models.onnx import OnnxEncoder

        return OnnxEncoder(EMBEDDED, threads=threads, name="minilm", scripts=frozenset({"Latin"}))
    if spec.startswith(("http://", "https://", "tei:http://", "tei:https://")):
        from veridical.models.http import HttpEncoder

        return HttpEncoder.from_spec(spec)
    kind, _, rest = spec.partition(":")
    if kind not in _OPTIONS:
        kind, rest = "", spec
    name, _, query = rest.partition("?")
    folder = Path(name).expanduser()
    if not kind and folder.is_dir():
        from veridical.models.onnx import find_graph

        kind = "onnx" if find_graph(folder) else "torch"
    elif name.startswith((".", "/", "~")) and not folder.is_dir():
        raise UsageError(f"there is no model folder {name!r}")
    elif not kind and _HUB_ID.fullmatch(name):
        kind = "torch"
    if not kind or not name:
        forms = "\n  ".join(MODEL_FORMS)
        raise UsageError(f"{spec!r} names no model. Known forms:\n  {forms}")
    options = _options(kind, query)
    if kind == "onnx":
        from veridical.models.onnx import OnnxEncoder

        if not folder.is_dir():
            raise UsageError(f"there is no model folder {name!r}")
        return OnnxEncoder(folder, threads=threads, **options)
    from veridical.models.torch import TorchEncoder

    return TorchEncoder(name, device=device, threads=threads, **options)


def list_models() -> list[ModelRow]:
    """The embedded models. Others are named by the forms of :data:`MODEL_FORMS`."""
    encoder = load_encoder(threads=1)
    size = sum(p.stat().st_size for p in EMBEDDED.rglob("*") if p.is_file())
    return [
        ModelRow(
            name="minilm",
            kind="encoder",
            licence="Apache-2.0",
            size_bytes=size,
            revision=encoder.revision,
            where="embedded: all-MiniLM-L6-v2, English, ONNX Runtime",
        )
    ]


def _options(kind: str, query: str) -> dict[str, Any]:
    known, options = _OPTIONS[kind], {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in known:
            raise UsageError(f"{kind} models have no option {key!r}; known: {', '.join(known)}")
        try:
            options[key] = known[key](value)
        except ValueError:
            raise UsageError(f"model option {key}={value!r} is not a number") from None
    return options
