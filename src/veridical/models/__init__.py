"""Model back ends, and the names under which they are asked for."""

from __future__ import annotations

from veridical.models.catalog import MODEL_FORMS, ModelRow, list_models, load_encoder
from veridical.models.protocols import Encoded, Encoder, Window

__all__ = [
    "MODEL_FORMS",
    "Encoded",
    "Encoder",
    "ModelRow",
    "Window",
    "list_models",
    "load_encoder",
]
