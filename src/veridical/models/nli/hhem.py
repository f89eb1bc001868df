"""HHEM-2.1-Open (Vectara): Flan-T5's encoder with a first-token classifier.

The repository's own code is not run; its tensors are loaded here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.folder import read_json
from veridical.models.nli.names import FOUNDATION
from veridical.models.nli.tokens import PairWindower, Template
from veridical.models.nli.windowed import SUPPORTED_LAST, WindowedNli

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The training prompt (from its card); the first token is classified.
PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {text1}\n\nHypothesis: {text2}"
)
#: Maximum tokens of a window: the length evaluated in its card. The architecture has no limit, but
#: attention needs memory in the square of the length.
LONGEST = 2048
_PREFIX = "transformer."  # of the tensors' names, optionally after "t5."
_LAYER = "encoder.block.{}.layer."


class HhemNli(WindowedNli):
    """HHEM from a folder or hub repository with its published tensors.

    The tensors are in ``model.safetensors`` and determine the encoder's sizes. The tokenizer is the
    repository's own or, if missing, that of the base model. P(entailment) is that of class 1,
    "consistent"; the rest counts as neutral. Texts longer than :data:`LONGEST` are windowed.
    Thread-safe.

    Raises:
        ModelError: torch is missing, or the model is unavailable, lacks tensors or was trained
            with another prompt. Or its answers to plain pairs do not fit the published order.
    """

    def __init__(self, name_or_path: str, **options: Unpack[loading.TorchOptions]) -> None:
        super().__init__(name_or_path, **options)
        config = read_json(self._root / "config.json", {})
        prompt = config.get("prompt", PROMPT)
        if prompt != PROMPT:
            raise ModelError(f"{self.name} was trained with another prompt: {prompt!r:.80}")
        with loading.explained(self._root, {}):  # its custom code is expected
            self._build()
            place = self._root
            if not loading.has_tokenizer(place):
                foundation = str(config.get("foundation", FOUNDATION))
                place, _ = loading.resolve(foundation, None, weights=False)
            tokenizer = self._tokenizer(place)
            files = [*loading.own_files(self._root, self._commit), place / "tokenizer.json"]
            self._settle(
                PairWindower(tokenizer, LONGEST, _template(tokenizer)),
                0,
                SUPPORTED_LAST,
                [p for p in dict.fromkeys(files) if p.is_file()],
                "hhem",
            )

    def _build(self) -> None:
        import torch
        import transformers
        from safetensors.torch import load_file

        weights = self._root / "model.safetensors"
        if not weights.is_file():
            raise ModelError(f"{self._root} has no model.safetensors, so it is not HHEM")
        tensors = {n.removeprefix("t5."): t for n, t in load_file(weights).items()}
        heads = [tensors[n] for n in ("classifier.weight", "classifier.bias") if n in tensors]
        parts = {n.removeprefix(_PREFIX): t for n, t in tensors.items() if n.startswith(_PREFIX)}
        # One matrix under two names, of which a file has at least one.
        words = parts.get("shared.weight", parts.get("encoder.embed_tokens.weight"))
        if words is None or len(heads) < 2:
            raise ModelError(f"{self._root} has no embeddings or no classifier, so it is not HHEM")
        parts |= {"shared.weight": words, "encoder.embed_tokens.weight": words}
        encoder = transformers.T5EncoderModel(_config(parts))
        report = encoder.load_state_dict(parts, strict=False)
        if report.missing_keys or report.unexpected_keys:
            odd = ", ".join([*report.missing_keys, *report.unexpected_keys][:4])
            raise ModelError(f"{self._root} has tensors that are not HHEM's: {odd}")
        dtype = getattr(torch, self._dtype)
        self._encoder = encoder.to(self._device, dtype).eval()
        self._weight, self._bias = (head.to(self._device, dtype) for head in heads)

    def _forward(self, ids: Any, mask: Any) -> Any:
        import torch

        hidden = self._encoder(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
        outputs = torch.nn.functional.linear(hidden, self._weight, self._bias)
        return outputs.float().softmax(dim=-1)


def _template(tokenizer: Any) -> Template:
    pad, end = tokenizer.token_to_id("<pad>"), tokenizer.token_to_id("</s>")
    if pad is None or end is None:
        raise ModelError("the tokenizer has no <pad> or </s>, so it is not T5's")
    head, _, tail = PROMPT.removeprefix("<pad>").partition(" {text1}")
    between = tail.removesuffix(" {text2}")
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in (head, between)]
    return Template(([pad, *ids[0]], ids[1], [end]), (0, 0, 0, 0, 0))


def _config(tensors: dict[str, Any]) -> Any:
    """Derive the encoder's configuration from the shapes of its tensors (T5 1.0 or 1.1)."""
    import transformers

    first = _LAYER.format(0)
    bias = tensors[f"{first}0.SelfAttention.relative_attention_bias.weight"]
    query = tensors[f"{first}0.SelfAttention.q.weight"]
    gated = f"{first}1.DenseReluDense.wi_0.weight" in tensors
    wide = tensors[f"{first}1.DenseReluDense.{'wi_0' if gated else 'wi'}.weight"]
    vocabulary, width = tensors["shared.weight"].shape
    layers = 0
    while f"{_LAYER.format(layers)}0.SelfAttention.q.weight" in tensors:
        layers += 1
    return transformers.T5Config(
        vocab_size=vocabulary,
        d_model=width,
        d_kv=query.shape[0] // bias.shape[1],
        d_ff=wide.shape[0],
        num_layers=layers,
        num_heads=bias.shape[1],
        relative_attention_num_buckets=bias.shape[0],
        feed_forward_proj="gated-gelu" if gated else "relu",
        is_encoder_decoder=False,
        use_cache=False,
    )
