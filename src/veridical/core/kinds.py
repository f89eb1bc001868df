"""The kinds of models there are, one row each.

Costs of scorers, what :class:`~veridical.core.evidence.Evidence` answers, the engine's queues, the
memory that a record in flight is taken to need, and the dry run follow from this table. A new kind
is a row and its back end: scorers of its cost ask it by ``evidence.ask``.

Parts of a row are names, ``module:object``, imported when the kind is first needed: the table lies
below what it names. How many tokens a batch has and how many run at once depends on the hardware,
so the back end says it (``batch_tokens``, ``workers``).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from veridical import plugins
from veridical.errors import UsageError, unknown_name


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of model.

    Attributes:
        name: the role of such a model in a run, and what errors call it.
        cost: of scorers that ask it; several kinds may share one.
        loader: ``(spec, *, threads, device)`` -> back end; empty where another distribution brings
            it, as an entry point of the kind's name.
        service: ``(back end, gate, store)`` -> the queue of its requests.
        counting: ``(back end)`` -> what stands for it in a dry run.
        bytes_a_char: memory of a record in flight whose scorers ask it, for each character.
        of_run: whether a run has one of its own, by an option of the engine, besides those that
            scorers name.
        signed: whether the run's own is in the signature of every scorer of its cost; others are
            where they were asked.
        serves: the kind whose requests it answers too where both are one model.
        nameable: ``(spec)``, raises a :class:`UsageError` where requests from elsewhere may not
            name the model; without it they may name none.
        batched: whether requests leave in batches; LLM calls are paced instead, by
            :mod:`veridical.llm.service`.
    """

    name: str
    cost: str
    loader: str = ""
    service: str = "veridical.engine.service:Service"
    counting: str = "veridical.run.counting:CountingModel"
    bytes_a_char: int = 60
    of_run: bool = False
    signed: bool = False
    serves: str = ""
    nameable: str = ""
    batched: bool = True

    def load(self, spec: str, **options: Any) -> Any:
        """The back end that ``spec`` names.

        Raises:
            MissingDistribution: what loads it is not installed.
        """
        if self.loader:
            return named(self.loader)(spec, **options)
        called = f"the back end of {spec} ({self.name})"
        return plugins.load(plugins.MODELS, self.name, called)(spec, **options)

    def stand_in(self, back_end: Any) -> Any:
        """What counts in the place of ``back_end`` in a dry run."""
        return named(self.counting)(back_end)

    def check_name(self, spec: str) -> None:
        """Refuse a model that requests from elsewhere may not name.

        Raises:
            UsageError: they may not.
        """
        if not self.nameable:
            raise UsageError(f"a scorer may not name a model of its own here: {spec}")
        named(self.nameable)(spec)


_ROWS = (
    Kind(
        name="embedder",
        cost="embed",
        loader="veridical.models:load_encoder",
        service="veridical.engine.encoders:EncoderService",
        counting="veridical.run.counting:CountingEncoder",
        bytes_a_char=16,
        of_run=True,
        signed=True,
    ),
    Kind(
        name="image_embedder",
        cost="images",
        loader="veridical.models.images.names:load_image_embedder",
        of_run=True,
        signed=True,
    ),
    Kind(
        name="token_encoder",
        cost="tokens",
        loader="veridical.models:load_encoder",
        service="veridical.engine.encoders:token_service",
        counting="veridical.run.counting:CountingEncoder",
        bytes_a_char=900,
        of_run=True,
        signed=True,
        serves="embedder",
    ),
    Kind(
        name="nli",
        cost="nli",
        loader="veridical.models:load_nli",
        service="veridical.engine.nli:NliService",
        counting="veridical.run.counting:CountingNli",
        bytes_a_char=200,
        of_run=True,
        signed=True,
        nameable="veridical.models:published_nli",
    ),
    Kind(
        name="proxy",
        cost="probabilities",
        loader="veridical.models.causal:load_language_model",
        service="veridical.engine.reading:LanguageService",
        counting="veridical.run.counting:CountingReader",
        of_run=True,
        nameable="veridical.models.causal:configured_proxy",
    ),
    Kind(
        name="detector",
        cost="detector",
        loader="veridical.models.token_classification:load_detector",
        of_run=True,
    ),
    *(
        Kind(name=name, cost="seq2seq")
        for name in ("seq2seq", "reader", "choice", "answerability", "regressor")
    ),
    Kind(
        name="llm",
        cost="llm",
        loader="veridical.engine.clients:open_client",
        service="veridical.llm.service:LlmService",
        counting="veridical.run.counting:CountingLlm",
        bytes_a_char=16,
        of_run=True,
        batched=False,
    ),
)
#: Every kind by its name, the cheaper to ask first.
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}


def costs() -> list[str]:
    """What scorers may cost, the cheapest first."""
    return ["free", *dict.fromkeys(kind.cost for kind in KINDS.values())]


def kind_of(name: str) -> Kind:
    """The row called ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in KINDS:
        raise unknown_name("kind of model", name, KINDS)
    return KINDS[name]


def named(place: str) -> Any:
    """What ``module:object`` names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
