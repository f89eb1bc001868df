"""HHEM-2.1-Open (Vectara): the encoder of Flan-T5 with a classifier over its first token.

The repository comes with code of its own, which is not run: its tensors are read here.
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

#: What the model was trained on (its card): the first token is the one that is classified.
PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {text1}\n\nHypothesis: {text2}"
)
#: Tokens of a window: the length its card gives figures for. Nothing in the architecture bounds
#: it, but attention to all of a longer text takes memory by the square.
LONGEST = 2048
_WHOLE = "transformer."  # what the tensors' names begin with, perhaps after "t5."
_LAYER = "encoder.block.{}.layer."


class HhemNli(WindowedNli):
    """A folder or hub repository with the published tensors in ``model.safetensors``.

    The encoder's sizes are those of the tensors. The tokenizer is the repository's own or, where
    it has none, that of the model it was made from. P(entailment) is that of class 1,
    "consistent"; the rest stands as neutral. Texts longer than :data:`LONGEST` are windowed.
    Thread-safe.

    Raises:
        ModelError: torch is missing, the model cannot be had, lacks tensors or is made for
            another prompt, or its answers to plain pairs do not fit the published order.
    """

    def __init__(self, name_or_path: str, **options: Unpack[loading.TorchOptions]) -> None:
        super().__init__(name_or_path, **options)
        config = read_json(self._root / "config.json", {})
        prompt = config.get("prompt", PROMPT)
        if prompt != PROMPT:
            raise ModelError(f"{self.name} is made for another prompt: {prompt!r:.80}")
        with loading.explained(self._root, {}):  # that it comes with code is known
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
            raise ModelError(f"{self._root} has no model.safetensors: it is no HHEM")
        tensors = {n.removeprefix("t5."): t for n, t in load_file(weights).items()}
        heads = [tensors[n] for n in ("classifier.weight", "classifier.bias") if n in tensors]
        parts = {n.removeprefix(_WHOLE): t for n, t in tensors.items() if n.startswith(_WHOLE)}
        # One matrix under two names, of which a file holds at least one.
        words = parts.get("shared.weight", parts.get("encoder.embed_tokens.weight"))
        if words is None or len(heads) < 2:
            raise ModelError(f"{self._root} has no embeddings or no classifier: it is no HHEM")
        parts |= {"shared.weight": words, "encoder.embed_tokens.weight": words}
        encoder = transformers.T5EncoderModel(_config(parts))
        report = encoder.load_state_dict(parts, strict=False)
        if report.missing_keys or report.unexpected_keys:
            odd = ", ".join([*report.missing_keys, *report.unexpected_keys][:4])
            raise ModelError(f"{self._root}: its tensors are not HHEM's: {odd}")
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
        raise ModelError("the tokenizer has no <pad> or </s>: it is not T5's")
    head, _, tail = PROMPT.removeprefix("<pad>").partition(" {text1}")
    between = tail.removesuffix(" {text2}")
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in (head, between)]
    return Template(([pad, *ids[0]], ids[1], [end]), (0, 0, 0, 0, 0))


def _config(tensors: dict[str, Any]) -> Any:
    """The encoder's configuration, by the shapes of its tensors (T5 1.0 or 1.1)."""
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
