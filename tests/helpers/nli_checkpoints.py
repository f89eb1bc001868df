"""Tiny NLI checkpoints with tokenizers of their own kind, saved as hub repositories have them."""

from __future__ import annotations

import json
import re
import string
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

KINDS = ("bert", "roberta", "deberta", "modernbert")
THREE = ("contradiction", "entailment", "neutral")
TWO = ("ENTAILMENT", "CONTRADICTION")
LENGTH = 256

CORPUS = [
    "The tower was finished in 1889, it is said, by many hands.",
    "A man is playing a guitar on a stage. The dog is asleep on the sofa!",
    "Paris is in France; the Seine runs through it. Nobody knows why.",
    "The committee rejected the proposal by seven votes to two, so it fell.",
]
SENTENCES = [
    "Paris is in France.",
    "The tower was finished in 1889.",
    "A man plays the guitar.",
    "Nobody knows why the dog is asleep on the stage.",
    "The Seine runs through Paris, it is said.",
    "",
    "no",
]
PAIRS = [
    *((p, h) for p in SENTENCES for h in SENTENCES),
    (" ".join(SENTENCES), SENTENCES[1]),
    ("Nobody", "naïve café 東京 \ud800 x"),
]


def tokenizer(kind: str) -> Tokenizer:
    """As the architecture's own: word pieces, byte-level pairs, or unigrams; and its template."""
    return Tokenizer.from_str(_made(kind))


def _pieces(corpus: str, start: str, inner: str) -> list[str]:
    """Letters, short words whole, long words in two pieces: the same list in every process."""
    words = sorted(set(re.findall(r"\w+|[^\w\s]", corpus)))
    letters = sorted({*"".join(words), *string.ascii_lowercase, *string.digits})
    halves = [(w[: len(w) // 2], w[len(w) // 2 :]) if len(w) > 5 else (w, "") for w in words]
    return list(
        dict.fromkeys(
            [start + c for c in letters]
            + [inner + c for c in letters]
            + [start + first for first, _ in halves]
            + [inner + last for _, last in halves if last]
        )
    )


@cache
def _made(kind: str) -> str:
    # a word-piece or unigram trainer gives another vocabulary each time: theirs are written out
    if kind == "bert":
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        pieces = _pieces(" ".join(CORPUS).lower(), "", "##")
        made = Tokenizer(models.WordPiece(_numbered(special + pieces), unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.add_special_tokens(special)
    elif kind == "deberta":
        special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
        scores = [(p, -9.0 + min(len(p), 5)) for p in _pieces(" ".join(CORPUS), "▁", "")]
        made = Tokenizer(models.Unigram([*((t, 0.0) for t in special), *scores], unk_id=3))
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.add_special_tokens(special)
    else:
        special = ["<s>", "<pad>", "</s>"] if kind == "roberta" else ["[CLS]", "[PAD]", "[SEP]"]
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        made.train_from_iterator(
            CORPUS,
            trainers.BpeTrainer(
                vocab_size=330,
                special_tokens=special,
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ),
        )
    if kind == "roberta":
        made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    else:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(t, made.token_to_id(t)) for t in ("[CLS]", "[SEP]")],
        )
    return str(made.to_str())


def _numbered(tokens: list[str]) -> dict[str, int]:
    return {t: i for i, t in enumerate(tokens)}


def config(kind: str, vocabulary: int, names: tuple[str, ...] | None, classes: int) -> Any:
    import transformers

    sizes = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "initializer_range": 0.3,
    }
    if names is None:
        sizes |= {"num_labels": classes}
    else:
        sizes |= {
            "id2label": dict(enumerate(names)),
            "label2id": {n: i for i, n in enumerate(names)},
        }
    if kind == "bert":
        return transformers.BertConfig(max_position_embeddings=LENGTH, pad_token_id=0, **sizes)
    if kind == "roberta":
        return transformers.RobertaConfig(
            max_position_embeddings=LENGTH + 2,
            type_vocab_size=1,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            **sizes,
        )
    if kind == "deberta":
        return transformers.DebertaV2Config(
            max_position_embeddings=LENGTH,
            type_vocab_size=0,
            relative_attention=True,
            position_biased_input=False,
            position_buckets=16,
            norm_rel_ebd="layer_norm",
            share_att_key=True,
            pos_att_type=["p2c", "c2p"],
            pad_token_id=0,
            **sizes,
        )
    sizes.pop("initializer_range")
    return transformers.ModernBertConfig(
        max_position_embeddings=LENGTH,
        pad_token_id=1,
        cls_token_id=0,
        bos_token_id=0,
        sep_token_id=2,
        eos_token_id=2,
        global_attn_every_n_layers=2,
        local_attention=16,
        initializer_range=0.3,
        initializer_cutoff_factor=10.0,
        **sizes,
    )


def save(
    folder: Path,
    kind: str = "bert",
    names: tuple[str, ...] | None = THREE,
    *,
    classes: int = 3,
    seed: int = 0,
) -> Path:
    """A random checkpoint, ``pytorch`` weights in safetensors and the tokenizer beside it."""
    import torch
    import transformers

    torch.manual_seed(seed)
    made = tokenizer(kind)
    settings = config(kind, made.get_vocab_size(), names, classes)
    model = transformers.AutoModelForSequenceClassification.from_config(settings)
    with torch.no_grad():
        for parameter in model.classifier.parameters():  # so that classes are told apart
            parameter.mul_(2.0)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    inputs = ["input_ids", "attention_mask"]
    if kind in ("bert", "deberta"):
        inputs.append("token_type_ids")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"model_max_length": LENGTH, "model_input_names": inputs})
    )
    return folder


def export(folder: Path, name: str = "model.onnx") -> Path:
    """An ONNX graph of a saved checkpoint, in its folder."""
    import torch
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager"
    ).eval()
    names = json.loads((folder / "tokenizer_config.json").read_text())["model_input_names"]

    class Logits(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, *inputs: Any) -> Any:
            return self.inner(**dict(zip(names, inputs, strict=True))).logits

    ids = torch.randint(5, 60, (2, 24))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    given["attention_mask"][1, 20:] = 0
    given["token_type_ids"] = torch.zeros_like(ids)
    torch.onnx.export(
        Logits().eval(),
        tuple(given[n] for n in names),
        str(folder / name),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={**{n: {0: "b", 1: "s"} for n in names}, "logits": {0: "b"}},
        opset_version=17,
        dynamo=False,
    )
    return folder


def reference(folder: Path, pairs: list[tuple[str, str]]) -> Any:
    """(n, classes) probabilities by transformers alone: one pair at a time, no padding."""
    import torch
    import transformers

    made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    names = json.loads((folder / "tokenizer_config.json").read_text())["model_input_names"]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    rows = []
    for premise, hypothesis in pairs:
        texts = [t.encode("utf-8", "replace").decode() for t in (premise, hypothesis)]
        # in lists: it takes an empty second text alone for none
        inputs = made([texts[0]], [texts[1]], return_tensors="pt", return_token_type_ids=True)
        with torch.no_grad():
            logits = model(**{n: inputs[n] for n in names}).logits[0].double()
        rows.append(torch.softmax(logits, 0).numpy())
    return np.array(rows)


def judge(model: Any, pairs: list[tuple[str, str]], batch: int | None = None) -> Any:
    """(n, 3) probabilities of ``model``, ``batch`` windows a forward (default: all at once)."""
    windows = model.windows(pairs)
    flat = [w for ws in windows for w in ws]
    size = batch or len(flat)
    outputs = iter([o for i in range(0, len(flat), size) for o in model.run(flat[i : i + size])])
    return np.stack([model.assemble(ws, [next(outputs) for _ in ws]) for ws in windows])
