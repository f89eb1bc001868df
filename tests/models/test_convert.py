"""``veridical models convert``: pickled weights to safetensors, and no more out of a pickle."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_command
from nli_checkpoints import judge
from published_checkpoints import CLAIMS, DOCUMENT, save_alignscore, save_critic, save_hhem

from veridical.errors import ModelError, UsageError
from veridical.models import convert as module
from veridical.models import load_nli
from veridical.models.convert import convert

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

PAIRS = [(DOCUMENT, claim) for claim in CLAIMS]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def pickled(folder: Path, shards: int = 1) -> Path:
    """``folder`` with its weights as repositories of old have them."""
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    if shards == 1:
        torch.save(tensors, folder / "pytorch_model.bin")
        return folder
    weight_map = {}
    for i in range(shards):
        file = f"pytorch_model-{i + 1:05}-of-{shards:05}.bin"
        own = names[i::shards]
        torch.save({n: tensors[n] for n in own}, folder / file)
        weight_map |= dict.fromkeys(own, file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return folder


@pytest.mark.parametrize("shards", [1, 3])
def test_a_folder_with_pickled_weights(shards: int, tmp_path: Path) -> None:
    folder = save_critic(tmp_path / "critic")
    before = judge(load_nli(f"critic:{folder}", device="cpu"), PAIRS)
    pickled(folder, shards)
    made = convert(str(folder), out=tmp_path / "made")
    assert not list(made.glob("*.bin*")) and (made / "model.safetensors").is_file()
    np.testing.assert_allclose(judge(load_nli(f"critic:{made}", device="cpu"), PAIRS), before)
    with pytest.raises(UsageError, match="exists"):
        convert(str(folder), out=made)
    with pytest.raises(UsageError, match="--out"):
        convert(str(folder))


def test_a_hub_id_is_then_found_in_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pickled(save_critic(tmp_path / "0123abcd"))
    asked = []

    def snapshot(name: str, **options: Any) -> str:
        asked.append((name, options.get("allow_patterns")))
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    with pytest.raises(ModelError, match=r"no weights in safetensors.*models convert McGill-NLP/"):
        load_nli("critic")
    made = convert("McGill-NLP/roberta-large-faithcritic")
    assert made == cache / "models" / "McGill-NLP--roberta-large-faithcritic"
    assert json.loads((made / "conversion.json").read_text()) == {
        "source": "McGill-NLP/roberta-large-faithcritic",
        "commit": "0123abcd",
    }
    count = len(asked)
    model = load_nli("critic", device="cpu")
    assert len(asked) == count and model.name == made.name
    with pytest.raises(ModelError, match="no weights in safetensors"):  # that very revision
        load_nli("critic?revision=0123abcd")


def test_safetensors_are_copied_and_a_tokenizer_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_hhem(tmp_path / "hhem")
    before = judge(load_nli(f"hhem:{folder}", device="cpu"), PAIRS)
    foundation = tmp_path / "flan"
    foundation.mkdir()
    (folder / "tokenizer.json").rename(foundation / "tokenizer.json")
    (foundation / "config.json").write_text('{"model_type": "t5"}')
    asked = []

    def snapshot(name: str, **_: Any) -> str:
        asked.append(name)
        return str(foundation)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    np.testing.assert_allclose(judge(load_nli(f"hhem:{folder}", device="cpu"), PAIRS), before)
    made = convert(str(folder), out=tmp_path / "made")
    assert set(asked) == {"google/flan-t5-base"} and not (made / "own.py").exists()
    assert json.loads((made / "config.json").read_text())["model_type"] == "HHEMv2"
    np.testing.assert_allclose(judge(load_nli(f"hhem:{made}", device="cpu"), PAIRS), before)


class Trap:
    """Runs a command when it is unpickled by a reader that lets it."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self) -> Any:
        return (os.system, (f"touch {self.sign}",))


def test_code_in_a_pickle_is_not_run(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    folder = save_critic(tmp_path / "critic")
    (folder / "model.safetensors").unlink()
    torch.save({"a": Trap(sign)}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="has other content than tensors"):
        convert(str(folder), out=tmp_path / "made")
    file, backbone = save_alignscore(tmp_path)
    checkpoint = torch.load(file, weights_only=True) | {"callbacks": Trap(sign)}
    torch.save(checkpoint, file)
    with pytest.raises(ModelError, match="has other content than tensors"):
        convert(str(file), out=tmp_path / "made", backbone=str(backbone))
    assert not sign.exists() and not (tmp_path / "made").exists()
    assert not list(tmp_path.glob(".convert-*"))


def test_what_is_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, backbone = save_alignscore(tmp_path)
    whole = torch.load(file, weights_only=True)

    def refused(content: Any, why: str, **options: Any) -> None:
        torch.save(content, file)
        with pytest.raises(ModelError, match=why):
            convert(str(file), out=tmp_path / "made", **options)
        assert not (tmp_path / "made").exists()

    given = {"backbone": str(backbone)}
    refused({"epoch": 1}, "no state_dict", **given)
    refused([1], "no table of tensors", **given)
    state = {k: v for k, v in whole["state_dict"].items() if not k.startswith("tri_")}
    refused({"state_dict": state}, r"no tensors tri_layer\.\*", **given)
    broken = whole["state_dict"] | {"tri_layer.bias": "text"}
    refused({"state_dict": broken}, r"tri_layer\.bias is not a tensor", **given)
    for told in ("/etc", "../../etc", "~/.ssh", None, 3):  # a file does not choose our folders
        refused(whole | {"hyper_parameters": {"model": told}}, "set --backbone")
    file.write_bytes(b"PK\x03\x04 not a checkpoint")
    with pytest.raises(ModelError, match="damaged"):
        convert(str(file), out=tmp_path / "made", **given)
    with pytest.raises(ModelError, match="no such file"):
        convert(str(tmp_path / "absent.ckpt"))
    with pytest.raises(ModelError, match=r"neither safetensors nor pytorch_model\.bin"):
        (tmp_path / "empty").mkdir()
        convert(str(tmp_path / "empty"), out=tmp_path / "made")
    monkeypatch.setattr(module, "version", lambda _: "2.5.1")
    with pytest.raises(ModelError, match=r"torch 2\.6"):
        convert(str(file), out=tmp_path / "made", **given)


def test_the_published_alignscore_by_its_name(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, backbone = save_alignscore(tmp_path)
    asked = []

    def download(repository: str, name: str) -> str:
        asked.append((repository, name))
        return str(file)

    def snapshot(name: str, **options: Any) -> str:
        asked.append(name)
        assert "*.safetensors" not in options["allow_patterns"]
        return str(backbone)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    made = convert("alignscore-large")
    assert asked == [("yzha/AlignScore", "AlignScore-large.ckpt"), "tiny/roberta"]
    assert made == cache / "models" / "alignscore-large"
    model = load_nli("alignscore-large?mode=nli", device="cpu")
    assert model.name == "alignscore-large" and model.contradicts


def test_from_checkpoint_to_scores_by_the_command_line(tmp_path: Path, cache: Path) -> None:
    file, backbone = save_alignscore(tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_command(
            *arguments, cwd=tmp_path, env={"VERIDICAL_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}
        )

    done = run("models", "convert", str(file), "--backbone", str(backbone), "--out", "made")
    assert done.returncode == 0, done.stderr
    (tmp_path / "rows.jsonl").write_text(
        json.dumps({"response": " ".join(CLAIMS), "contexts": [DOCUMENT]}) + "\n"
    )
    scorers = "alignscore(nli='alignscore:./made')"
    done = run("check", "rows.jsonl", "--scorers", scorers, "--json", "-", "--store", "none")
    assert done.returncode == 0, done.stderr
    (score,) = json.loads(done.stdout)["scores"].values()
    model = load_nli(f"alignscore:{tmp_path / 'made'}", device="cpu")
    expected = judge(model, [(DOCUMENT, " ".join(CLAIMS))])[0, 0]
    assert score["raw"] == pytest.approx(float(expected), abs=1e-5)
    assert f"|nli:made@{model.revision}|" in score["signature"]

    done = run("check", "rows.jsonl", "--scorers", "hhem", "--json", "-", "--store", "none")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    said = " ".join(done.stderr.split())
    assert "veridical models convert vectara/hallucination_evaluation_model" in said
