"""Cross-encoders of ``training/nli_train.py`` as modules that export to fused attention.

BERT's attention is found and fused by ONNX Runtime's own tool. MPNet's is not, as it adds a bias
for the distance of two tokens. Here it is written as the fused operator from the start. The bias
is one gather from a constant (1, heads, distances), so that no bucket is computed at run time.

Needs: torch, transformers.
"""

from __future__ import annotations

from typing import Any

import torch
from nli_heads import heads_of
from nli_reader import Reader

#: Id of MPNet's padding token; the first token's position comes after it.
_PADDING = 1


class _FusedAttention(torch.autograd.Function):
    """Self-attention with a bias: ``Attention`` of ONNX Runtime's own operators."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weights: torch.Tensor,
        bias: torch.Tensor,
        mask: torch.Tensor,
        added: torch.Tensor,
        heads: int,
    ) -> torch.Tensor:
        """Compute (batch, tokens, size) from (batch, tokens, width) hidden states.

        Args:
            weights, bias: (width, 3 * size) and (3 * size,) of query, key and value.
            mask: (batch, tokens), 0 for padding.
            added: (1, heads, tokens, tokens), added to the scaled products.
        """
        batch, tokens, _ = hidden.shape
        size = bias.shape[0] // 3
        query, key, value = (
            part.view(batch, tokens, heads, -1).transpose(1, 2)
            for part in (hidden @ weights + bias).chunk(3, dim=2)
        )
        scores = query @ key.transpose(2, 3) / (size // heads) ** 0.5 + added
        scores = scores.masked_fill(mask[:, None, None, :] == 0, torch.finfo(scores.dtype).min)
        return (scores.softmax(3) @ value).transpose(1, 2).reshape(batch, tokens, size)

    @staticmethod
    def symbolic(g: Any, *inputs: Any) -> Any:
        hidden, weights, bias, mask, added, heads = inputs
        none = g.op("prim::Constant")
        none.setType(torch._C.OptionalType.ofTensor())
        made = g.op(
            "com.microsoft::Attention",
            *(hidden, weights, bias, g.op("Cast", mask, to_i=6), none, added),
            num_heads_i=heads,
        )
        made.setType(hidden.type().with_sizes([None, None, None]))
        return made


class BertGraph(torch.nn.Module):
    """BERT: (batch, tokens) ids, mask and types to logits and words' log-odds."""

    inputs = ("input_ids", "attention_mask", "token_type_ids")

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.reader(input_ids=ids, attention_mask=mask, token_type_ids=types)


def longest_of(model: Any) -> int:
    """Return the maximum number of tokens that an MPNet reads."""
    return int(model.config.max_position_embeddings) - _PADDING - 1


def buckets_of(model: Any) -> torch.Tensor:
    """Return (distances,) the rows of an MPNet's distance table, from least to largest."""
    longest = longest_of(model)
    buckets: torch.Tensor = model.encoder.relative_position_bucket(
        torch.arange(1 - longest, longest)
    )
    return buckets


class MPNetGraph(torch.nn.Module):
    """MPNet: (batch, tokens) ids and mask to logits and words' log-odds."""

    inputs = ("input_ids", "attention_mask")

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader
        model = reader.classifier.mpnet
        longest = longest_of(model)
        table = model.encoder.relative_attention_bias.weight[buckets_of(model)]
        self.register_buffer("bias", table.T[None].contiguous().detach())
        self.longest = longest
        self.heads = heads_of(model.config)
        for number, layer in enumerate(model.encoder.layer):
            parts = [getattr(layer.attention.attn, name) for name in "qkv"]
            weights = torch.cat([part.weight.T for part in parts], dim=1)
            self.register_buffer(f"weights_{number}", weights.detach().contiguous())
            self.register_buffer(f"biases_{number}", torch.cat([p.bias for p in parts]).detach())

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        model = self.reader.classifier.mpnet
        places = torch.arange(ids.shape[1])
        known = model.embeddings
        hidden = known.LayerNorm(
            known.word_embeddings(ids) + known.position_embeddings(places + _PADDING + 1)
        )
        added = self.bias[:, :, places[None, :] - places[:, None] + self.longest - 1]
        for number, layer in enumerate(model.encoder.layer):
            weights, biases = (getattr(self, f"{name}_{number}") for name in ("weights", "biases"))
            heads = self.heads[number]
            own = added if len(heads) == added.shape[1] else added[:, heads]
            seen = _FusedAttention.apply(hidden, weights, biases, mask, own, len(heads))
            attended = layer.attention.LayerNorm(layer.attention.attn.o(seen) + hidden)
            hidden = layer.output(layer.intermediate(attended), attended)
        logits = self.reader.classifier.classifier(hidden)
        return logits, self.reader.words(hidden).squeeze(-1)


def graph_of(reader: Reader) -> BertGraph | MPNetGraph:
    """Return the module to export ``reader`` by.

    Raises:
        SystemExit: it is neither BERT nor MPNet.
    """
    kinds = {"bert": BertGraph, "mpnet": MPNetGraph}
    kind = reader.classifier.config.model_type
    if kind not in kinds:
        raise SystemExit(f"models of type {kind} cannot be exported")
    return kinds[kind](reader)
