"""Published fact checkers on tiny checkpoints of their layouts, against transformers and torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nli_checkpoints import judge
from published_checkpoints import (
    CLAIMS,
    DOCUMENT,
    align_outputs,
    hhem_answer,
    hhem_model,
    joined_answer,
    pair_answer,
    save_alignscore,
    save_critic,
    save_hhem,
    save_minicheck_t5,
    t5_answer,
    t5_tokenizer,
)

from veridical.errors import ModelError, UsageError
from veridical.models import LABELS, load_nli, published_nli
from veridical.models.convert import convert
from veridical.models.nli.chunks import even_chunks, filled_chunks

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PAIRS = [(DOCUMENT, claim) for claim in CLAIMS]
SENTENCES = [
    "The tower was finished in 1889.",
    "It is in Paris.",
    "Nobody knows why it stands there.",
    "A man is playing a guitar on a stage.",
    "The shop is open on Sundays.",
    "The woman is a doctor.",
]


def two_way(supported: list[float]) -> Any:
    p = np.array(supported)
    return np.stack([p, 1 - p, np.zeros(len(p))], axis=1)


def rewrite(folder: Path, change: Any) -> None:
    """``change`` of the tensors of a folder's safetensors."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


# --- chunks -------------------------------------------------------------------------------------


def test_even_chunks_by_hand() -> None:
    """6 sentences in 36 words: 36 // 13 + 1 = 3 chunks, of 6 // 3 = 2 sentences."""
    assert len(DOCUMENT.split()) == 36 and even_chunks(DOCUMENT) == [" ".join(SENTENCES)]
    pairs = [" ".join(SENTENCES[i : i + 2]) for i in (0, 2, 4)]
    assert even_chunks(DOCUMENT, 13) == pairs
    assert even_chunks(DOCUMENT, 12) == SENTENCES  # 6 // (36 // 12 + 1) = 1
    assert even_chunks(DOCUMENT, 2) == SENTENCES  # never fewer than one a chunk
    assert even_chunks(" ") == [" "] and even_chunks("") == [""]
    five = "One is. Two is. Three is. Four is. Five is."
    assert even_chunks(five, 6) == ["One is. Two is.", "Three is. Four is.", "Five is."]


def test_filled_chunks_by_hand() -> None:
    def words(text: str) -> int:
        return len(text.split())

    # sentences of 6, 4 and 6 words, a line end of none, and 9, 6 and 5 words
    assert filled_chunks(DOCUMENT, 16, words) == [
        " ".join(SENTENCES[:3]),
        " ".join(SENTENCES[3:5]),
        SENTENCES[5],
    ]
    assert filled_chunks(DOCUMENT, 500, words) == [DOCUMENT]
    assert filled_chunks(DOCUMENT, 1, words) == SENTENCES  # longer ones are chunks of their own
    assert filled_chunks("A b. C d.\n\nE f.", 9, words) == ["A b. C d.\n\n E f."]  # as published
    assert filled_chunks("", 9, words) == [""] and filled_chunks("\n \n", 9, words) == ["\n \n"]


# --- the critic ---------------------------------------------------------------------------------


def test_critic_is_class_one_turned_round(tmp_path: Path) -> None:
    folder = save_critic(tmp_path / "critic")
    model: Any = load_nli(f"critic:{folder}", device="cpu")
    expected = [pair_answer(folder, *pair)[0] for pair in PAIRS]
    assert np.std(expected) > 0.01 and not model.contradicts
    np.testing.assert_allclose(judge(model, PAIRS), two_way(expected), atol=1e-5)
    np.testing.assert_allclose(judge(model, PAIRS, batch=1), two_way(expected), atol=1e-5)


def test_a_head_the_other_way_round_is_refused_whatever_its_labels_say(tmp_path: Path) -> None:
    folder = save_critic(tmp_path / "critic")
    before = judge(load_nli(f"critic:{folder}", device="cpu"), PAIRS)

    def turn(tensors: dict[str, Any]) -> None:
        for part in ("weight", "bias"):
            name = f"classifier.out_proj.{part}"
            tensors[name] = tensors[name].flip(0).contiguous()

    rewrite(folder, turn)
    for labels in (None, ["Entailment", "Hallucination"], ["Hallucination", "Entailment"]):
        if labels:
            config = json.loads((folder / "config.json").read_text())
            config["id2label"] = dict(enumerate(labels))
            config["label2id"] = {n: i for i, n in enumerate(labels)}
            (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match="not the published checkpoint"):
            load_nli(f"critic:{folder}", device="cpu")
    # a stated order is believed, and then the numbers are the same as before
    model = load_nli(f"critic:{folder}?labels=hallucination,entailment", device="cpu")
    np.testing.assert_allclose(judge(model, PAIRS), before, atol=1e-6)
    # without the recipe, the order is not guessed either
    with pytest.raises(ModelError, match=r"do not fit|cannot be told"):
        load_nli(f"torch:{folder}", device="cpu")


def test_a_three_way_head_is_no_critic(tmp_path: Path) -> None:
    import nli_checkpoints

    folder = nli_checkpoints.save(tmp_path / "three", "roberta")
    with pytest.raises(ModelError, match="3 outputs, not one each for entailment, not_entailment"):
        load_nli(f"critic:{folder}", device="cpu")


# --- MiniCheck ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["roberta", "deberta"])
def test_minicheck_reads_one_text_with_the_end_token_between(kind: str, tmp_path: Path) -> None:
    folder = save_critic(
        tmp_path / kind, kind, classes=("not_entailment", "entailment"), answer=joined_answer
    )
    model: Any = load_nli(f"minicheck:{folder}", device="cpu")
    expected = [joined_answer(folder, *pair)[1] for pair in PAIRS]
    assert np.std(expected) > 0.001
    np.testing.assert_allclose(judge(model, PAIRS), two_way(expected), atol=1e-5)


def test_minicheck_takes_the_best_chunk_of_400_tokens(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    folder = save_critic(
        tmp_path / "model",
        "deberta",
        classes=("not_entailment", "entailment"),
        answer=joined_answer,
    )
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def tokens(text: str) -> int:
        return len(made.encode(text, add_special_tokens=False).ids)

    long = " ".join(SENTENCES * 6)
    chunks, used = [[]], 0
    for sentence in SENTENCES * 6:
        if used + tokens(sentence) > 400:
            chunks.append([])
            used = 0
        chunks[-1].append(sentence)
        used += tokens(sentence)
    assert len(chunks) > 1
    model: Any = load_nli(f"minicheck:{folder}", device="cpu")
    (windows,) = model.windows([(long, CLAIMS[0])])
    assert len(windows) == len(chunks)
    best = max(joined_answer(folder, " ".join(c), CLAIMS[0])[1] for c in chunks)
    np.testing.assert_allclose(judge(model, [(long, CLAIMS[0])]), two_way([best]), atol=1e-5)


def test_minicheck_t5_by_the_first_token(tmp_path: Path) -> None:
    folder = save_minicheck_t5(tmp_path / "t5")
    model: Any = load_nli(f"minicheck:{folder}", device="cpu")
    expected = [t5_answer(folder, *pair)[1] for pair in PAIRS]
    assert np.std(expected) > 0.001
    np.testing.assert_allclose(judge(model, PAIRS), two_way(expected), atol=1e-5)
    np.testing.assert_allclose(judge(model, PAIRS, batch=1), two_way(expected), atol=1e-5)
    with pytest.raises(UsageError, match="has a fixed order of classes"):
        load_nli(f"minicheck:{folder}?labels=entailment,not_entailment")


def test_minicheck_t5_takes_the_best_chunk_of_500_words(tmp_path: Path) -> None:
    folder = save_minicheck_t5(tmp_path / "t5")
    model: Any = load_nli(f"minicheck:{folder}", device="cpu")
    long = " ".join(SENTENCES * 30)  # 36 words a round: 1080
    chunks, used = [[]], 0
    for sentence in SENTENCES * 30:
        if used + len(sentence.split()) > 500:
            chunks.append([])
            used = 0
        chunks[-1].append(sentence)
        used += len(sentence.split())
    assert len(chunks) == 3
    best = max(t5_answer(folder, " ".join(c), CLAIMS[1])[1] for c in chunks)
    np.testing.assert_allclose(judge(model, [(long, CLAIMS[1])]), two_way([best]), atol=1e-5)


def test_marks_in_a_document_do_not_move_the_claim(tmp_path: Path) -> None:
    """``</s>`` in a document is not the end of it."""
    folder = save_minicheck_t5(tmp_path / "t5")
    model: Any = load_nli(f"minicheck:{folder}", device="cpu")
    (windows,) = model.windows([("It is</s>in Paris.<pad>", CLAIMS[0])])
    special = [0, 1]
    assert not np.isin(windows[0].content.premise, special).any()
    assert not np.isin(windows[0].content.hypothesis, special).any()


# --- HHEM ---------------------------------------------------------------------------------------


def test_hhem_by_the_first_token_without_its_code(tmp_path: Path) -> None:
    folder = save_hhem(tmp_path / "hhem")
    model: Any = load_nli(f"hhem:{folder}", device="cpu")
    inner, made = hhem_model(folder), t5_tokenizer(folder)
    expected = [hhem_answer(inner, made, *pair)[1] for pair in PAIRS]
    assert np.std(expected) > 0.001
    np.testing.assert_allclose(judge(model, PAIRS), two_way(expected), atol=1e-5)
    np.testing.assert_allclose(judge(model, PAIRS, batch=1), two_way(expected), atol=1e-5)
    # the very ids of the published prompt
    prompt = made(
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        f"Premise: {DOCUMENT}\n\nHypothesis: {CLAIMS[0]}"
    )
    (windows,) = model.windows(PAIRS[:1])
    assert model._windower.rows(windows).ids[0].tolist() == prompt["input_ids"]


def test_hhem_windows_what_is_long(tmp_path: Path) -> None:
    folder = save_hhem(tmp_path / "hhem")
    model: Any = load_nli(f"hhem:{folder}", device="cpu")
    (windows,) = model.windows([(" ".join([DOCUMENT] * 40), CLAIMS[0])])
    assert len(windows) > 1 and all(w.length <= 2048 for w in windows)
    outputs = np.stack(model.run(windows))
    row = model.assemble(windows, outputs)
    assert row[0] == pytest.approx(outputs[:, 0].max(), abs=1e-6)


def test_another_hhem_is_refused(tmp_path: Path) -> None:
    folder = save_hhem(tmp_path / "prompted", prompt="Is it so? {text1} {text2}")
    with pytest.raises(ModelError, match="trained with another prompt"):
        load_nli(f"hhem:{folder}")
    folder = save_hhem(tmp_path / "cut")
    rewrite(folder, lambda t: t.pop("t5.transformer.encoder.final_layer_norm.weight"))
    with pytest.raises(ModelError, match=r"not HHEM's: encoder\.final_layer_norm"):
        load_nli(f"hhem:{folder}")
    folder = save_hhem(tmp_path / "headless")
    rewrite(folder, lambda t: t.pop("t5.classifier.bias"))
    with pytest.raises(ModelError, match="no embeddings or no classifier"):
        load_nli(f"hhem:{folder}")
    folder = save_hhem(tmp_path / "turned")
    rewrite(folder, lambda t: t.update({"t5.classifier.bias": t["t5.classifier.bias"] * torch.nan}))
    with pytest.raises(ModelError, match="not finite"):
        load_nli(f"hhem:{folder}")
    (folder / "model.safetensors").write_bytes(b"\x00" * 40)
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_nli(f"hhem:{folder}")


# --- AlignScore ---------------------------------------------------------------------------------


@pytest.fixture
def aligned(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The checkpoint, its encoder, and the folder made of it."""
    file, backbone = save_alignscore(tmp_path)
    return file, backbone, convert(str(file), out=tmp_path / "made", backbone=str(backbone))


def test_the_converted_folder_holds_no_pickle(aligned: tuple[Path, Path, Path]) -> None:
    file, _, folder = aligned
    names = {p.name for p in folder.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "conversion.json"} <= names
    assert not any(n.endswith((".ckpt", ".bin", ".pt")) for n in names)
    from safetensors.torch import load_file

    state = torch.load(file, weights_only=True)["state_dict"]
    made = load_file(folder / "model.safetensors")
    assert not any(n.startswith("mlm_head") for n in made)
    for name, tensor in made.items():
        torch.testing.assert_close(tensor, state[name])
    with pytest.raises(ModelError, match="veridical models convert"):
        load_nli(f"alignscore:{file}")


def test_alignscore_three_heads(aligned: tuple[Path, Path, Path]) -> None:
    file, backbone, folder = aligned
    three, two, value = (align_outputs(file, backbone, n) for n in ("tri", "bin", "reg"))
    document = SENTENCES[0] + " " + SENTENCES[1]
    pairs = [(document, c) for c in CLAIMS]
    model: Any = load_nli(f"alignscore:{folder}?mode=nli", device="cpu")
    expected = np.array([three(*p) for p in pairs])  # aligned, neutral, contradict
    assert model.contradicts and expected.std(axis=0).min() > 0.001
    np.testing.assert_allclose(judge(model, pairs), expected, atol=1e-5)

    model = load_nli(f"alignscore:{folder}?mode=bin", device="cpu")
    expected = two_way([two(*p)[1] for p in pairs])
    np.testing.assert_allclose(judge(model, pairs), expected, atol=1e-5)
    assert not model.contradicts

    model = load_nli(f"alignscore:{folder}?mode=reg", device="cpu")
    expected = two_way([min(max(float(value(*p)[0]), 0.0), 1.0) for p in pairs])
    np.testing.assert_allclose(judge(model, pairs), expected, atol=1e-5)

    assert len({load_nli(f"alignscore:{folder}{m}").revision for m in ("", "?mode=bin")}) == 2
    with pytest.raises(UsageError, match="mode of AlignScore: 'sp'; known: nli_sp, nli"):
        load_nli(f"alignscore:{folder}?mode=sp")


def test_nli_sp_is_the_mean_over_sentences_of_the_best_chunk(
    aligned: tuple[Path, Path, Path],
) -> None:
    """The published aggregation, on a document of 1080 words."""
    file, backbone, folder = aligned
    three = align_outputs(file, backbone, "tri")
    words = SENTENCES * 30
    document = " ".join(words)
    assert len(document.split()) == 1080  # 1080 // 350 + 1 = 4 chunks of 180 // 4 sentences
    chunks = [" ".join(words[i : i + 45]) for i in (0, 45, 90, 135)]
    model: Any = load_nli(f"alignscore:{folder}", device="cpu")
    room = model._windower.room
    claim = " ".join(CLAIMS)
    (windows,) = model.windows([(document, claim)])
    # each chunk is longer than this encoder takes, and is windowed, not cut
    assert len(windows) > len(chunks) * len(CLAIMS) and all(
        len(w.content.premise) + len(w.content.hypothesis) <= room for w in windows
    )
    document = " ".join(SENTENCES)
    found = judge(model, [(document, claim), (document, CLAIMS[0])])
    expected = [three(document, c)[0] for c in CLAIMS]
    assert found[0, 0] == pytest.approx(np.mean(expected), abs=1e-5)
    assert found[1, 0] == pytest.approx(expected[0], abs=1e-5)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-6)


def test_best_chunk_of_alignscore(
    aligned: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With chunks of 13 words instead of 350: three of two sentences each."""
    file, backbone, folder = aligned
    three = align_outputs(file, backbone, "tri")
    monkeypatch.setattr(even_chunks, "__defaults__", (13,))
    model: Any = load_nli(f"alignscore:{folder}", device="cpu")
    chunks = [" ".join(SENTENCES[i : i + 2]) for i in (0, 2, 4)]
    table = np.array([[three(c, s)[0] for c in chunks] for s in CLAIMS])
    (row,) = judge(model, [(DOCUMENT, " ".join(CLAIMS))])
    assert row[0] == pytest.approx(table.max(axis=1).mean(), abs=1e-5)


def test_an_alignscore_with_its_classes_moved_is_refused(
    aligned: tuple[Path, Path, Path],
) -> None:
    _, _, folder = aligned

    def move(tensors: dict[str, Any]) -> None:
        for part in ("weight", "bias"):
            rows = tensors[f"tri_layer.{part}"]
            tensors[f"tri_layer.{part}"] = rows[[2, 0, 1]].clone()

    rewrite(folder, move)
    with pytest.raises(ModelError, match=r"entailment, neutral, contradiction.*less well"):
        load_nli(f"alignscore:{folder}")
    rewrite(folder, lambda t: t.pop("tri_layer.bias"))
    with pytest.raises(ModelError, match="no tensors for tri_layer"):
        load_nli(f"alignscore:{folder}")
    rewrite(folder, lambda t: t.pop("base_model.pooler.dense.weight"))
    with pytest.raises(ModelError, match=r"no tensors for pooler\.dense\.weight"):
        load_nli(f"alignscore:{folder}")


# --- names --------------------------------------------------------------------------------------


def test_what_is_not_here_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path))

    def offline(*_: Any, **__: Any) -> Any:
        raise OSError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    commands = {
        "hhem": "veridical models convert vectara/hallucination_evaluation_model",
        "critic": "veridical models convert McGill-NLP/roberta-large-faithcritic",
        "minicheck-flan-t5": "veridical models convert lytang/MiniCheck-Flan-T5-Large",
        "minicheck-roberta": "veridical models convert lytang/MiniCheck-RoBERTa-Large",
        "alignscore-large": "veridical models convert alignscore-large",
    }
    for name, command in commands.items():
        with pytest.raises(ModelError, match=f"{command}$"):
            load_nli(name)


def test_names_and_options() -> None:
    published_nli("alignscore-large?mode=bin_sp")
    for spec in ("./folder", "hhem:./folder", "torch:org/name", "https://host"):
        with pytest.raises(UsageError, match="unknown NLI model"):
            published_nli(spec)
    with pytest.raises(UsageError, match="hhem models have no option 'labels'"):
        load_nli("hhem:org/name?labels=entailment,neutral")


def test_hostile_texts_give_probabilities_and_batches_do_not_matter(
    aligned: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    joined = {"classes": ("not_entailment", "entailment"), "answer": joined_answer}
    specs = [
        f"alignscore:{aligned[2]}",
        f"alignscore:{aligned[2]}?mode=reg",
        f"critic:{save_critic(tmp_path / 'critic')}",
        f"minicheck:{save_critic(tmp_path / 'roberta', **joined)}",
        f"minicheck:{save_minicheck_t5(tmp_path / 't5')}",
        f"hhem:{save_hhem(tmp_path / 'hhem')}",
    ]
    hostile = ["", " \n ", "\ud800 x", "</s><pad>", "東京" * 40, "a" * 900, "{text2} %s {0}"]
    pairs = [(p, h) for p in hostile for h in hostile]
    for spec in specs:
        model: Any = load_nli(spec, device="cpu")
        rows = judge(model, pairs)
        assert rows.shape == (len(pairs), len(LABELS)) and np.isfinite(rows).all()
        assert rows.min() >= 0 and rows.sum(axis=1) == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(judge(model, pairs[:20], batch=1), rows[:20], atol=1e-5)
