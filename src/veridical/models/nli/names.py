"""Published checkpoints of fact checking as NLI models: the names they go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from veridical.models.protocols import NliModel

#: Names that stand for a published checkpoint, as ``--nli`` and ``nli=`` take them: its family,
#: which is the back end that runs it, and its hub id or what ``veridical models convert`` made.
PUBLISHED = {
    "alignscore-large": ("alignscore", "alignscore-large"),
    "alignscore-base": ("alignscore", "alignscore-base"),
    "hhem": ("hhem", "vectara/hallucination_evaluation_model"),
    "critic": ("critic", "McGill-NLP/roberta-large-faithcritic"),
    "minicheck-flan-t5": ("minicheck", "lytang/MiniCheck-Flan-T5-Large"),
    "minicheck-roberta": ("minicheck", "lytang/MiniCheck-RoBERTa-Large"),
    "minicheck-deberta": ("minicheck", "lytang/MiniCheck-DeBERTa-v3-Large"),
}
#: Where the published checkpoints of AlignScore are on the hub.
SOURCES = {
    "alignscore-large": "yzha/AlignScore/AlignScore-large.ckpt",
    "alignscore-base": "yzha/AlignScore/AlignScore-base.ckpt",
}
#: The model whose tokenizer HHEM-2.1-Open reads by.
FOUNDATION = "google/flan-t5-base"
#: Options after ``?``, by family.
OPTIONS: dict[str, dict[str, Any]] = {
    "alignscore": {"mode": str},
    "hhem": {"revision": str},
    "critic": {"revision": str, "labels": str},
    "minicheck": {"revision": str, "labels": str},
}


def find(name: str) -> tuple[str, str] | None:
    """Family and place of the checkpoint that ``name`` means: one of :data:`PUBLISHED`, or
    ``FAMILY:HUB_ID_OR_FOLDER``. None where it means none."""
    if name in PUBLISHED:
        return PUBLISHED[name]
    family, colon, place = name.partition(":")
    return (family, place) if colon and place and family in OPTIONS else None


def published_nli(spec: str) -> None:
    """Refuse an NLI model that is no published one by its bare name.

    Raises:
        UsageError: ``spec`` is a path, an address, or a model of somebody's own.
    """
    if spec.partition("?")[0] not in PUBLISHED:
        raise unknown_name("NLI model", spec, PUBLISHED)


def load(
    family: str, place: str, *, device: str | None, threads: int | None, **options: str
) -> NliModel:
    """The NLI model of a published checkpoint, or of one made in the same way.

    Args:
        place: hub id or folder.
        options: those of :data:`OPTIONS`.

    Raises:
        UsageError: an option's value is none that there is.
        ModelError: torch is missing, the checkpoint cannot be had or is of another architecture,
            or its answers to plain pairs do not fit the published order of its classes.
    """
    given: dict[str, Any] = {"device": device, "threads": threads, **options}
    if family == "alignscore":
        from veridical.models.nli.alignscore import AlignScoreNli

        return AlignScoreNli(place, **given)
    if family == "hhem":
        from veridical.models.nli.hhem import HhemNli

        return HhemNli(place, **given)
    from veridical.models.nli.torch import Recipe, TorchNli
    from veridical.models.nli.windowed import SUPPORTED_FIRST, SUPPORTED_LAST

    if family == "critic":
        return TorchNli(place, recipe=Recipe(SUPPORTED_FIRST), **given)
    from veridical.models.nli.minicheck import CHUNK_TOKENS, LONGEST, MiniCheckT5, is_t5

    if is_t5(place, options.get("revision")):
        if "labels" in options:
            raise UsageError(f"{place} has no classes of its own to state the order of")
        return MiniCheckT5(place, **given)
    recipe = Recipe(SUPPORTED_LAST, joined=True, chunk=CHUNK_TOKENS, longest=LONGEST)
    return TorchNli(place, recipe=recipe, **given)
