"""Tiny random T5 and Longformer checkpoints, saved as hub repositories have them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

CORPUS = [
    "The tower was finished in 1889, it is said, by many hands. Who finished the tower?",
    "A man is playing a guitar on a stage. The dog is asleep on the sofa! What plays the man?",
    "Paris is in France; the Seine runs through it. Nobody knows why. Where is Paris?",
    "The committee rejected the proposal by seven votes to two, so it fell. Which one fell?",
]
CONTEXT = " ".join(CORPUS)
WINDOW = 64  # attention window of the Longformers
LENGTH = 1024  # tokens they take


@cache
def _t5_tokenizer() -> str:
    """Words and letters of the corpus. (A trained vocabulary would be another each time.)"""
    special = ["<pad>", "</s>", "<unk>", *(f"<extra_id_{i}>" for i in range(4)), "<sep>"]
    words = dict.fromkeys(f"\u2581{w}" for w in CONTEXT.split())
    letters = sorted({*CONTEXT, "\u2581"} - {" "})
    pieces = [*((s, 0.0) for s in special), *((w, -5.0) for w in words)]
    made = Tokenizer(models.Unigram([*pieces, *((x, -9.0) for x in letters)], unk_id=2))
    made.add_special_tokens(special)
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return str(made.to_str())


@cache
def _byte_pairs() -> str:
    special = ["<s>", "<pad>", "</s>"]
    merges = [("t", "h"), ("th", "e"), ("i", "s"), ("\u0120", "the"), ("\u0120", "is"), ("o", "n")]
    merged = ["".join(m) for m in merges]
    tokens = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet()), *merged]
    made = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    made.add_special_tokens(special)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    return str(made.to_str())


def save_t5(folder: Path, seed: int = 0) -> Path:
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_t5_tokenizer()),
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        sep_token="<sep>",
    )
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_longformer(folder: Path, automatic: str, seed: int = 0, **settings: Any) -> Path:
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_byte_pairs()),
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
    )
    config = transformers.LongformerConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        attention_window=[WINDOW, WINDOW],
        max_position_embeddings=LENGTH + 2,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        sep_token_id=2,
        initializer_range=0.4,
        **settings,
    )
    getattr(transformers, automatic)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
