"""Model back ends, and the names that select them."""

from __future__ import annotations

from veridical.core.protocols import LABELS, Encoded, Encoder, NliModel, Pair, Window
from veridical.models.catalog import (
    MODEL_FORMS,
    NLI_FORMS,
    list_models,
    llm_nli,
    load_encoder,
    load_nli,
    nli_in,
    trained_on,
)
from veridical.models.catalog import (
    CatalogRow as ModelRow,
)
from veridical.models.nli.names import published_nli

__all__ = [
    "LABELS",
    "MODEL_FORMS",
    "NLI_FORMS",
    "Encoded",
    "Encoder",
    "ModelRow",
    "NliModel",
    "Pair",
    "Window",
    "list_models",
    "llm_nli",
    "load_encoder",
    "load_nli",
    "nli_in",
    "published_nli",
    "trained_on",
]
