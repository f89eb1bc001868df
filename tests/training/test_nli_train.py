"""The training of the NLI cross-encoder, on a tiny MPNet: what it learns from, and going on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from training_scripts import training_script

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("nli_train") as nli_train, pytest.MonkeyPatch.context() as patch:
        import nli_stages  # type: ignore[import-not-found]

        small = nli_stages.Stage(
            {"people": 1.0, nli_stages.GENERATED: 1.0, nli_stages.TYPED: 1.0},
            peak_rate=5e-3,
            forced=0.3,
            joined=0.0,
            premise_words=0,
            kept=0.0,
            words=1.0,
            batch_tokens=256,
        )
        patch.setitem(nli_stages.STAGES, "base", small)
        yield nli_train


def train(
    module: ModuleType,
    source: Path,
    data: Path,
    output: Path,
    *more: str | Path,
    stage: str = "base",
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        arguments = [source, data, data / "generated.jsonl", output, "--stage", stage, *more]
        patch.setattr(sys, "argv", ["nli_train.py", *map(str, arguments)])
        module.main()


def test_it_learns_the_label_and_the_wrong_word(
    module: ModuleType, source: Path, data: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    train(module, source, data, output, "--layers", "2", "--epochs", "8")
    report = json.loads((output / "calibration.json").read_text())
    assert report["held_out"]["typed_entity"]["accuracy"] == 1.0
    assert report["words"]["auroc"] > 0.99 and 0.0 < report["words"]["wrong"] < 0.2
    assert json.loads((output / "config.json").read_text())["num_hidden_layers"] == 2
    again = module.Reader(output)  # and a later stage begins with both
    row = {
        "premise": "Eva lives in Rome .",
        "hypothesis": "Eva lives in Oslo .",
        "label": "neutral",
    }
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(output / "tokenizer.json"))
    (pair,) = module.tokenized([row], tokenizer, "people", module.STAGES["base"])
    logits, (odds,) = module.read_all(again, [pair])
    assert logits.argmax().item() == 2  # contradiction
    assert tokenizer.id_to_token(int(pair.ids[odds.argmax()])) == "oslo"
    # plain transformers reads the checkpoint too
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(output).eval()
    inputs = module.tensors([pair], again)[0]
    assert torch.allclose(plain(**inputs).logits, logits, atol=1e-5)


def test_an_interrupted_run_goes_on_and_ends_the_same(
    module: ModuleType, source: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(module, source, data, tmp_path / "whole", "--tokens", "4000")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SAVE_EVERY", -1.0)
        real, count = module.loss_of, iter(range(10_000))

        def interrupted(*given: Any) -> Any:
            if next(count) == 7:
                raise KeyboardInterrupt
            return real(*given)

        patch.setattr(module, "loss_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(module, source, data, tmp_path / "parted", "--tokens", "4000")
    capsys.readouterr()
    train(module, source, data, tmp_path / "parted", "--tokens", "4000")
    assert "resuming from batch 7" in capsys.readouterr().out
    whole, parted = (module.Reader(tmp_path / name).state_dict() for name in ("whole", "parted"))
    assert all(torch.allclose(whole[k], parted[k], atol=1e-6) for k in whole)
    with pytest.raises(SystemExit, match="batches"):
        train(module, source, data, tmp_path / "parted", "--tokens", "2000")


def test_what_is_told_of_words(module: ModuleType, source: Path) -> None:
    import nli_reader  # type: ignore[import-not-found]
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))

    def told(**row: Any) -> list[int]:
        encoded = tokenizer.encode("Ada is in Rome", "Bob is in Rome")
        return nli_reader.wrong_tokens(row, encoded).tolist()  # type: ignore[no-any-return]

    unknown = [-1] * 7  # <s>, four words, </s> </s>
    assert told(label="entailment") == [*unknown, 0, 0, 0, 0, -1]
    assert told(label="neutral", spans=[[0, 3]]) == [*unknown, 1, 0, 0, 0, -1]
    assert told(label="contradiction", spans=[]) == [-1] * 12  # a word is missing
    assert told(label="contradiction") == [-1] * 12


def test_written_documents_are_a_source_of_their_own(module: ModuleType, data: Path) -> None:
    names = (module.DOCUMENTS, module.WRITTEN, module.LONG)
    stage = replace(module.STAGES["base"], mixture=dict.fromkeys(names, 1.0))
    generated, documents = data / "generated.jsonl", data / "documents.jsonl"
    rows = [json.loads(line) for line in generated.read_text().splitlines()[:80]]
    kinds = ("document_written", "document_table", "document_now", "document_written_long")
    parts = [row | {"source": kinds[i % 4]} for i, row in enumerate(rows)]
    documents.write_text("".join(json.dumps(row) + "\n" for row in parts))
    made = {module.DOCUMENTS: documents}
    found = {n: [*t, *h] for n, t, h in module.sources(data, generated, made, stage, 0)}
    assert {r["source"] for r in found[module.WRITTEN]} == {"document_written"}
    assert {r["source"] for r in found[module.DOCUMENTS]} == set(kinds[1:3])
    assert {r["source"] for r in found[module.LONG]} == set(kinds[3:])
    assert [len(found[name]) for name in names] == [40, 20, 20]
    for name in names:
        alone = replace(stage, mixture={name: 1.0})
        with pytest.raises(SystemExit, match="--documents FILE"):
            list(module.sources(data, generated, {module.DOCUMENTS: None}, alone, 0))


def test_edited_rows_are_a_source_of_their_own(module: ModuleType, data: Path) -> None:
    names = (module.GENERATED, module.TYPED, module.EDITED, module.BOUND)
    stage = replace(module.STAGES["base"], mixture=dict.fromkeys(names, 1.0))
    generated = data / "generated.jsonl"
    edited = data / "edited.jsonl"
    edited.write_text("".join(generated.read_text().splitlines(keepends=True)[:100]))
    made = {module.EDITED: edited, module.BOUND: edited}
    found = {n: (t, h) for n, t, h in module.sources(data, generated, made, stage, 0)}
    assert list(found) == list(names) and found[module.GENERATED] == ([], [])
    assert len(found[module.EDITED][0]) + len(found[module.EDITED][1]) == 100
    assert all(r["source"] == "typed_entity" for r in found[module.TYPED][0])
    assert found[module.BOUND] == found[module.EDITED]
    for missing in made:
        with pytest.raises(SystemExit, match=f"--{missing} FILE"):
            list(module.sources(data, generated, made | {missing: None}, stage, 0))
    bound = module.STAGES["bound"]
    assert bound.mixture[module.BOUND] > 0 and bound.words > 0
