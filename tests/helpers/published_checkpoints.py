"""Tiny random checkpoints in the layouts that the published fact checkers have.

A random head is as likely as not to have its classes the wrong way round, which the back ends
refuse: :func:`oriented` finds the order of outputs that fits the plain pairs best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import nli_checkpoints
import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from veridical.models.nli.labels import PLAIN

WORDS = """A man is playing a guitar on the stage. predict: Determine if the hypothesis is true
given the premise? Premise: Hypothesis: The tower was finished in 1889, Paris Nobody knows why.
children shop open Sundays. not garden. eating bicycle woman doctor. reading book"""
HHEM_PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {text1}\n\nHypothesis: {text2}"
)
DOCUMENT = (
    "The tower was finished in 1889. It is in Paris. Nobody knows why it stands there.\n"
    "A man is playing a guitar on a stage. The shop is open on Sundays. The woman is a doctor."
)
CLAIMS = ["The tower is in Paris.", "Nobody plays the guitar.", "The shop is not open."]


@cache
def _t5_tokenizer() -> str:
    """As T5's: words at white space, each with its mark; "1" is a word of its own, "0" is not."""
    special = ["<pad>", "</s>", "<unk>"]
    words = dict.fromkeys(f"\u2581{w}" for w in [*WORDS.split(), "1"])
    text = DOCUMENT + WORDS + "".join(p + h for (p, h), _ in PLAIN)
    letters = sorted({*text, *"0123456789", "\u2581"} - {" ", "\n"})
    pieces = [*((s, 0.0) for s in special), *((w, -5.0) for w in words)]
    made = Tokenizer(models.Unigram([*pieces, *((x, -9.0) for x in letters)], unk_id=2))
    made.add_special_tokens(special)
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    made.enable_truncation(16)  # published files have some, which must not matter
    made.enable_padding(length=12)
    return str(made.to_str())


def _t5_config(**more: Any) -> Any:
    import transformers

    return transformers.T5Config(
        vocab_size=Tokenizer.from_str(_t5_tokenizer()).get_vocab_size(),
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
        initializer_factor=3.0,
        **more,
    )


def t5_tokenizer(folder: Path) -> Any:
    """As the published codes load it, without the truncation and padding of the file."""
    import transformers

    made = Tokenizer.from_str((folder / "tokenizer.json").read_text())
    made.no_truncation()
    made.no_padding()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def oriented(answer: Callable[[str, str], Sequence[float]], classes: Sequence[str]) -> list[int]:
    """Which output should stand where, so that ``classes`` fit the plain pairs best."""
    rows = np.array([answer(p, h) for (p, h), _ in PLAIN])

    def fit(order: tuple[int, ...]) -> float:
        told = []
        for row, (_, label) in zip(rows, PLAIN, strict=True):
            name = label if label in classes else "not_entailment"
            told.append(row[order[classes.index(name)]])
        return float(np.mean(told))

    return list(max(permutations(range(len(classes))), key=fit))


def save_critic(folder: Path, kind: str = "roberta", seed: int = 0, **order: Any) -> Path:
    """A two-way sequence classifier, "entailment" first (or as ``classes`` has it)."""
    import torch
    import transformers

    classes = order.get("classes", ("entailment", "not_entailment"))
    nli_checkpoints.save(folder, kind, None, classes=2, seed=seed)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    probabilities = order.get("answer") or pair_answer
    places = oriented(lambda p, h: probabilities(folder, p, h), classes)
    head = getattr(model.classifier, "out_proj", model.classifier)
    with torch.no_grad():
        head.weight.copy_(head.weight[places].clone())
        head.bias.copy_(head.bias[places].clone())
    model.save_pretrained(folder)
    return folder


def pair_answer(folder: Path, premise: str, hypothesis: str) -> Any:
    """Probabilities of the outputs, the pair as the tokenizer encodes pairs."""
    return nli_checkpoints.reference(folder, [(premise, hypothesis)])[0]


def joined_answer(folder: Path, premise: str, hypothesis: str) -> Any:
    """Probabilities of the outputs, the pair as one text with the end token between."""
    import torch
    import transformers

    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    end = "</s>" if made.token_to_id("</s>") is not None else "[SEP]"
    ids = torch.tensor([made.encode(premise + end + hypothesis).ids])
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(input_ids=ids).logits[0].double().softmax(0).numpy()


def save_minicheck_t5(folder: Path, seed: int = 0) -> Path:
    import torch
    import transformers

    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    model = transformers.T5ForConditionalGeneration(_t5_config(tie_word_embeddings=False))
    made = Tokenizer.from_str(_t5_tokenizer())
    zero, one = made.token_to_id("\u2581"), made.token_to_id("\u25811")
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(_t5_tokenizer())
    places = oriented(lambda p, h: t5_answer(folder, p, h), ("not_entailment", "entailment"))
    if places == [1, 0]:
        with torch.no_grad():
            head = model.lm_head.weight
            head[[zero, one]] = head[[one, zero]].clone()
        model.save_pretrained(folder)
    return folder


def t5_answer(folder: Path, premise: str, hypothesis: str) -> Any:
    """P("0"), P("1") by the first token of the answer, as MiniCheck has it."""
    import torch
    import transformers

    made = t5_tokenizer(folder)
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    inputs = made([f"predict: {premise}</s>{hypothesis}"], return_tensors="pt")
    zero, one = made.convert_tokens_to_ids(["\u2581", "\u25811"])
    with torch.no_grad():
        logits = model(
            input_ids=inputs["input_ids"], decoder_input_ids=torch.zeros((1, 1), dtype=torch.long)
        ).logits[0, 0]
    return logits[[zero, one]].double().softmax(0).numpy()


def save_hhem(folder: Path, seed: int = 0, **config: Any) -> Path:
    """Tensors under ``t5.``, one name for the shared matrix, and no T5 configuration."""
    import json

    import torch
    import transformers
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    model = transformers.T5ForTokenClassification(_t5_config(num_labels=2)).eval()
    with torch.no_grad():
        model.classifier.weight.normal_()
        model.classifier.bias.normal_(std=0.1)
    (folder / "tokenizer.json").write_text(_t5_tokenizer())
    made = t5_tokenizer(folder)
    places = oriented(lambda p, h: hhem_answer(model, made, p, h), ("not_entailment", "entailment"))
    with torch.no_grad():
        model.classifier.weight.copy_(model.classifier.weight[places].clone())
        model.classifier.bias.copy_(model.classifier.bias[places].clone())
    tensors = {f"t5.{n}": t.clone() for n, t in model.state_dict().items()}
    tensors.pop("t5.transformer.encoder.embed_tokens.weight", None)
    save_file(tensors, folder / "model.safetensors")
    told = {
        "model_type": "HHEMv2",
        "architectures": ["HHEMv2ForSequenceClassification"],
        "auto_map": {"AutoModelForSequenceClassification": "own.HHEM"},
    }
    (folder / "config.json").write_text(json.dumps(told | config))
    (folder / "own.py").write_text("raise SystemExit('code was run')")
    return folder


def hhem_model(folder: Path) -> Any:
    """The published class's inner model, filled from the folder by transformers' own rules."""
    import transformers
    from safetensors.torch import load_file

    model = transformers.T5ForTokenClassification(_t5_config(num_labels=2)).eval()
    tensors = {n.removeprefix("t5."): t for n, t in load_file(folder / "model.safetensors").items()}
    report = model.load_state_dict(tensors, strict=False)
    assert set(report.missing_keys) <= {"transformer.encoder.embed_tokens.weight"}
    return model


def hhem_answer(model: Any, made: Any, premise: str, hypothesis: str) -> Any:
    """Probabilities of classes 0 and 1 of the first token, as the published ``predict``."""
    import torch

    inputs = made([HHEM_PROMPT.format(text1=premise, text2=hypothesis)], return_tensors="pt")
    with torch.no_grad():
        logits = model(input_ids=inputs["input_ids"]).logits[:, 0, :]
    return logits[0].double().softmax(0).numpy()


def save_alignscore(folder: Path, seed: int = 0) -> tuple[Path, Path]:
    """A Lightning checkpoint as the published ones are, and the folder of its encoder."""
    import torch
    import transformers

    torch.manual_seed(seed)
    backbone = nli_checkpoints.save(folder / "backbone", "roberta", None, seed=seed)
    config = transformers.AutoConfig.from_pretrained(backbone)
    encoder = transformers.RobertaModel(config).eval()
    heads = {n: torch.nn.Linear(32, w) for n, w in (("bin", 2), ("tri", 3), ("reg", 1))}
    encoder.save_pretrained(backbone)
    with torch.no_grad():
        for head in heads.values():
            head.weight.normal_()
            head.bias.normal_(std=0.1)
    classes = {
        "bin": ("not_entailment", "entailment"),
        "tri": ("entailment", "neutral", "contradiction"),
    }
    answers = {n: _align_answer(encoder, backbone, heads[n]) for n in heads}
    with torch.no_grad():
        for name, order in classes.items():
            places = oriented(answers[name], order)
            for parameter in heads[name].parameters():
                parameter.copy_(parameter[places].clone())
        values = [answers["reg"](p, h)[0] for (p, h), _ in PLAIN]
        towards = np.mean(values[:2]) - np.mean(values[2:])  # the first two are entailed
        scale = (1.0 if towards > 0 else -1.0) * 0.2 / np.std(values)
        heads["reg"].weight.mul_(scale)
        heads["reg"].bias.copy_(heads["reg"].bias * scale + 0.5 - scale * float(np.mean(values)))
    state = {f"base_model.{n}": t for n, t in encoder.state_dict().items()}
    for name, head in heads.items():
        state |= {f"{name}_layer.{n}": t for n, t in head.state_dict().items()}
    state |= {"mlm_head.bias": torch.zeros(7), "base_model.embeddings.position_ids": torch.ones(3)}
    checkpoint = {
        "epoch": 3,
        "global_step": 100,
        "pytorch-lightning_version": "1.7.7",
        "state_dict": state,
        "hyper_parameters": {"model": "tiny/roberta", "using_pretrained": True},
        "loops": {"fit_loop": {"state_dict": {}}},
    }
    file = folder / "AlignScore-tiny.ckpt"
    torch.save(checkpoint, file)
    return file, backbone


def _align_answer(encoder: Any, backbone: Path, head: Any) -> Callable[[str, str], Any]:
    import torch

    made = Tokenizer.from_file(str(backbone / "tokenizer.json"))

    def answer(premise: str, hypothesis: str) -> Any:
        ids = torch.tensor([made.encode(premise, hypothesis).ids])
        with torch.no_grad():
            outputs = head(encoder(input_ids=ids).pooler_output)[0].double()
        return outputs.softmax(0).numpy() if len(outputs) > 1 else outputs.numpy()

    return answer


def align_outputs(file: Path, backbone: Path, name: str) -> Callable[[str, str], Any]:
    """Softmax of head ``bin`` or ``tri``, or the value of ``reg``, straight from the ``.ckpt``."""
    import torch
    import transformers

    state = torch.load(file, weights_only=True)["state_dict"]
    encoder = transformers.RobertaModel(transformers.AutoConfig.from_pretrained(backbone)).eval()
    own = {n.removeprefix("base_model."): t for n, t in state.items() if n.startswith("base_")}
    encoder.load_state_dict(own, strict=False)
    weight = state[f"{name}_layer.weight"]
    head = torch.nn.Linear(32, len(weight))
    head.load_state_dict({p: state[f"{name}_layer.{p}"] for p in ("weight", "bias")})
    return _align_answer(encoder, backbone, head)
