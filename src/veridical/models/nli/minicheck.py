"""MiniCheck's Flan-T5 (Tang et al. 2024), which answers 1 or 0.

The answer is "1" if the document supports the claim, else "0". The RoBERTa and DeBERTa checkpoints
are sequence classifiers (:class:`~.torch.TorchNli`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.folder import read_json
from veridical.models.nli.chunks import filled_chunks
from veridical.models.nli.tokens import PairWindower, Template
from veridical.models.nli.windowed import SUPPORTED_LAST, WindowedNli

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Tokens per chunk of the document, for the sequence classifiers.
CHUNK_TOKENS = 400
#: Words per chunk, for Flan-T5.
CHUNK_WORDS = 500
#: Maximum tokens of a window, as the architecture has no limit.
LONGEST = 2048
_TASK = "predict:"


class MiniCheckT5(WindowedNli):
    """An encoder-decoder trained on ``predict: DOCUMENT</s>CLAIM``.

    The document is read in chunks of whole sentences, up to 500 words each
    (:func:`~.chunks.filled_chunks`). P(entailment) of a chunk is the probability that the answer
    begins with the token of "1", normalised with that of "0". The tokens are 209 and 3 in the
    published vocabulary. A pair takes the maximum over chunks; the rest counts as neutral. Chunks
    longer than :data:`LONGEST` tokens are windowed. Thread-safe.

    Raises:
        ModelError: torch is missing, the model is unavailable or another model, or its answers to
            plain pairs do not fit the published order.
    """

    def __init__(self, name_or_path: str, **options: Unpack[loading.TorchOptions]) -> None:
        super().__init__(name_or_path, **options)
        config = read_json(self._root / "config.json", {})
        with loading.explained(self._root, config):
            settings = self._configuration()
            self._model = self._trained("AutoModelForSeq2SeqLM", config=settings)
            self._start: int = settings.decoder_start_token_id
            tokenizer = self._tokenizer(self._root)
            self._answer_ids = _answer_ids(tokenizer)
            windower = PairWindower(
                tokenizer,
                LONGEST,
                _template(tokenizer),
                partial(filled_chunks, most=CHUNK_WORDS, length=_words),
            )
            files = [self._root / "config.json", *loading.own_files(self._root, self._commit)]
            self._settle(windower, 0, SUPPORTED_LAST, files, "minicheck", self._answer_ids)

    def _forward(self, ids: Any, mask: Any) -> Any:
        import torch

        start = torch.full((len(ids), 1), self._start, dtype=torch.long, device=ids.device)
        logits = self._model(
            input_ids=ids, attention_mask=mask, decoder_input_ids=start, use_cache=False
        ).logits[:, 0]
        return logits[:, self._answer_ids].float().softmax(dim=-1)


def is_t5(name_or_path: str, revision: str | None) -> bool:
    """Return True if a checkpoint's configuration is that of an encoder-decoder."""
    root, _ = loading.resolve(name_or_path, revision)
    return bool(read_json(root / "config.json", {}).get("model_type") in ("t5", "umt5", "mt5"))


def _answer_ids(tokenizer: Any) -> list[int]:
    """Return the first tokens of the answers "0" and "1"."""
    ids = [tokenizer.encode(text, add_special_tokens=False).ids[:1] for text in ("0", "1")]
    first_ids = [i for answer in ids for i in answer]
    if len(set(first_ids)) < 2:
        raise ModelError("the tokenizer begins the answers 0 and 1 with the same token")
    return first_ids


def _template(tokenizer: Any) -> Template:
    end = tokenizer.token_to_id("</s>")
    if end is None:
        raise ModelError("the tokenizer has no </s>, so it is not T5's")
    head = tokenizer.encode(_TASK, add_special_tokens=False).ids
    return Template((head, [end], [end]), (0, 0, 0, 0, 0))


def _words(text: str) -> int:
    return len(text.split())
