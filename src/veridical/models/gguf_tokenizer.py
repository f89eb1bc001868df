"""Tokenizer and chat template of a GGUF file."""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.errors import ModelError
from veridical.models.gguf import Gguf

_CONTROL, _USER_DEFINED = 3, 4  # ggml's kinds of tokens that are matched first in a text
_WORDS = (  # Llama 3's and, except for the number of digits per token, Qwen 2's
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
#: Splitting of texts before merges, by llama.cpp's names: a pattern, or GPT-2's rule with digits
#: separated ("figures") or not ("").
_CUTS = {
    "gpt-2": "",
    "smollm": "figures",
    "starcoder": "figures",
    "refact": "figures",
    "command-r": "figures",
    "qwen2": _WORDS % "",
    "llama-bpe": _WORDS % "{1,3}",
}
_BEGINS = {"llama-bpe"}  # models that begin a text with BOS by default


def read_tokenizer(file: Gguf) -> Any:
    """Build the file's tokenizer as a ``tokenizers.Tokenizer``.

    Raises:
        ModelError: the file has no tokenizer, or its kind is not supported.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, processors
    from tokenizers import pre_tokenizers as cuts

    metadata = file.metadata
    kind, cut = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    named = isinstance(kind, str) and isinstance(cut, str)  # a file may have arrays
    if not named or kind != "gpt2" or cut not in _CUTS:
        raise ModelError(
            f"{file.path}: its tokenizer ({kind!s:.40}, {cut!s:.40}) is not supported; supported: "
            f"gpt2 with {', '.join(_CUTS)}; torch:{file.path} may read it"
        )
    tokens = _list(file, "tokenizer.ggml.tokens")
    merges = [m.partition(" ")[::2] for m in _list(file, "tokenizer.ggml.merges")]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    try:
        made = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=cut == "llama-bpe"))
    except Exception as e:  # the library raises bare Exception
        raise ModelError(f"{file.path}: its tokenizer cannot be built: {e}") from None
    rule = _CUTS[cut]
    if rule in ("", "figures"):
        byte_level = cuts.ByteLevel(add_prefix_space=False, use_regex=True)
        before = [cuts.Digits(individual_digits=True)] if rule else []
        made.pre_tokenizer = cuts.Sequence([*before, byte_level])
    else:
        byte_level = cuts.ByteLevel(add_prefix_space=False, use_regex=False)
        made.pre_tokenizer = cuts.Sequence([cuts.Split(Regex(rule), "isolated"), byte_level])
    if cut == "qwen2":
        made.normalizer = normalizers.NFC()
    made.decoder = decoders.ByteLevel()
    kinds = _numbers(metadata.get("tokenizer.ggml.token_type"), len(tokens))
    for wanted in (_CONTROL, _USER_DEFINED):
        made.add_tokens(
            [
                AddedToken(token, special=wanted == _CONTROL, normalized=False)
                for token, of in zip(tokens, kinds, strict=True)
                if of == wanted
            ]
        )
    bos = token_id(file, "bos")
    if bos is not None and metadata.get("tokenizer.ggml.add_bos_token", cut in _BEGINS) is True:
        try:
            made.post_processor = processors.TemplateProcessing(
                single=f"{tokens[bos]} $A", special_tokens=[(tokens[bos], bos)]
            )
        except Exception as e:  # as above; for example for a token with a space
            raise ModelError(f"{file.path}: its tokenizer cannot be built: {e}") from None
    return made


def token_id(file: Gguf, name: str) -> int | None:
    """Return the id of the token ``bos`` or ``eos``, or None."""
    value = file.metadata.get(f"tokenizer.ggml.{name}_token_id")
    size = len(_list(file, "tokenizer.ggml.tokens"))
    return value if isinstance(value, int) and 0 <= value < size else None


def token_text(file: Gguf, name: str) -> str:
    """Return the token ``bos`` or ``eos``; empty if it is missing."""
    place = token_id(file, name)
    return "" if place is None else str(_list(file, "tokenizer.ggml.tokens")[place])


def _list(file: Gguf, key: str) -> list[str]:
    value = file.metadata.get(key)
    if not isinstance(value, list):
        raise ModelError(f"{file.path} has no list {key}")
    return value


def _numbers(value: Any, count: int) -> list[int]:
    """Return ``count`` integers: those of an array, or zeros without one."""
    whole = isinstance(value, np.ndarray) and value.dtype.kind in "iu"
    numbers = value[:count].tolist() if whole else []
    return [*numbers, *[0] * (count - len(numbers))]
