"""A random GPT-2 whose tokens are bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def byte_gpt2(folder: Path, seed: int = 0, special: bool = False, **config: Any) -> Path:
    """Saved in ``folder``, with its tokenizer.

    Args:
        special: the end of a text is a token of its own, which no text can spell.
        config: of ``transformers.GPT2Config``.
    """
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<|endoftext|>": 0} | {c: i + 1 for i, c in enumerate(alphabet)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if special:
        made.add_special_tokens(["<|endoftext|>"])
    torch.manual_seed(seed)
    settings = transformers.GPT2Config(
        vocab_size=len(vocabulary), n_head=4, bos_token_id=0, eos_token_id=0, **config
    )
    transformers.AutoModelForCausalLM.from_config(settings).save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(kind))
    return folder
