"""Model specifications: one string names any encoder or NLI model."""

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
#: Options after ``?`` and how they are read, by kind of back end.
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

        return OnnxEncoder(
            EMBEDDED,
            threads=threads,
            name="minilm",
            scripts=frozenset({"Latin"}),
            languages=frozenset({ENGLISH_CODE}),
            lazy=True,  # few records have samples to embed
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
    """The NLI model that ``spec`` names (see :data:`NLI_FORMS`).

    Args:
        threads: threads of one forward, for back ends that run here.
        device: torch device, such as ``cuda`` or ``cpu``; for torch back ends only.

    Raises:
        UsageError: ``spec`` has none of the known forms.
        ModelError: the model cannot be loaded, or which output is which class cannot be told.
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
            labels=",".join(LABELS),  # its order is ours: nothing to find out
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
    """The NLI model that ``spec`` names, in a precision.

    Args:
        precision: ``exact``, which is float32; ``fast``, which is int8, as ``?precision=int8`` of
            ``spec`` says; ``auto``: as ``spec`` says, or else, of this project's own models, int8
            where the processor sums 8-bit products exactly (see
            :class:`~veridical.models.nli.onnx.OnnxNli`), and float32 of others.

    Raises:
        UsageError: the model has no int8 form, or ``spec`` says another precision.
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
            f"{written} is for {', '.join(packaged.SHORT)} and folders with an ONNX model: "
            f"{spec!r} has no int8 form"
        )
    if wanted == "float32":  # what the name alone says
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
    """The NLI model of a published checkpoint, or of one made in the same way.

    Args:
        place: hub id or folder.
        options: those of :data:`~veridical.models.nli.names.OPTIONS`.

    Raises:
        UsageError: an option's value is none that there is.
        ModelError: torch is missing, the checkpoint cannot be had or is of another architecture,
            or its answers to plain pairs do not fit the published order of its classes.
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
            raise UsageError(f"{place} has no classes of its own to state the order of")
        return MiniCheckT5(place, **place_options)
    recipe = CheckpointRecipe(SUPPORTED_LAST, joined=True, chunk=CHUNK_TOKENS, longest=LONGEST)
    return TorchNli(place, recipe=recipe, **place_options)


def llm_nli(spec: str) -> LlmNli | None:
    """The language model that ``spec`` puts in the place of an NLI model; None if it names none.

    Raises:
        UsageError: its options are unknown.
    """
    name = ModelName.parse(spec)
    if name.kind != "llm":
        return None
    from veridical.models.nli.llm import LlmNli

    return LlmNli.from_name(name)


def trained_on(name: str) -> dict[str, tuple[str, ...]]:
    """Splits of each benchmark suite that this project's model ``name`` was trained on, or on other
    rows of: figures there are in-domain. Of other models nothing is known."""
    return packaged.TRAINED_ON if name in (packaged.MINI, packaged.BASE) else {}


def list_models() -> list[CatalogRow]:
    """This project's models that are here. Others are named by :data:`MODEL_FORMS` and
    :data:`NLI_FORMS`."""
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
    """Kind (``onnx`` or ``torch``), folder or hub id, and options of a model that runs here.

    Args:
        listed: forms that an error lists.
        by_kind: options after ``?`` and how they are read.
        graphs: files by one of which a folder is of ONNX.

    Raises:
        UsageError: ``model`` has none of the forms, or names no folder.
    """
    kind = model.kind if model.kind in ("onnx", "torch") else ""
    name = model.place_of("onnx", "torch")
    folder = Path(name).expanduser()
    if not kind and folder.is_dir():
        kind = "onnx" if any((folder / graph).is_file() for graph in graphs) else "torch"
    elif name.startswith((".", "/", "~")) and not folder.is_dir():
        raise UsageError(f"there is no model folder {name!r}")
    elif not kind and _HUB_ID.fullmatch(name):
        kind = "torch"
    if not kind or not name:
        raise no_model(model, listed)
    options = options_of(kind, model, by_kind)
    if kind == "onnx" and not folder.is_dir():
        raise UsageError(f"there is no model folder {name!r}")
    return kind, name, options


def options_of(kind: str, model: ModelName, by_kind: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the options of ``model``, read as ``by_kind`` says for its ``kind``.

    Raises:
        UsageError: there is no such option, or it is no number.
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
