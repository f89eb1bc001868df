"""The training of checkers, on a tiny Qwen2: files, figures, and agreement with llama.cpp."""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gguf_files
import numpy as np
import pytest
from training_scripts import training_script

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")
pytest.importorskip("gguf")
pytestmark = pytest.mark.torch

CHAT = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|endoftext|>", "<|user|>", "<|assistant|>", "<|end|>"]
PLACES = ("Oslo", "Rome", "Bern", "Lima")


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("checker_lora") as checker_lora, pytest.MonkeyPatch.context() as patch:
        exact = (torch.device("cpu"), torch.float32)
        patch.setattr(checker_lora, "device_of", lambda _: exact)
        yield checker_lora


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("base") / "tiny.gguf", gguf_files.F32)


def tiny(path: Path, packing: int) -> Path:
    """A random model whose vocabulary has each answer as a token."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    text = "Yes No Unknown Document: Statement: according whole lives in " + " ".join(PLACES)
    made.train_from_iterator(
        [f"{word}\n{word} {word}" for word in text.split()] * 9,
        BpeTrainer(
            vocab_size=400,
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokens = sorted(made.get_vocab(), key=made.get_vocab().get)
    told = {
        "qwen2.context_length": 1024,
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if t in SPECIAL else 1 for t in tokens],
        "tokenizer.ggml.merges": gguf_files.made_merges(made),
        "tokenizer.chat_template": CHAT,
    }
    with pytest.MonkeyPatch.context() as patch:  # llama.cpp wants heads that fill the width
        patch.setattr(gguf_files, "HEADS", 3)
        patch.setattr(gguf_files, "GROUPS", 1)
        return gguf_files.save(path, "qwen2", packing=packing, **told)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Who lives where; another place is contradicted."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(48):
        here, there = rng.permutation(PLACES)[:2]
        document = f"Ada {i % 8} lives in {here}."
        for place, label in ((here, "supported"), (there, "contradicted")):
            rows.append(
                {
                    "document": document,
                    "statement": f"Ada lives in {place}.",
                    "label": label,
                    "source": "places",
                }
            )
    folder = tmp_path / "data"
    folder.mkdir()
    for name, some in (("train", rows[:80]), ("dev", rows[80:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in some))
    return folder


def arguments(base: Path | str, data: Path, out: Path, *more: str) -> list[str]:
    return ["--base", str(base), "--data", str(data), "--out", str(out), "--minutes", "9",
            "--tokens", "600", "--rank", "4", "--alpha", "8", "--threads", "1", *more]  # fmt: skip


def checker(module: ModuleType, base: Path, tmp_path: Path) -> Any:
    args = module._parser().parse_args(arguments(base, tmp_path, tmp_path))
    made = module.Checker(base, args)
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in made.trained:  # as if trained: B is 0 before
            scale = 0.2 if "lora_B" in name else 0.1
            parameter.copy_((scale * torch.randn_like(parameter)).half().float())
    return made


STATEMENTS = ("Ada lives in Oslo.", "Ada lives in Rome, they say.", "No whole document.")


def test_statements_of_a_document_are_read_as_if_alone(
    module: ModuleType, base: Path, tmp_path: Path
) -> None:
    import checker_rows

    made = checker(module, base, tmp_path)
    encode = checker_rows.encoder(made.tokenizer)
    rows = [{"document": "Ada lives in Oslo.", "statement": s, "label": "supported", "source": ""}
            for s in STATEMENTS]  # fmt: skip
    other = [{**rows[0], "document": "Bern."}]
    together = checker_rows.trees(rows, encode, 1000, 0) + checker_rows.trees(other, encode, 999, 0)
    assert [len(tree.branches) for tree in together] == [3, 1]
    assert len(together[0]) < sum(len(encode(r["document"], r["statement"])) for r in rows) / 1.5
    one = checker_rows.batch(together)
    with torch.inference_mode():
        found = made.log_probabilities(one)
        for values, (tree, branch) in zip(
            found, [(t, b) for t in together for b in t.branches], strict=True
        ):
            alone = checker_rows.batch([checker_rows.Tree(tree.trunk, [branch])])
            assert torch.allclose(values, made.log_probabilities(alone)[0], atol=1e-4)


def test_products_and_gradients_are_those_of_peft(
    module: ModuleType, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import checker_rows

    fused = checker(module, base, tmp_path)
    monkeypatch.setattr(module, "fuse", lambda _: None)
    plain = checker(module, base, tmp_path)
    encode = checker_rows.encoder(fused.tokenizer)
    rows = [{"document": "Ada lives in Oslo.", "statement": s, "label": "supported", "source": ""}
            for s in STATEMENTS]  # fmt: skip
    one = checker_rows.batch(checker_rows.trees(rows, encode, 1000, 0))
    values = []
    for made in (fused, plain):
        found = made.log_probabilities(one)
        module.losses(found, one.branches).mean().backward()
        values.append(found.detach())
    assert torch.allclose(*values, atol=1e-5)
    assert len(fused.trained) == len(plain.trained) > 0
    for (name, ours), (_, theirs) in zip(fused.trained, plain.trained, strict=True):
        assert theirs.grad is not None and theirs.grad.abs().max() > 0, name
        assert torch.allclose(ours.grad, theirs.grad, rtol=1e-3, atol=1e-6), name


@pytest.mark.local
@pytest.mark.parametrize(
    ("packing", "within"),
    # llama.cpp rounds what it multiplies by 8-bit weights to 8 bits, too
    [(gguf_files.F32, 0.02), (gguf_files.Q8_0, 0.3)],
    ids=["f32", "q8_0"],
)
def test_llama_cpp_tells_the_probabilities_that_peft_does(
    module: ModuleType, packing: int, within: float, tmp_path: Path
) -> None:
    pytest.importorskip("xllamacpp")
    import checker_rows
    import httpx

    from veridical.llm.local import LocalModel, LocalServer
    from veridical.prompts import load_prompt
    from veridical.weights.checkers import Adapter

    packed = tiny(tmp_path / "tiny.gguf", packing)
    made = checker(module, packed, tmp_path)
    made.save(tmp_path / "adapter.gguf")
    encode = checker_rows.encoder(made.tokenizer)
    document = "Ada lives in Oslo. Unknown whole."
    rows = [{"document": document, "statement": s, "label": "supported"} for s in STATEMENTS]
    trees = checker_rows.trees(rows, encode, 1000, 0)
    with torch.inference_mode():
        expected = made.log_probabilities(checker_rows.batch(trees)).numpy()
        made.model.disable_adapter_layers()
        without = made.log_probabilities(checker_rows.batch(trees)).numpy()
    assert np.abs(expected - without).max() > 4 * within  # the adapter counts
    prompt = load_prompt(checker_rows.TEMPLATE)
    adapter = Adapter(tmp_path / "adapter.gguf", "", 0.0, 1.0)
    with LocalServer(LocalModel("tiny", packed, 1024, 1, 1, adapter)) as server:
        for branch, values in zip(trees[0].branches, expected, strict=True):
            messages = prompt.messages(document=document, statement=rows[branch.row]["statement"])
            asked = {"messages": messages, "max_tokens": 1, "temperature": 0, "logprobs": True}
            reply = httpx.post(
                f"{server.url}/chat/completions",
                json=asked | {"top_logprobs": 400},
                timeout=60,
            ).json()
            assert reply["usage"]["prompt_tokens"] == len(trees[0].trunk) + len(branch.ids)
            (token,) = reply["choices"][0]["logprobs"]["content"]
            told = {t["token"]: t["logprob"] for t in token["top_logprobs"]}
            assert [told[a] for a in checker_rows.ANSWERS] == pytest.approx(values, abs=within)


def test_it_learns_and_goes_on(
    module: ModuleType, base: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    content = base.read_bytes()
    for i in range(11):  # part10 comes after part9
        size = len(content) // 11 + 1
        (folder / f"part{i}.bin").write_bytes(content[i * size : (i + 1) * size])
    out = tmp_path / "run"
    module.main(arguments(folder, data, out, "--steps", "30", "--rate", "0.01", "--parts"))
    assert (out / "base.gguf").read_bytes() == content
    state = json.loads((out / "state.json").read_text())
    first, last = state["curve"][0], state["curve"][-1]
    assert state["step"] == 30 and last["loss"] < first["loss"]
    parts = sorted(out.glob("adapter.gguf.part*"))
    assert b"".join(p.read_bytes() for p in parts) == (out / "adapter.gguf").read_bytes()
    told = json.loads((out / "checker.json").read_text())
    assert told["base"]["sha256"] == module.digest(base)
    assert told["sha256"] == module.digest(out / "best.gguf") and len(told["calibration"]) == 2
    module.main(arguments(base, data, out, "--steps", "2", "--resume", str(out)))
    assert json.loads((out / "state.json").read_text())["step"] == 32
    assert "resuming after step 30" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="alpha is 8"):
        module.main([*arguments(base, data, out, "--resume", str(parts[0])), "--alpha", "3"])


def test_a_run_that_is_told_to_stop_saves_and_a_restart_warms_up(
    module: ModuleType, base: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    step = module.Run._step

    def counted(run: Any, one: Any, rate: float) -> float:
        rates.append(rate)
        if len(rates) == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(run, one, rate)

    monkeypatch.setattr(module.Run, "_step", counted)
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    out = tmp_path / "run"
    try:
        module.main(arguments(base, data, out, "--steps", "20", "--rate", "0.01"))
        assert json.loads((out / "state.json").read_text())["step"] == 4
        saved = module.digest(out / "adapter.gguf")
        module.main(
            arguments(base, data, out, "--steps", "20", "--rate", "0.01", "--resume", str(out))
        )
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)
    assert json.loads((out / "state.json").read_text())["step"] == 24
    assert module.digest(out / "adapter.gguf") != saved
    assert rates[4] == pytest.approx(rates[0], rel=0.05)
    assert rates[4] < max(rates[5:]) / 10 and rates[-1] < max(rates) / 5


def test_supported_rows_and_the_others_of_a_part_weigh_alike(module: ModuleType) -> None:
    import checker_rows

    def rows(kind: str, label: str, count: int) -> list[dict[str, Any]]:
        return [{"kind": kind, "label": label}] * count

    some = [*rows("a", "supported", 3), *rows("a", "not_stated", 1), *rows("b", "supported", 2)]
    weights = checker_rows.weights_of(some)
    assert sum(weights[:3]) == pytest.approx(weights[3]) and weights[4:] == [1.0, 1.0]
    assert sum(weights) == pytest.approx(len(some))
    rare = checker_rows.weights_of([*rows("a", "supported", 99), *rows("a", "not_stated", 1)])
    assert rare[-1] == checker_rows._HEAVIEST


def test_the_loss_is_that_of_the_right_answers(module: ModuleType) -> None:
    import checker_rows

    log_p = torch.log(torch.tensor([[0.5, 0.2, 0.1]] * 4))
    labels = ("supported", "contradicted", "not_stated", "not_supported")
    branches = [checker_rows.Branch([1], label, 2.0, 0) for label in labels]
    expected = [-2 * math.log(p) for p in (0.5, 0.2, 0.1, 0.3)]
    assert module.losses(log_p, branches).tolist() == pytest.approx(expected)
    odds = module.log_odds(np.log([[0.5, 0.2, 0.1], [1.0, 1e-9, 1e-9]]))
    assert odds == pytest.approx([math.log(0.3 / 0.5), -math.log(999)])


def test_figures_worked_out_by_hand(module: ModuleType) -> None:
    rows = [{"label": label, "source": "a"} for label in ("supported", "supported", "not_stated")]
    rows += [{"label": "supported", "source": "b"}]  # one label alone is no source to mean over
    found = module.figures(rows, np.array([-1.0, 0.5, 0.2, 3.0]))
    assert found["parts"] == {"a": [0.5, 3]} and found["macro_auroc"] == 0.5
    assert found["macro_balanced_accuracy"] == 0.75  # wrong 1 of 1, right 1 of 2
    assert found["auroc"] == pytest.approx(1 / 3, abs=1e-4)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("avx2 avx512f avx512_bf16", torch.float32),  # slower in bfloat16
        ("amx_tile amx_bf16", torch.bfloat16),
        ("avx2 avx512f avx512_vnni", torch.float32),
        (None, torch.float32),  # no such file
    ],
)
def test_the_type_of_products_is_the_processors(
    flags: str | None, expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with training_script("checker_lora") as checker_lora:
        known = tmp_path / "cpuinfo"
        if flags is not None:
            known.write_text(f"processor\t: 0\nflags\t\t: fpu {flags} sse2\n")
        monkeypatch.setattr(checker_lora, "CPU_INFO", known)
        assert checker_lora.device_of("cpu") == (torch.device("cpu"), expected)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert checker_lora.device_of("auto") == (torch.device("cpu"), expected)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        cuda = torch.device("cuda"), torch.bfloat16
        assert checker_lora.device_of("auto") == checker_lora.device_of("cuda") == cuda


def test_on_a_cpu_the_time_worked_counts(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked, passed = iter([10.0, 16.0]), iter([100.0, 900.0])
    monkeypatch.setattr(module.time, "process_time", lambda: next(worked))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(passed))
    monkeypatch.setattr(module.torch, "get_num_threads", lambda: 2)
    assert module.Clock(torch.device("cpu"))() == 3.0
    assert module.Clock(torch.device("cuda"))() == 800.0
