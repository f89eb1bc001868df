"""Engine options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from veridical.core.model_names import forms_in_help
from veridical.core.options import Group, Names, Options, option
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.llm.llms import Llm


#: Precision of the run's NLI model.
Precision = Literal["auto", "exact", "fast"]
#: Default folder of the store, under the current folder.
DEFAULT_STORE = Path(".veridical") / "store"


def default_store() -> Path | None:
    """Return the folder of ``store="auto"``."""
    return DEFAULT_STORE


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Options):
    """The options of :class:`~veridical.engine.engine.Engine`, described there."""

    embedder: str = option(
        "minilm",
        f"Sentence encoder: {forms_in_help('embedder')}.",
        Group.MODELS,
    )
    token_encoder: str | None = option(
        None, "Token encoder. Default: the sentence encoder.", Group.MODELS, kind=str
    )
    image_embedder: str = option(
        "efficientnet-lite0",
        f"Image encoder: {forms_in_help('image_embedder')}.",
        Group.MODELS,
    )
    nli: str = option(
        "auto",
        f"NLI model: {forms_in_help('nli')}; auto: base if it is installed.",
        Group.MODELS,
    )
    precision: Precision = option(
        "auto",
        "Precision of the NLI model. auto: 8-bit if the processor computes it exactly; exact: "
        "float32; fast: 8-bit, or an error.",
        Group.MODELS,
        choices=("auto", "exact", "fast"),
        called="precision",
    )
    llm: Llm | None = option(
        None,
        f"LLM for judges and prompts: {forms_in_help('llm')}.",
        Group.MODELS,
    )
    proxy: str | None = option(
        None,
        f"Language model for token probabilities: smollm2, {forms_in_help('proxy')}.",
        Group.MODELS,
        kind=str,
    )
    spans: str | None = option(
        None,
        "Token classifier for hallucinated spans: a folder or a hub id.",
        Group.MODELS,
        kind=str,
    )
    budget: float | None = option(
        None, "Maximum LLM cost, in the currency of the prices.", Group.MODELS, least=0, kind=float
    )
    named_only: bool = option(False)
    store: Path | str | None = option(
        "auto",
        "Folder that stores model outputs, or none.",
        Group.RUN,
        kind=Path,
        names=Names.OTHER,
    )
    processes: int | None = option(
        None,
        "Number of worker processes for scorers without a model.",
        Group.RUN,
        least=0,
        kind=int,
    )
    threads: int | None = option(None, least=1, kind=int)
    device: str | None = option(None, kind=str)
    age: float = option(0.05, least=0)
    fair: bool = option(False)

    @property
    def store_path(self) -> Path | None:
        """Folder of the store; None disables it."""
        if self.store is None or self.store == "none":
            return None
        return default_store() if self.store == "auto" else Path(self.store)

    def refuse_with(self, engine: object | None) -> None:
        """Refuse options together with a warm engine.

        Raises:
            UsageError: options are set and a warm ``engine`` is given, which has its own.
        """
        if engine is not None and (names := self.given()):
            raise UsageError(
                f"{', '.join(names)} cannot be combined with engine=; "
                "pass it to Engine(...) instead"
            )


class ModelKeywords(TypedDict, total=False):
    """:class:`EngineOptions` as keywords of functions that have ``nli``, ``llm`` and ``proxy`` as
    their own parameters."""

    embedder: str
    token_encoder: str | None
    precision: Precision
    image_embedder: str
    budget: float | None
    named_only: bool
    store: Path | str | None
    processes: int | None
    threads: int | None
    device: str | None
    age: float
    fair: bool


class ReaderKeywords(ModelKeywords, total=False):
    """:class:`EngineOptions` as keywords of functions that have ``llm`` as a parameter."""

    nli: str
    proxy: str | None
    spans: str | None


class EngineKeywords(ReaderKeywords, total=False):
    """:class:`EngineOptions` as keywords of public functions."""

    llm: Llm | None
