"""PRISM with a tokenizer that marks languages, against transformers alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import veridical
from veridical.engine.engine import Engine


@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "code", "mark", "spelled", "broken"),
    [
        ("mbart", "en_XX", "en_XX", "de_DE", "d e_DE"),
        ("m2m", "en", "__en__", "so", "so"),
    ],
)
def test_the_language_token_is_given_and_does_not_count(
    tmp_path: Path, kind: str, code: str, mark: str, spelled: str, broken: str
) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    if kind == "m2m":
        pytest.importorskip("sentencepiece")
    import seq2seq_checkpoints

    folder = getattr(seq2seq_checkpoints, f"save_{kind}")(tmp_path / kind)
    row = {"response": "Paris is in France.", "reference": [f"The dog is {spelled} asleep."]}
    spec = f"prism(model='{folder}', language={code})"
    with Engine(processes=0) as engine:
        (found,) = veridical.check([row], spec, engine=engine)
        (wrong,) = veridical.check([row], f"prism(model='{folder}', language=xx)", engine=engine)
    (scored,) = found.scores.values()
    (failed,) = wrong.scores.values()
    assert failed.status == "failed" and "does not support the language 'xx'" in failed.reason

    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.src_lang = tokenizer.tgt_lang = code

    def mean(source: str, target: str) -> float:
        given = tokenizer([source], return_tensors="pt")
        labels = tokenizer(text_target=[target], return_tensors="pt")["input_ids"]
        token = tokenizer.convert_tokens_to_ids(mark)
        assert labels[0, 0] == token and given["input_ids"][0, 0] == token
        with torch.no_grad():
            logits = model(**given, labels=labels).logits[0].log_softmax(-1)
        return float(logits[range(1, labels.shape[1]), labels[0, 1:]].mean())

    reference = row["reference"][0].replace(spelled, broken)  # a text marks no language
    expected = (mean(reference, row["response"]) + mean(row["response"], reference)) / 2
    assert scored.raw["prism"] == pytest.approx(expected, abs=1e-5)
