"""Tiny random readers of spans and regressors, saved as hub repositories have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nli_checkpoints import tokenizer

LENGTH = 96
_SPECIAL = {
    "bert": {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    "albert": {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    "roberta": {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"},
}


def save_reader(folder: Path, kind: str, task: str, seed: int = 0, **settings: Any) -> Path:
    """A model of ``task`` (``QuestionAnswering``, ``SequenceClassification``)."""
    import torch
    import transformers

    torch.manual_seed(seed)
    made = tokenizer("deberta" if kind == "albert" else kind)
    types = [] if kind == "roberta" else ["token_type_ids"]
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_input_names=["input_ids", *types, "attention_mask"],
        **_SPECIAL[kind],
    )
    sizes = {
        "vocab_size": made.get_vocab_size(),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "initializer_range": 0.3,
        "max_position_embeddings": LENGTH + 2 * (kind == "roberta"),
        "pad_token_id": fast.pad_token_id,
        **settings,
    }
    if kind == "roberta":
        sizes |= {"type_vocab_size": 1, "bos_token_id": 0, "eos_token_id": 2}
    if kind == "albert":
        sizes |= {"embedding_size": 16}
    name = {"bert": "Bert", "albert": "Albert", "roberta": "Roberta"}[kind]
    config = getattr(transformers, f"{name}Config")(**sizes)
    getattr(transformers, f"{name}For{task}")(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
