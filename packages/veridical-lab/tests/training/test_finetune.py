"""A tiny encoder fine-tuned on labelled claims, and what it is then worth as an NLI model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import run_command
from nli_checkpoints import save

from veridical.errors import ModelError, UsageError
from veridical.models import LABELS, Pair, load_nli
from veridical_lab.training.finetune import classes_of, fine_tune
from veridical_lab.training.labelled_pairs import LabelledPair, LabelledPairs

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SAID = {
    "entailment": "Paris is in France",
    "neutral": "Nobody knows why",
    "contradiction": "The dog is asleep",
    "not_entailment": "The dog is asleep",
}
OPTIONS = {"rate": 1e-3, "epochs": 10, "bootstrap": 50, "device": "cpu"}


def labelled(n=400, labels=LABELS, weights=None):
    rng = np.random.default_rng(0)
    drawn = rng.choice(labels, n, p=weights)
    places = ["the tower", "the stage", "the sofa", "the committee"]
    return LabelledPairs(
        tuple(
            LabelledPair(f"{rng.choice(places)} {i}.", f"{SAID[d]} {i % 9}", str(d))
            for i, d in enumerate(drawn)
        ),
        {},
    )


def figures(made):
    return {(r.method, r.metric): r.value for r in made.figures}


@pytest.mark.parametrize("kind", ["bert", "deberta"])
def test_it_learns_and_loads_as_an_nli_model(kind, tmp_path):
    base = save(tmp_path / "base", kind, names=None, classes=5)  # no NLI head: a new one
    data = labelled(600, weights=[0.6, 0.25, 0.15])
    seen = []
    made = fine_tune(
        data,
        str(base),
        tmp_path / "mine",
        progress=lambda *x: seen.append(x),
        **(OPTIONS | {"epochs": 20}),  # each run has a tokenizer of its own, and some learn slowly
    )
    found = figures(made)
    assert made.classes == LABELS and made.n_train + made.n_validation + made.n_held_out == 600
    assert found["checker", "macro_f1"] > 0.8 and found["majority", "accuracy"] > 0.5
    assert seen[-1][0] == seen[-1][1] == len(seen)
    assert made.loss[made.epoch - 1] == min(made.loss)
    names = {p.name for p in (tmp_path / "mine").iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "calibration.json"} <= names
    assert not any(n.endswith((".bin", ".pt", ".pkl")) for n in names)

    # by plain transformers: same classes, same probabilities
    model = load_nli(str(tmp_path / "mine"), device="cpu")
    pairs = [Pair("the tower 3.", f"{SAID[label]} 3") for label in LABELS]
    rows = np.array([model.assemble(ws, model.run(ws)) for ws in model.windows(pairs)])
    assert rows.argmax(1).tolist() == [0, 1, 2]
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "mine")
    assert [plain.config.id2label[i] for i in range(3)] == list(LABELS)
    (window,), *_ = model.windows(pairs)
    given = model._windower.rows([window])
    with torch.no_grad():
        inputs = {"input_ids": torch.from_numpy(given.ids)}
        if kind == "bert":
            inputs["token_type_ids"] = torch.from_numpy(given.types)
        logits = plain.eval()(**inputs).logits[0].double() / made.temperature
    np.testing.assert_allclose(rows[0], torch.softmax(logits, 0).numpy(), atol=1e-4)


def test_an_nli_head_of_the_same_classes_goes_on(tmp_path):
    base = save(tmp_path / "base", "bert", names=("contradiction", "entailment", "neutral"))
    made = fine_tune(labelled(), str(base), tmp_path / "mine", **(OPTIONS | {"rate": 1e-8}))
    assert made.classes == ("contradiction", "entailment", "neutral")
    before = transformers.AutoModelForSequenceClassification.from_pretrained(base)
    after = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "mine")
    torch.testing.assert_close(before.classifier.weight, after.classifier.weight)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("entailment", "contradiction"), ("entailment", "contradiction")),
        (("entailment", "not_entailment"), ("entailment", "not_entailment")),
        (("entailment", "neutral"), ("entailment", "not_entailment")),
        ((*LABELS, "not_entailment"), ("entailment", "not_entailment")),
    ],
)
def test_two_classes(labels, classes, tmp_path):
    base = save(tmp_path / "base", "bert", names=None)
    made = fine_tune(labelled(700, labels=labels), str(base), tmp_path / "mine", **OPTIONS)
    assert made.classes == classes and figures(made)["checker", "accuracy"] > 0.8
    model = load_nli(str(tmp_path / "mine"), device="cpu")
    assert model.contradicts == ("contradiction" in classes)


def test_long_pairs_are_measured_and_not_trained_on(tmp_path):
    base = save(tmp_path / "base", "bert", names=None)
    data = labelled(300)
    long = LabelledPair("Nobody knows why. " * 200, "Paris is in France", "entailment")
    pairs = (
        *data.pairs,
        *(LabelledPair(long.premise + str(i), *("x", "neutral")) for i in range(40)),
    )
    made = fine_tune(LabelledPairs(pairs, {}), str(base), tmp_path / "mine", **OPTIONS)
    assert made.missing == {"longer than 256 tokens, left out of training": 40}
    assert 300 - made.n_train - made.n_validation < made.n_held_out < 340


def test_what_cannot_be_trained(tmp_path):
    base = str(save(tmp_path / "base", "bert", names=None))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        fine_tune(labelled(), base, tmp_path / "taken", **OPTIONS)
    with pytest.raises(UsageError, match="it needs 10 of each"):
        fine_tune(labelled(60), base, tmp_path / "mine", **OPTIONS)
    for labels in (("neutral",), ("entailment",), ("neutral", "contradiction")):
        with pytest.raises(UsageError, match="at least two labels are required"):
            classes_of(labelled(50, labels))
    with pytest.raises(ModelError, match="is not a folder"):
        fine_tune(labelled(), str(tmp_path / "none"), tmp_path / "mine", **OPTIONS)
    with pytest.raises(ModelError, match="did not converge"):
        fine_tune(labelled(), base, tmp_path / "mine", **(OPTIONS | {"rate": 1e30}))
    assert not (tmp_path / "mine").exists()


def test_the_command(tmp_path):
    save(tmp_path / "base", "bert", names=None)
    rows = [
        {"premise": p.premise, "hypothesis": p.hypothesis, "label": p.label}
        for p in labelled().pairs
    ]
    text = "".join(json.dumps(r) + "\n" for r in rows) + '{"label": 3}\n'
    (tmp_path / "labelled.jsonl").write_text(text)

    def run(*arguments):
        return run_command(*arguments, cwd=tmp_path)

    given = ("train", "checker", "labelled.jsonl", "--base", "./base", "--rate", "1e-3")
    done = run(*given, "--out", "mine", "--epochs", "20", "--bootstrap", "50", "--json", "-")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["classes"] == list(LABELS) and told["left_out"] == {"no premise": 1}
    assert "left out: 1 rows: no premise" in done.stderr and "model: mine" in done.stderr
    (tmp_path / "answers.jsonl").write_text(
        json.dumps({"response": "The dog is asleep 3.", "contexts": ["the tower 3."]}) + "\n"
    )
    check = (
        "check",
        "answers.jsonl",
        "--scorers",
        "claims(checker=nli, extractor=response)",
        "--nli",
        "mine",
    )
    done = run(*check, "--json", "-", "--store", "none")
    assert done.returncode == 0, done.stderr
    (score,) = json.loads(done.stdout)["scores"].values()
    assert score["units"][0]["label"] == "contradiction" and "nli:mine@" in score["signature"]
    done = run(*given, "--out", "mine")
    assert done.returncode == 1 and "already exists" in done.stderr
