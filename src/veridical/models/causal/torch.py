"""Causal language models run by transformers (extra ``[torch]``), CPU or GPU."""

from __future__ import annotations

import importlib.util
import inspect
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.model_names import ModelName
from veridical.core.protocols import Window
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.errors import ModelError, UsageError, unknown_name
from veridical.llm.local import check_gguf
from veridical.models import torch_loading as loading
from veridical.models.causal import tokens
from veridical.models.causal.chat import plain_prompt, text_messages
from veridical.models.causal.states import LastStates, shape_of
from veridical.models.causal.tokens import ReadWindower, WindowTokens
from veridical.models.folder import digest_of, max_length, read_json
from veridical.models.windows import padded
from veridical.weights import download

_OPTIONS = ("dtype", "revision")
#: Likeliest tokens kept per position.
TOP = 20
#: Maximum number of logits per forward, which limits batches with large vocabularies.
_LOGITS = {"cpu": 1 << 27, "cuda": 1 << 30}
_POSITIONS_PER_SOFTMAX = 256  # in float32


def _torch_options(name: ModelName) -> dict[str, str]:
    """Parse options such as ``?dtype=bfloat16&revision=COMMIT`` for :class:`TorchLanguageModel`.

    Raises:
        UsageError: an option or dtype is unknown.
    """
    options = name.options
    for key in options:
        if key not in _OPTIONS:
            raise unknown_name("option of a language model", key, _OPTIONS)
    if options.get("dtype", loading.DTYPES[0]) not in loading.DTYPES:
        raise unknown_name("dtype", options["dtype"], loading.DTYPES)
    return options


def read_torch(spec: str) -> tuple[str, dict[str, Any]]:
    """Parse ``torch:MODEL[?dtype=...&revision=...]`` to the arguments of a model.

    MODEL is a hub id, a folder, a GGUF file, or a name in :data:`veridical.weights.table.WEIGHTS`.

    Raises:
        UsageError: the model is missing, an option is unknown, or there is no such file.
        ModelError: a downloadable model is missing, and the user declines to download it.
    """
    name = ModelName.parse(spec)
    place = name.place_of("torch")
    if not place:
        raise UsageError(f"{spec!r} has no model; use torch:MODEL")
    options = _torch_options(name)
    if (weights := download.WEIGHTS.get(place)) is not None:
        return str(download.need(weights)), {**options, "name": weights.name}
    path = Path(place).expanduser()
    if path.suffix == ".gguf":
        check_gguf(path)
    elif place.startswith((".", "/", "~")) and not path.is_dir():
        raise UsageError(f"no such model folder or GGUF file: {place!r}")
    return place, options


class TorchLanguageModel:
    """A model that ``AutoModelForCausalLM`` can build from safetensors or a GGUF file.

    Transformers must support the architecture of a GGUF file, whose weights are unpacked to
    ``dtype``. Inputs are padded on the right. Entropies and minimum probabilities are over the
    whole vocabulary of the output layer. Code that comes with a model is never run. Thread-safe.

    Args:
        name_or_path: hub id, a local folder, or a GGUF file.
        device: torch device; default: ``cuda`` if available, else ``cpu``.
        dtype: ``float32`` (default), ``bfloat16`` or ``float16``. In half precision a result may
            change in its third digit with its batch; in float32 by less than 1e-5.
        revision: commit, tag or branch of a hub id.
        name: name of the model; default: its id or file.

    Raises:
        ModelError: torch is not installed, or the model cannot be found or built.
    """

    workers = 1

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        threads: int | None = None,
        name: str | None = None,
    ) -> None:
        torch, transformers = loading.libraries(str(name_or_path))
        self._torch = torch
        self._device, dtype = loading.place(device, dtype or "float32")
        loading.use_threads(threads, self._device)
        source, commit = _found(name_or_path, revision)
        self.name = name or (str(name_or_path) if commit else source.path.stem)
        self._lock = threading.Lock()  # one forward at a time, as they compete for the processor
        self._states: LastStates | None = None
        with loading.explained(source.path, source.config):
            self._model = source.build(transformers, dtype).to(self._device).eval()
            self._chat = source.chat_tokenizer(transformers)
            tokenizer = source.tokenizer(transformers, self._chat)
        config = self._model.config.get_text_config()
        self.state_shape = shape_of(config)
        limit = max_length({}, {"max_position_embeddings": _positions(config)}, {})
        self._windower = ReadWindower(tokenizer, limit, _first_id(config, self._chat))
        self._vocabulary = int(config.vocab_size)
        if tokenizer.get_vocab_size() > self._vocabulary:
            raise ModelError(
                f"{source.path}: the tokenizer has {tokenizer.get_vocab_size()} tokens, the "
                f"model {self._vocabulary}"
            )
        self._check_causal()
        self._selects = "logits_to_keep" in inspect.signature(self._model.forward).parameters
        self._pad = next((i for i in (config.pad_token_id, config.eos_token_id) if _is_id(i)), 0)
        kind = self._device.type if self._device.type in _LOGITS else "cpu"
        self.batch_tokens = max(
            min(loading.BATCH_TOKENS[kind], _LOGITS[kind] // self._vocabulary), 256
        )
        identity = ("causal-1", tokens.VERSION, commit, dtype, TOP, limit)
        self.revision = digest_of(identity, source.files(commit))

    def _check_causal(self) -> None:
        """Check that the model is causal.

        Raises:
            ModelError: predictions depend on later tokens, as in an encoder's language-model head,
                so they are not probabilities of the text.
        """
        torch = self._torch
        ids = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 5]], device=self._device) % self._vocabulary
        with torch.inference_mode():
            one, two = self._model(input_ids=ids, use_cache=False).logits[:, 1].float()
        if not torch.allclose(one, two, rtol=0.05, atol=1e-3):
            raise ModelError(
                f"{self.name} attends to later tokens, so it is not a causal language model"
            )

    def windows(self, texts: Sequence[GivenText]) -> list[list[Window]]:
        return self._windower(texts)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """Return a (tokens, 3 + 2k) float32 array per window, one row per scored token.

        A row has the log-probability, entropy, minimum log-probability, the k largest
        log-probabilities, and their ids.
        """
        torch = self._torch
        pieces: list[WindowTokens] = [w.content for w in batch]
        outputs = [np.zeros((0, 3 + 2 * min(TOP, self._vocabulary)), np.float32) for _ in pieces]
        scored = [i for i, p in enumerate(pieces) if p.first < len(p.ids)]
        if not scored:
            return outputs
        ids, _ = padded([pieces[i].ids for i in scored], self._pad)
        begin = min(pieces[i].first for i in scored) - 1  # a token is predicted by the previous one
        with self._lock, torch.inference_mode():
            inputs = torch.from_numpy(ids).to(self._device)
            options: dict[str, Any] = {}
            if self._selects:
                options["logits_to_keep"] = torch.arange(begin, ids.shape[1], device=self._device)
            # No mask: padding is to the right of all scored tokens, where a causal model does not
            # look. Without a mask, attention takes its fast path.
            logits = self._model(input_ids=inputs, use_cache=False, **options).logits
            if not self._selects:
                logits = logits[:, begin:]
            for row, i in enumerate(scored):
                piece = pieces[i]
                foretold = logits[row, piece.first - 1 - begin : len(piece.ids) - 1 - begin]
                outputs[i] = self._measured(foretold, inputs[row, piece.first : len(piece.ids)])
        return outputs

    def _measured(self, logits: Any, targets: Any) -> NDArray[np.float32]:
        """Return rows of ``run``'s output for (n, vocabulary) logits and (n,) next tokens."""
        torch = self._torch
        rows = []
        for start in range(0, len(targets), _POSITIONS_PER_SOFTMAX):
            logs = torch.log_softmax(logits[start : start + _POSITIONS_PER_SOFTMAX].float(), dim=-1)
            chosen = logs.gather(1, targets[start : start + _POSITIONS_PER_SOFTMAX, None])
            entropy = torch.special.entr(logs.exp()).sum(dim=-1, keepdim=True)
            # tokens with probability 0 do not count for the minimum probability
            lowest = logs.masked_fill(torch.isinf(logs), 0.0).amin(dim=-1, keepdim=True)
            top, ids = logs.topk(min(TOP, self._vocabulary), dim=-1)
            columns = [chosen, entropy, lowest, top, ids.float()]
            rows.append(torch.cat(columns, dim=1).cpu().numpy())
        return np.concatenate(rows)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        return tokens.assembled(windows, outputs)

    def spell(self, token: int) -> str:
        return self._windower.spell(token)

    def state_windows(self, texts: Sequence[tuple[str, ...]]) -> list[list[Window]]:
        return self._windower.whole(texts)

    def states(self, batch: Sequence[Window]) -> list[NDArray[np.float32]]:
        """Return the (layers + 1, width) hidden states of each window's last token.

        Raises:
            ModelError: the architecture is not supported.
        """
        with self._lock:
            if self._states is None:
                self._states = LastStates(self._model, self._device)
            return list(self._states([w.content for w in batch], self._pad))

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """Render the messages by the model's chat template.

        Raises:
            ModelError: a message has an image, or the template rejects the messages.
        """
        if not getattr(self._chat, "chat_template", None):
            return plain_prompt(messages)
        try:
            return str(
                self._chat.apply_chat_template(
                    text_messages(messages), tokenize=False, add_generation_prompt=True
                )
            )
        except ModelError:
            raise
        except Exception as e:  # templates may raise any error
            reason = loading.first_line(e)
            raise ModelError(f"{self.name}: its chat template fails: {reason}") from e


class _Folder:
    """A model folder in the hub's format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = read_json(path / "config.json", {})

    def build(self, transformers: Any, dtype: str) -> Any:
        config = transformers.AutoConfig.from_pretrained(self.path, **loading.LOCAL)
        return loading.trained(transformers.AutoModelForCausalLM, self.path, config, dtype)

    def chat_tokenizer(self, transformers: Any) -> Any:
        return transformers.AutoTokenizer.from_pretrained(self.path, **loading.LOCAL)

    def tokenizer(self, transformers: Any, chat: Any) -> Any:
        return loading.tokenizer_of(self.path, transformers)

    def files(self, commit: str | None) -> list[Path]:
        beside = [self.path / "tokenizer_config.json", self.path / "chat_template.jinja"]
        return [*loading.own_files(self.path, commit), *(p for p in beside if p.is_file())]


class _Gguf(_Folder):
    """A GGUF file: weights, configuration, tokenizer and chat template in one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = {}
        absent = [m for m in ("gguf", "accelerate") if importlib.util.find_spec(m) is None]
        if absent:
            raise ModelError(
                f"{path} requires {' and '.join(absent)}; run: pip install gguf accelerate"
            )

    def build(self, transformers: Any, dtype: str) -> Any:
        return loading.pretrained(
            transformers.AutoModelForCausalLM,
            self.path.parent,
            None,
            dtype,
            gguf_file=self.path.name,
        )

    def chat_tokenizer(self, transformers: Any) -> Any:
        return transformers.AutoTokenizer.from_pretrained(
            self.path.parent, gguf_file=self.path.name, **loading.LOCAL
        )

    def tokenizer(self, transformers: Any, chat: Any) -> Any:
        return chat.backend_tokenizer

    def files(self, commit: str | None) -> list[Path]:
        return [self.path]


def _found(name_or_path: str | Path, revision: str | None) -> tuple[_Folder, str | None]:
    """Return the model's files and, for a hub id, its commit."""
    path = Path(name_or_path).expanduser()
    if path.suffix == ".gguf":
        check_gguf(path)
        return _Gguf(path), None
    root, commit = loading.resolve(str(name_or_path), revision)
    return _Folder(root), commit


def _positions(config: Any) -> Any:
    """Return the maximum input length, by any architecture's name for it; None if unbounded."""
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length")
    return next((v for n in names if _is_id(v := getattr(config, n, None))), None)


def _first_id(config: Any, chat: Any) -> int | None:
    """Return the start token: BOS, or EOS if the model has no BOS."""
    candidates = (
        getattr(chat, "bos_token_id", None),
        config.bos_token_id,
        getattr(chat, "eos_token_id", None),
        config.eos_token_id,
    )
    return next((i for i in candidates if _is_id(i) and i < config.vocab_size), None)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
