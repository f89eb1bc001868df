from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def encoder():
    """The embedded model, as every scorer gets it."""
    from veridical.models import load_encoder

    return load_encoder("minilm")
