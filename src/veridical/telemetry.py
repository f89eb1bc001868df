"""Usage data of the libraries underneath: switched off before any of them is imported.

They read these variables once, when they are imported or first used, so the package sets them as
the first thing it does, and child processes inherit them. What a program imported before this
package has already read its environment: such a program sets the variables itself.
"""

from __future__ import annotations

import os

#: What each library reads. Those that are not here send nothing of their own accord (checked:
#: numpy, scipy, pyarrow, pydantic, httpx, tokenizers, sentencex, sacrebleu, rouge-score, nltk,
#: narwhals, pandas, polars, rich, typer, torch, safetensors, spacy, scikit-learn, prince, altair,
#: pypdf, gguf, xllamacpp, prometheus-client, obstore).
SWITCHES = {
    # Sends events to its maker and keeps a device id under the user's cache. The call
    # disable_telemetry_events() comes too late: the import has already sent.
    "ORT_DISABLE_TELEMETRY": "1",
    # huggingface_hub, transformers, accelerate: requests and user agents that tell of the caller.
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # ray, which runs shards.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Whatever else keeps to the common convention.
    "DO_NOT_TRACK": "1",
}


def switch_off() -> None:
    """Set :data:`SWITCHES` in the environment of this process, whatever they were."""
    os.environ.update(SWITCHES)
