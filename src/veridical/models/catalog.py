"""Model names: one string selects any encoder or NLI model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.model_names import ModelName, forms, no_model
from veridical.core.protocols import LABELS
from veridical.errors import UsageError, option_named
from veridical.models.folder import GRAPHS
from veridical.models.nli import names, packaged
from veridical.text.languages import ENGLISH_CODE

if TYPE_CHECKING:
    from veridical.core.protocols import Encoder, NliModel
    from veridical.models.nli.llm import LlmNli

EMBEDDED = Path(__file__).parent / "data" / "all-MiniLM-L6-v2"
DEFAULT_ENCODER = "minilm"
MODEL_FORMS = forms("embedder")
NLI_FORMS = forms("nli")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
#: Options after ``?`` and their parsers, by kind of back end.
_OPTIONS: dict[str, dict[str, Any]] = {
    "onnx": {"prefix": str, "dense": str},
    "torch": {"layer": int, "revision": str, "prefix": str, "dense": str},
}
_NLI_OPTIONS: dict[str, dict[str, Any]] = {
    "onnx": {"precision": str, "labels": str},
    "torch": {"revision": str, "labels": str},
    "tei": {"labels": str},
    packaged.MINI: {"precision": str},
    packaged.BASE: {"precision": str},
}


@dataclass(frozen=True)
class CatalogRow:
    """A row of ``veridical models``."""

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
    """Load the encoder named by ``spec`` (see :data:`MODEL_FORMS`).

    Args:
        threads: threads per forward, for local back ends.
        device: torch device, such as ``cuda`` or ``cpu``; for torch back ends only.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded.
    """
    if spec in ("minilm", ""):
        from veridical.models.onnx import OnnxEncoder

        return OnnxEncoder(
            EMBEDDED,
            threads=threads,
            name="minilm",
            scripts=frozenset({"Latin"}),
            languages=frozenset({ENGLISH_CODE}),
            lazy=True,  # few records need embeddings
        )
    model = ModelName.parse(spec)
    if model.remote or model.kind == "tei":
        from veridical.models.http import HttpEncoder

        return HttpEncoder.from_name(model)
    from veridical.llm.endpoints import configured

    endpoints = configured()
    if spec in endpoints:
        from veridical.models.http import HttpEncoder

        return HttpEncoder.from_endpoint(endpoints[spec])
    kind, name, options = local_model(model, MODEL_FORMS, _OPTIONS)
    if kind == "onnx":
        from veridical.models.onnx import OnnxEncoder

        return OnnxEncoder(Path(name).expanduser(), threads=threads, **options)
    from veridical.models.torch import TorchEncoder

    return TorchEncoder(name, device=device, threads=threads, **options)


def load_nli(
    spec: str = packaged.AUTO, *, threads: int | None = None, device: str | None = None
) -> NliModel:
    """Load the NLI model named by ``spec`` (see :data:`NLI_FORMS`).

    Args:
        threads: threads per forward, for local back ends.
        device: torch device, such as ``cuda`` or ``cpu``; for torch back ends only.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded, or the order of its classes is unknown.
    """
    model = ModelName.parse(packaged.full_name(spec))
    name = model.head
    if name in (packaged.MINI, packaged.BASE):
        from veridical.models.nli.onnx import OnnxNli

        options = options_of(name, model, _NLI_OPTIONS)
        return OnnxNli(
            packaged.need(name).folder,
            threads=threads,
            name=name,
            labels=",".join(LABELS),  # its order is ours and needs no test
            languages=frozenset({ENGLISH_CODE}),
            **options,
        )
    if model.kind == "tei":
        from veridical.models.nli.http import HttpNli

        return HttpNli(model.place, **options_of("tei", model, _NLI_OPTIONS))
    published = names.find(model)
    if published is not None:
        family, place = published
        options = options_of(family, model, names.OPTIONS)
        return _published(family, place, device=device, threads=threads, **options)
    kind, name, options = local_model(model, NLI_FORMS, _NLI_OPTIONS)
    if kind == "onnx":
        from veridical.models.nli.onnx import OnnxNli

        return OnnxNli(Path(name).expanduser(), threads=threads, **options)
    from veridical.models.nli.torch import TorchNli

    return TorchNli(name, device=device, threads=threads, **options)


def nli_in(spec: str, precision: str) -> str:
    """Return the NLI model named by ``spec`` in a given precision.

    Args:
        precision: ``exact``, float32; ``fast``, int8, like ``?precision=int8`` in ``spec``;
            ``auto``, the precision in ``spec``. Without one, ``auto`` selects int8 for this
            project's models (see :class:`~veridical.models.nli.onnx.OnnxNli`), and float32
            for others.

    Raises:
        UsageError: the model has no int8 form, or ``spec`` has another precision.
    """
    written = option_named("precision", precision)
    model = ModelName.parse(spec)
    ours = packaged.full_name(model.head) in (packaged.MINI, packaged.BASE)
    said = model.options.get("precision") or None
    wanted = {"exact": "float32", "fast": "int8"}.get(precision, said or "auto")
    if said is not None and said != wanted:
        raise UsageError(f"{written} is {wanted}, and {spec!r} says precision={said}")
    if said is not None or (wanted != "int8" and not ours):
        return spec
    if not _has_int8(model):
        raise UsageError(
            f"{written} requires {', '.join(packaged.SHORT)} or a folder with an ONNX model; "
            f"{spec!r} has no int8 form"
        )
    if wanted == "float32":  # the default of a plain name
        return spec
    return str(replace(model, query="&".join(filter(None, (model.query, f"precision={wanted}")))))


def _has_int8(model: ModelName) -> bool:
    if packaged.full_name(model.head) in (packaged.MINI, packaged.BASE):
        return True
    if model.kind in ("tei", "llm") or names.find(model) is not None:
        return False
    kind, *_ = local_model(model, NLI_FORMS, _NLI_OPTIONS)
    return kind == "onnx"


def _published(
    family: str, place: str, *, device: str | None, threads: int | None, **options: str
) -> NliModel:
    """Load the NLI model of a published checkpoint, or of one of the same architecture.

    Args:
        place: hub id or folder.
        options: options in :data:`~veridical.models.nli.names.OPTIONS`.

    Raises:
        UsageError: an option has an unknown value.
        ModelError: torch is missing, or the checkpoint is unavailable or has another architecture.
            Or its answers to plain pairs do not fit the published order of its classes.
    """
    place_options: dict[str, Any] = {"device": device, "threads": threads, **options}
    if family == "alignscore":
        from veridical.models.nli.alignscore import AlignScoreNli

        return AlignScoreNli(place, **place_options)
    if family == "hhem":
        from veridical.models.nli.hhem import HhemNli

        return HhemNli(place, **place_options)
    from veridical.models.nli.torch import CheckpointRecipe, TorchNli
    from veridical.models.nli.windowed import SUPPORTED_FIRST, SUPPORTED_LAST

    if family == "critic":
        return TorchNli(place, recipe=CheckpointRecipe(SUPPORTED_FIRST), **place_options)
    from veridical.models.nli.minicheck import CHUNK_TOKENS, LONGEST, MiniCheckT5, is_t5

    if is_t5(place, options.get("revision")):
        if "labels" in options:
            raise UsageError(f"{place} has a fixed order of classes; remove ?labels")
        return MiniCheckT5(place, **place_options)
    recipe = CheckpointRecipe(SUPPORTED_LAST, joined=True, chunk=CHUNK_TOKENS, longest=LONGEST)
    return TorchNli(place, recipe=recipe, **place_options)


def llm_nli(spec: str) -> LlmNli | None:
    """Return the language model that ``spec`` uses as NLI model, or None.

    Raises:
        UsageError: its options are unknown.
    """
    name = ModelName.parse(spec)
    if name.kind != "llm":
        return None
    from veridical.models.nli.llm import LlmNli

    return LlmNli.from_name(name)


def trained_on(name: str) -> dict[str, tuple[str, ...]]:
    """Return the splits of each benchmark suite that this project's model ``name`` was trained on.

    Figures on them are in-domain. For other models nothing is known.
    """
    return packaged.TRAINED_ON if name in (packaged.MINI, packaged.BASE) else {}


def list_models() -> list[CatalogRow]:
    """Return this project's installed models.

    Other models are named by :data:`MODEL_FORMS` and :data:`NLI_FORMS`.
    """
    from veridical.models.images import onnx as images

    rows = [
        _embedded(DEFAULT_ENCODER, "encoder", EMBEDDED, load_encoder(threads=1).revision),
        _embedded(
            images.EMBEDDED.name,
            "image",
            images.EMBEDDED,
            images.OnnxImageEmbedder(images.EMBEDDED, threads=1).revision,
            reads="images",
        ),
    ]
    for name in (packaged.MINI, packaged.BASE):
        found = packaged.find(name)
        if found is not None:
            revision = load_nli(name, threads=1).revision
            rows.append(_embedded(name, "nli", found.folder, revision))
    return rows


def _embedded(
    name: str, kind: str, folder: Path, revision: str, reads: str = "English"
) -> CatalogRow:
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    inside = folder.is_relative_to(EMBEDDED.parent)
    where = f"{f'embedded: {folder.name}' if inside else folder}, {reads}, ONNX Runtime"
    return CatalogRow(name, kind, "Apache-2.0", size, revision, where)


def local_model(
    model: ModelName,
    listed: tuple[str, ...],
    by_kind: dict[str, dict[str, Any]],
    graphs: Sequence[str] = GRAPHS,
) -> tuple[str, str, dict[str, Any]]:
    """Return kind (``onnx`` or ``torch``), folder or hub id, and options of a local model.

    Args:
        listed: forms listed by an error.
        by_kind: options after ``?`` and their parsers.
        graphs: files that mark a folder as ONNX.

    Raises:
        UsageError: ``model`` has none of the forms, or the folder does not exist.
    """
    kind = model.kind if model.kind in ("onnx", "torch") else ""
    name = model.place_of("onnx", "torch")
    folder = Path(name).expanduser()
    if not kind and folder.is_dir():
        kind = "onnx" if any((folder / graph).is_file() for graph in graphs) else "torch"
    elif name.startswith((".", "/", "~")) and not folder.is_dir():
        raise UsageError(f"no such model folder: {name!r}")
    elif not kind and _HUB_ID.fullmatch(name):
        kind = "torch"
    if not kind or not name:
        raise no_model(model, listed)
    options = options_of(kind, model, by_kind)
    if kind == "onnx" and not folder.is_dir():
        raise UsageError(f"no such model folder: {name!r}")
    return kind, name, options


def options_of(kind: str, model: ModelName, by_kind: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the options of ``model``, parsed by ``by_kind`` for its ``kind``.

    Raises:
        UsageError: an option is unknown or not a number.
    """
    known, options = by_kind[kind], {}
    for key, value in model.options.items():
        if key not in known:
            raise UsageError(f"{kind} models have no option {key!r}; known: {', '.join(known)}")
        try:
            options[key] = known[key](value)
        except ValueError:
            raise UsageError(f"model option {key}={value!r} is not a number") from None
    return options
