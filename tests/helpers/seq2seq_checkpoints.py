"""Tiny random T5 and Longformer checkpoints, saved as hub repositories have them."""

from __future__ import annotations

from collections.abc import Sequence
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


def asked(model: Any, requests: Sequence[Any]) -> list[Any]:
    """Packed answers of a checkpoint to ``requests``, all windows in one batch."""
    windows = model.windows(requests)
    outputs = iter(model.run([w for ws in windows for w in ws]))
    return [model.assemble(ws, [next(outputs) for _ in ws]) for ws in windows]


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
    tokenizer = byte_pair_tokenizer()
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


_BART_SIZES: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "init_std": 0.4,
}


def save_bart(folder: Path, seed: int = 0, positions: int = 256) -> Path:
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = byte_pair_tokenizer()
    config = transformers.BartConfig(
        **_BART_SIZES,
        vocab_size=len(tokenizer),
        max_position_embeddings=positions,
        forced_eos_token_id=None,
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def byte_pair_tokenizer() -> Any:
    import transformers

    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_byte_pairs()),
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
    )


def save_mbart(folder: Path, seed: int = 0) -> Path:
    """mBART-50, whose tokenizer marks languages as ``en_XX``."""
    import torch
    import transformers

    torch.manual_seed(seed)
    letters = sorted({*CONTEXT, "\u2581"} - {" "})
    words = dict.fromkeys(f"\u2581{w}" for w in CONTEXT.split())
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)]
    pieces += [*((w, -5.0) for w in words), *((x, -9.0) for x in letters)]
    tokenizer = transformers.MBart50Tokenizer(vocab=pieces, src_lang="en_XX", tgt_lang="en_XX")
    config = transformers.MBartConfig(
        **_BART_SIZES, vocab_size=len(tokenizer), max_position_embeddings=128
    )
    transformers.MBartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_m2m(folder: Path, seed: int = 0) -> Path:
    """M2M-100, whose tokenizer needs sentencepiece and marks languages as ``__en__``."""
    import json

    import sentencepiece
    import torch
    import transformers

    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.txt").write_text("\n".join(CORPUS))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "corpus.txt"),
        model_prefix=str(folder / "made"),
        vocab_size=70,
        minloglevel=2,
    )
    made = sentencepiece.SentencePieceProcessor(model_file=str(folder / "made.model"))
    pieces = [made.id_to_piece(i) for i in range(3, made.get_piece_size())]
    vocabulary = {p: i for i, p in enumerate(["<s>", "<pad>", "</s>", "<unk>", *pieces])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    tokenizer = transformers.M2M100Tokenizer(
        vocab_file=str(folder / "vocab.json"), spm_file=str(folder / "made.model")
    )
    config = transformers.M2M100Config(
        **_BART_SIZES, vocab_size=len(tokenizer) + 108, max_position_embeddings=128
    )
    transformers.M2M100ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
