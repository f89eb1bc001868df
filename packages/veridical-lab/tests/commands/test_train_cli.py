"""``veridical train halludetect`` as a command, from labelled records to a score."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from byte_gpt2 import byte_gpt2
from commands import run_command
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "some", "dogs", "run", "away"]


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=cwd)


def labelled(path: Path, n: int = 400, seed: int = 0, answers: int = 2) -> list[dict[str, Any]]:
    """Records of which the hallucinated have less likely tokens; ``answers`` a prompt."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        wrong = bool(rng.random() < 0.4)
        logs = -rng.gamma(0.8 if wrong else 0.4, 1.0, rng.integers(4, 20))
        tokens = [
            {
                "token": (" " if j else "") + str(rng.choice(WORDS)),
                "logprob": float(v),
                "top": [
                    {"token": "x", "logprob": float(max(v, np.log(0.6 - 0.5 * np.exp(v))))},
                    {"token": "y", "logprob": -4.0},
                ],
            }
            for j, v in enumerate(logs)
        ]
        rows.append(
            {
                "id": i,
                "prompt": f"question {i // answers}",
                "response": "".join(t["token"] for t in tokens),
                "logprobs": tokens,
                "label": wrong,
            }
        )
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return rows


def by_hand(row: dict[str, Any]) -> list[float]:
    p = [np.exp(t["logprob"]) for t in row["logprobs"]]
    top = [max(np.exp(t["top"][0]["logprob"]), q) for t, q in zip(row["logprobs"], p, strict=True)]
    return [min(p), np.mean(p), max(np.subtract(top, p)), min(top)]


def test_train_then_score(tmp_path: Path) -> None:
    rows = labelled(tmp_path / "labelled.jsonl")
    done = run(
        *("train", "halludetect", "labelled.jsonl", "--out", "model.json", "--json", "-"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["n_total"], told["n_train"], told["n_held_out"]) == (400, 320, 80)
    methods = {r["method"] for r in told["rows"]}
    assert methods == {
        "halludetect",
        "constant (training share)",
        "always hallucinated",
        "response length",
    }
    figures = {(r["method"], r["metric"]): r for r in told["rows"]}
    assert figures["constant (training share)", "average_precision"]["value"] == pytest.approx(
        told["prevalence"]
    )
    assert figures["halludetect", "auroc"]["value"] > 0.7
    for row in figures.values():
        assert row["ci_low"] <= row["value"] <= row["ci_high"] or row["metric"] == "ece"
    assert "average_precision" in done.stderr and "80 records held out" in done.stderr

    # the model it kept scores as it was measured, on records it was not trained on
    spec = "halludetect(model='model.json')"
    done = run(
        *("check", "labelled.jsonl", "--scorers", spec, "--json", "-", "--store", "none"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    scores = [next(iter(json.loads(line)["scores"].values())) for line in done.stdout.splitlines()]
    x = np.array([by_hand(r) for r in rows])
    assert np.array([[s["raw"][n] for n in ("mtp", "avgtp", "mpd", "mps")] for s in scores]) == (
        pytest.approx(x)
    )
    # scikit-learn on the same records agrees on the order of all of them
    truth = np.array([r["label"] for r in rows])
    reference = LogisticRegression().fit((x - x.mean(0)) / x.std(0), truth)
    odds = [s["raw"]["log_odds"] for s in scores]
    expected = reference.decision_function((x - x.mean(0)) / x.std(0))
    assert np.corrcoef(odds, expected)[0, 1] > 0.99


def test_figures_are_those_of_the_held_out_records(tmp_path: Path) -> None:
    from veridical_lab.scorers.halludetect_train import LabelledAnswer, train

    rng = np.random.default_rng(0)
    n = 300
    truth = (rng.random(n) < 0.5).astype(float)
    x = rng.random((n, 4)) + 0.3 * truth[:, None]
    groups = np.arange(n) // 3
    data = LabelledAnswer(x, truth, groups, rng.random(n), n, {})
    for kind in ("logistic", "network"):
        made = train(data, kind, seed=5, bootstrap=50, epochs=20)
        names = np.unique(groups)
        drawn = np.random.default_rng(5).permutation(names)[:20]
        test = np.isin(groups, drawn)
        assert made.n_held_out == test.sum() == 60 and made.n_train == 240
        risk = made.detector.risk(x[test])
        figures = {r.metric: r.value for r in made.rows if r.method == "halludetect"}
        assert figures["auroc"] == pytest.approx(roc_auc_score(truth[test], risk))
        assert figures["average_precision"] == pytest.approx(
            average_precision_score(truth[test], risk)
        )
        assert figures["brier"] == pytest.approx(brier_score_loss(truth[test], risk))
        # nothing of what is held out has a part in it: other values there, the same classifier
        spoiled = np.where(test[:, None], 99.0, x)
        again = train(
            LabelledAnswer(spoiled, truth, groups, data.length, n, {}),
            kind,
            seed=5,
            bootstrap=0,
            epochs=20,
        )
        assert (again.detector.log_odds(x) == made.detector.log_odds(x)).all()


def test_the_network(tmp_path: Path) -> None:
    labelled(tmp_path / "labelled.jsonl", n=200)
    done = run(
        *("train", "halludetect", "labelled.jsonl", "--kind", "network", "--epochs", "30"),
        *("--out", "model.safetensors", "--bootstrap", "0", "--store", "none"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    spec = "halludetect(model='model.safetensors')"
    done = run("check", "labelled.jsonl", "--scorers", spec, "--json", "-", cwd=tmp_path)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 200, done.stderr


def test_records_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    rows = labelled(tmp_path / "labelled.jsonl", n=200)
    del rows[0]["label"]
    rows[1]["logprobs"] = None
    rows[2]["response"] += " more"
    for token in rows[3]["logprobs"]:
        del token["top"]
    text = "".join(json.dumps(r) + "\n" for r in rows) + '{"prompt": 3}\n'
    (tmp_path / "labelled.jsonl").write_text(text)
    done = run(
        *("train", "halludetect", "labelled.jsonl", "--out", "m.json", "--bootstrap", "0"),
        *("--json", "told.json"),
        cwd=tmp_path,
    )
    assert done.returncode == 2  # coverage 196 / 201
    told = json.loads((tmp_path / "told.json").read_text())
    assert (told["n_total"], told["n_features"]) == (201, 196)
    reasons = " | ".join(told["missing"])
    for why in ("no label", "no logprobs", "do not spell the text", "likeliest token", "bad row"):
        assert why in reasons and why in done.stderr
    assert (tmp_path / "m.json").is_file() and "coverage 97.5 %" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "model.pkl"), "must end in .json or .safetensors"),
        (("--out", "nowhere/model.json"), "its folder must exist"),
        (("--out", "labelled.json"), "it is an input"),
        (("--out", "m.json", "--limit", "12"), "it needs 10 of each"),
        (("--out", "m.json", "--proxy", "no-such-model"), "no-such-model"),
        ((), "--out"),
    ],
)
def test_usage_errors(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    labelled(tmp_path / "labelled.json", n=30)
    done = run("train", "halludetect", "labelled.json", *options, cwd=tmp_path)
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr


def test_help_shows_an_example(tmp_path: Path) -> None:
    assert "halludetect" in run("train", "--help", cwd=tmp_path).stdout
    assert "labelled.jsonl" in run("train", "halludetect", "--help", cwd=tmp_path).stdout


@pytest.mark.torch
def test_by_a_proxy_that_reads_each_token_after_those_before_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    folder = byte_gpt2(
        tmp_path / "proxy", n_positions=256, n_embd=32, n_layer=2, initializer_range=0.4
    )
    rows = labelled(tmp_path / "labelled.jsonl", n=120)
    for row in rows:
        del row["logprobs"]
    (tmp_path / "labelled.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    proxy = ("--proxy", str(folder))
    done = run(
        *("train", "halludetect", "labelled.jsonl", *proxy, "--out", "m.json", "--bootstrap", "0"),
        *("--held-out", "0.4"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    spec = "halludetect(model='m.json')"
    done = run(
        *("check", "labelled.jsonl", "--scorers", spec, *proxy, "--json", "-", "--limit", "5"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for row, line in zip(rows, lines, strict=False):
        (score,) = line["scores"].values()
        expected = reference_features(torch, folder, f"{row['prompt']}\n\n", row["response"])
        found = [score["raw"][n] for n in ("mtp", "avgtp", "mpd", "mps")]
        assert found == pytest.approx(expected, abs=1e-5)


def reference_features(torch: Any, folder: Path, prompt: str, text: str) -> list[float]:
    """The four features by a plain forward of transformers: p(x_t | x_<t)."""
    import transformers
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    before, after = made.encode(prompt).ids, made.encode(text).ids
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(torch.tensor([before + after])).logits[0].double()
    p = torch.softmax(logits[len(before) - 1 : -1], dim=-1)
    own = p[torch.arange(len(after)), torch.tensor(after)]
    high, low = p.max(dim=-1).values, p.min(dim=-1).values
    return [
        float(own.min()),
        float(own.mean()),
        float((high - own).max()),
        float((high - low).min()),
    ]
