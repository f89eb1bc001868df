"""Usage data of underlying libraries: switched off before their import.

Libraries read these variables once, on import or first use. The package therefore sets them first,
and child processes inherit them. A library imported before this package has already read its
environment: such a program must set the variables itself.
"""

from __future__ import annotations

import os

#: Variables by library. Libraries that are not listed send nothing on their own.
#: Checked: numpy, scipy, pyarrow, pydantic, httpx, tokenizers, sentencex, sacrebleu, rouge-score.
#: Checked: nltk, narwhals, pandas, polars, rich, typer, torch, safetensors, spacy, scikit-learn.
#: Checked: prince, altair, pypdf, gguf, xllamacpp, prometheus-client, obstore.
SWITCHES = {
    # onnxruntime sends events to its maker and keeps a device id under the user's cache. The call
    # disable_telemetry_events() comes too late: the import has already sent.
    "ORT_DISABLE_TELEMETRY": "1",
    # huggingface_hub, transformers, accelerate: requests and user agents that identify the caller.
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # ray, which runs shards.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Other libraries that follow the common convention.
    "DO_NOT_TRACK": "1",
}


def switch_off() -> None:
    """Set :data:`SWITCHES` in the environment of this process, overriding earlier values."""
    os.environ.update(SWITCHES)
