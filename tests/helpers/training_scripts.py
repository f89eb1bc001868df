"""The scripts that make the shipped artefacts, as modules."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from nli_checkpoints import tokenizer
from places import ROOT

from veridical.core.protocols import LABELS

FOLDER = ROOT / "training"


@contextmanager
def training_script(name: str) -> Iterator[ModuleType]:
    """A module of ``training/``, forgotten afterwards with those of the folder that it imports.

    ``name`` may be dotted: ``checker.records``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        try:
            yield import_module(name)
        finally:
            for other, module in list(sys.modules.items()):
                file = getattr(module, "__file__", None)
                if file is not None and FOLDER in Path(file).parents:
                    del sys.modules[other]


def checkpoint(folder: Path, kind: str, words: bool, narrow: bool = False) -> Any:
    """A random checkpoint of three layers, as training leaves it; the model in torch. ``narrow``
    leaves an MPNet some heads and neurons. A script of ``training/`` must be loaded."""
    import nli_reader
    import torch
    import transformers

    made = tokenizer("roberta" if kind == "mpnet" else "bert")
    sizes = {
        "vocab_size": made.get_vocab_size(),
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 128,
        "max_position_embeddings": 130 if kind == "mpnet" else 128,
        "initializer_range": 0.3,
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: i for i, label in enumerate(LABELS)},
    }
    torch.manual_seed(0)
    config = {"mpnet": transformers.MPNetConfig, "bert": transformers.BertConfig}[kind](**sizes)
    source = folder / "source"
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(source)
    model = nli_reader.Reader(source).eval()
    torch.nn.init.normal_(model.words.weight)
    with torch.no_grad():  # as after training: no two biases are the same
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    if narrow:
        import nli_heads

        heads = [torch.tensor([1]), torch.tensor([0, 1]), torch.tensor([0])]
        neurons = [torch.arange(64), torch.arange(32, 128), torch.arange(32)]
        nli_heads.cut(model.classifier, nli_heads.Parts(heads, neurons))
    done = folder / "checkpoint"
    model.save(done, words=words)
    made.save(str(done / "tokenizer.json"))
    (done / "calibration.json").write_text(json.dumps({"temperature": 1.5}))
    return model
