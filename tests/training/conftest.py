"""An untrained model and a small world to train it on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WORDS = "ada bob eva oslo rome in lives met likes not is was a the .".split()  # noqa: SIM905


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An untrained MPNet of three layers."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {w: i for i, w in enumerate(["<s>", "<pad>", "</s>", "[UNK]", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    config = transformers.MPNetConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=80,
    )
    torch.manual_seed(0)
    folder = tmp_path / "source"
    transformers.MPNetModel(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", unk_token="[UNK]"
    ).save_pretrained(folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Who lives where: another place is contradicted, and its word the wrong one."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for _ in range(400):
        name, place = rng.choice(["Ada", "Bob", "Eva"]), rng.choice(["Oslo", "Rome"])
        row = {"premise": f"{name} lives in {place} ."}
        if rng.random() < 0.5:
            row |= {"hypothesis": row["premise"], "label": "entailment", "spans": []}
        else:
            other = "Rome" if place == "Oslo" else "Oslo"
            text = f"{name} lives in {other} ."
            at = text.index(other)
            row |= {"hypothesis": text, "label": "contradiction", "spans": [[at, at + 4]]}
        rows.append(row | {"source": "typed_entity"})
    people = [{k: row[k] for k in ("premise", "hypothesis", "label")} for row in rows[:200]]
    people += [{**row, "label": "not_entailment"} for row in people if row["label"] != "entailment"]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(r) + "\n" for r in people))
    (tmp_path / "generated.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return tmp_path
