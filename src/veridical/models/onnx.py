"""ONNX encoders on the CPU, including the embedded model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Encoded, Window
from veridical.errors import ModelError
from veridical.models.folder import GRAPHS, Settings, load_tokenizer
from veridical.models.memory import need_memory
from veridical.models.onnx_file import OnnxFile
from veridical.models.onnx_graph import add_large
from veridical.models.pooling import Ids, Output, join
from veridical.models.windows import padded

Integers = NDArray[np.int64]

#: Padded tokens per forward: fewer underuse the processor, more exceed its caches.
BATCH_TOKENS = 2048


class OnnxEncoder:
    """An encoder in a folder with ``model.onnx``, tokenizer and configuration.

    The graph is ``model.onnx`` or ``onnx/model.onnx``. Pooling, dense heads, prefix and maximum
    input are those of the folder's sentence-transformers files. Inputs are padded on the right.
    Thread-safe: each forward runs on one thread, and ``workers`` of them run in parallel, which is
    faster than one forward over as many threads.

    Args:
        threads: concurrent forwards; default: the processors available to this process.
        prefix: text prepended to every input; default: the folder's default prompt.
        scripts: supported Unicode scripts; None = any.
        languages: codes of the supported languages (``en``); None = any.
        lazy: open the graph on first use; for a file known to be complete.

    Raises:
        ModelError: a file is missing or broken, or the graph has no token embeddings.
    """

    has_tokens = True

    def __init__(
        self,
        folder: str | Path,
        *,
        threads: int | None = None,
        prefix: str | None = None,
        dense: str | None = None,
        name: str | None = None,
        scripts: frozenset[str] | None = None,
        languages: frozenset[str] | None = None,
        lazy: bool = False,
    ) -> None:
        root = Path(folder)
        graph = need_graph(root)
        self._settings = settings = Settings.read(root, prefix=prefix, dense=dense)
        self._windower = settings.windower(load_tokenizer(settings.backbone))
        self._path = graph
        self._opening = Lock()
        self._opened: tuple[Graph, str] | None = None
        need_room(graph)
        if not lazy:
            self._graph()
        self.name = name or root.name
        self.scripts = scripts
        self.languages = languages
        self.batch_tokens = BATCH_TOKENS
        self.workers = threads or usable_processors()
        files = [*weight_files(graph), settings.backbone / "tokenizer.json"]
        self.revision = settings.revision(files, "onnx", "float32")

    def _graph(self) -> tuple[Graph, str]:
        """Return the graph and its output of token embeddings."""
        with self._opening:
            if self._opened is None:
                graph = Graph(self._path)
                names = ("last_hidden_state", "token_embeddings", *graph.outputs)
                output = next((n for n in names if graph.outputs.get(n) == 3), None)
                if output is None:
                    shape = "(batch, sequence, width)"
                    raise ModelError(f"{self._path}: no output has the shape {shape}")
                self._opened = graph, output
            return self._opened

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return self._windower(texts)

    def offsets(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        return self._windower.offsets(texts)

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        pieces: list[Ids] = [w.content for w in batch]
        ids, mask = padded([p.ids for p in pieces])
        graph, output = self._graph()
        hidden = graph(output, ids, mask).astype(np.float32, copy=False)
        vectors = self._settings.pool(hidden, pieces)
        if not tokens:
            return [Output(v) for v in vectors]
        rows = zip(vectors, hidden, pieces, strict=True)
        return [Output(vector, h[: len(p.ids)].copy()) for vector, h, p in rows]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        return join(windows, outputs, tokens)


_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_INPUTS = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}


class Graph:
    """An ONNX graph over token ids. Each forward runs on one thread; thread-safe.

    Args:
        path: path of the file.
        file: graph to run instead; ``path`` is then used in errors only.

    Attributes:
        outputs: number of axes of each output, by name.

    Raises:
        ModelError: the file is broken or does not fit into memory, or has inputs that a text
            encoder does not have.
    """

    def __init__(self, path: Path, file: OnnxFile | None = None) -> None:
        self._session = open_session(path) if file is None else session_of(file, str(path))
        self._inputs = {i.name: _TYPES.get(i.type) for i in self._session.get_inputs()}
        unknown = [n for n, kind in self._inputs.items() if n not in _INPUTS or kind is None]
        if unknown:
            raise ModelError(f"{path} has inputs {unknown}, which a text encoder does not have")
        self.outputs: dict[str, int] = {o.name: len(o.shape) for o in self._session.get_outputs()}

    def __call__(
        self, output: str, ids: Integers, mask: NDArray[np.bool_], types: Integers | None = None
    ) -> NDArray[Any]:
        """Run one forward and return ``output``; other arguments are those of :meth:`feeds`."""
        return self.outputs_of([output], ids, mask, types)[0]

    def outputs_of(
        self,
        names: Sequence[str],
        ids: Integers,
        mask: NDArray[np.bool_],
        types: Integers | None = None,
    ) -> list[NDArray[Any]]:
        """Run one forward and return the outputs ``names``."""
        found: list[NDArray[Any]] = self._session.run(list(names), self.feeds(ids, mask, types))
        return found

    def feeds(
        self, ids: Integers, mask: NDArray[np.bool_], types: Integers | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the graph's inputs, by name.

        Args:
            ids: (batch, width) token ids, padded on the right.
            mask: (batch, width), False for padding.
            types: (batch, width) token type ids, if the graph takes them; default: zeros.
        """
        known = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids) if types is None else types,
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        return {n: known[n].astype(kind) for n, kind in self._inputs.items()}


#: True if sessions keep the memory of their largest forward for the next one.
_arenas = True


def give_memory_back() -> None:
    """Make sessions opened from now on free their memory after each forward.

    A long-running server would otherwise keep that of the largest one, for each model and thread.
    """
    global _arenas
    _arenas = False


def open_session(path: Path) -> Any:
    """Open an ONNX Runtime session on the CPU with one thread per forward.

    Raises:
        ModelError: the file is broken or does not fit into memory.
    """
    need_room(path)
    return session_of(str(path), str(path))


def need_room(graph: Path) -> None:
    """Check that the file's weights fit into memory.

    Raises:
        ModelError: the file's weights do not fit into memory.
    """
    need_memory(str(graph), sum(file.stat().st_size for file in weight_files(graph)))


def session_of(graph: str | OnnxFile, name: str, also: Sequence[str] = ()) -> Any:
    """Open a session on the CPU with one thread per forward.

    Args:
        graph: a file's path, or its parsed content.
        name: prefix of messages.
        also: further outputs of parsed content.

    Raises:
        ModelError: the graph is broken.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    content: str | bytes = graph if isinstance(graph, str) else graph.content(also, whole=False)
    if not isinstance(graph, str):
        need_memory(name, sum(w.nbytes for w in graph.weights.values()))
        add_large(options, graph.weights)
    options.enable_cpu_mem_arena = _arenas
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # the library has many classes of errors
        raise ModelError(f"{name}: {e}") from e


def need_graph(root: Path) -> Path:
    """Return the ONNX file of a model folder, which must have one.

    Raises:
        ModelError: the folder has no ONNX file.
    """
    graph = find_graph(root)
    if graph is None:
        raise ModelError(f"{root} has neither model.onnx nor onnx/model.onnx")
    return graph


def weight_files(graph: Path) -> list[Path]:
    """Return the graph's file and its external weight files."""
    return [graph, *sorted(graph.parent.glob(f"{graph.name}[_.]data"))]


def find_graph(root: Path) -> Path | None:
    """Return the ONNX file of a model folder, if it has one."""
    return next((root / g for g in GRAPHS if (root / g).is_file()), None)


def usable_processors() -> int:
    """Return the number of processors available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
