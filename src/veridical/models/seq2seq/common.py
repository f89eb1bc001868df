"""What the torch back ends of this package share: building, batches, and identity."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.folder import add_files, read_json


class Built(NamedTuple):
    """A model ready to run.

    Attributes:
        name: hub id, or the folder's own name.
        revision: 16 hexadecimal digits over weights, configuration, tokenizer, commit, precision
            and how the back end feeds it.
    """

    model: Any
    root: Path
    config: dict[str, Any]
    device: Any
    name: str
    revision: str


def build(
    automatic: str,
    what: str,
    name_or_path: str,
    *,
    device: str | None,
    dtype: str | None,
    revision: str | None,
    threads: int | None,
    version: str,
) -> Built:
    """Load ``name_or_path`` by transformers' class ``automatic``, from safetensors alone.

    Args:
        what: the kind of model, as an error names it.
        version: of the back end's own handling; part of the revision.

    Raises:
        ModelError: torch is missing, the model cannot be found or built, or it lacks trained
            weights for a part of ``automatic``.
    """
    _, transformers = loading.libraries(name_or_path)
    root, commit = loading.resolve(name_or_path, revision)
    config = read_json(root / "config.json", {})
    if not config:
        raise ModelError(f"{root} has no config.json: it is no model folder")
    where, precision = loading.place(device, dtype)
    loading.use_threads(threads, where)
    with loading.explained(root, config):
        settings = transformers.AutoConfig.from_pretrained(root, trust_remote_code=False)
        model, report = loading.pretrained(
            getattr(transformers, automatic), root, settings, precision, output_loading_info=True
        )
    if report["missing_keys"]:
        missing = ", ".join(sorted(report["missing_keys"])[:4])
        raise ModelError(f"{root} has no trained weights for {missing}: it is no {what}")
    digest = hashlib.blake2b(digest_size=8)
    digest.update(repr((version, commit, precision)).encode())
    small = ("config.json", "generation_config.json", "tokenizer_config.json", "spiece.model")
    own = [root / name for name in small]
    add_files(digest, [*loading.own_files(root, commit), *(p for p in own if p.is_file())])
    name = name_or_path if commit else root.resolve().name
    return Built(model.to(where).eval(), root, config, where, name, digest.hexdigest())


def readable(text: str) -> str:
    """``text`` with question marks for lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Ordinary:
    """Encodes texts with a ``tokenizers.Tokenizer`` so that special tokens written out in one
    (``[SEP]``, ``</s>``) are read as ordinary characters. Not thread-safe.

    Args:
        tokenizer: its truncation and padding are switched off.
    """

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder().values()
        self._names = {t.content for t in added if t.special and len(t.content) > 2}

    def __call__(self, text: str) -> Any:
        """The ``Encoding`` of ``text``, without special tokens; offsets are into ``text``."""
        given = readable(text)
        encoding = self._tokenizer.encode(given, add_special_tokens=False)
        if self._names & set(encoding.tokens):
            # A unigram vocabulary holds them as pieces: same length, so that places stay.
            for name in self._names:
                given = given.replace(name, f"({name[1:-1]})")
            encoding = self._tokenizer.encode(given, add_special_tokens=False)
        return encoding


def padded(rows: Sequence[Sequence[int]], pad: int, device: Any) -> tuple[Any, Any]:
    """Token ids (rows, longest) padded on the right, and their mask of 1 and 0."""
    import torch

    longest = max(map(len, rows))
    ids = torch.full((len(rows), longest), pad, dtype=torch.long)
    mask = torch.zeros((len(rows), longest), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[i, : len(row)] = 1
    return ids.to(device), mask.to(device)
