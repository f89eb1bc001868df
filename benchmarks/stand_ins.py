"""Small stand-ins of the checkpoints that Mirage's detectors need.

    python benchmarks/stand_ins.py --base FOLDER --data DATA --out OUT [--only critic]

The published ones are T5 and RoBERTa-large models from the hub. If those are not available, these
go through the same code:

* OUT/critic: a classifier of (knowledge, response);
* OUT/unieval: an encoder-decoder that answers Yes or No;
* OUT/generator: an encoder-decoder that writes questions;
* OUT/reader: a reader that finds an answer or none.

Each is made of one BERT, the decoders too. ``--base`` is its folder, such as this package's first
small NLI model, restored by training/nli_restore.py. They are trained only on DATA/nli and the
first 80 % of DATA/halueval qa, not on BEGIN. Training questions are mostly statements with a
question word instead of the answer (Lewis et al. 2019, "Unsupervised Question Answering by Cloze
Translation"). Their accuracy is not the paper's. An existing model is not trained again. Needs the
extras [torch] and [spacy].
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from veridical.text.sentences import split_sentences
from veridical_lab.scorers.q2_questions import candidates

#: Rows of HaluEval qa before this share may be trained on.
TRAINED_SHARE = 0.8
#: Right and wrong answers whose lengths are further apart would teach length.
LENGTH_GAP = 4
PAIRS = ("vitaminc_piece_train", "fm2_train", "fever_rte_train", "wice_train", "lingnli_train")
#: Pairs of one file at most.
MOST = 8_000
#: Passages whose questions the reader learns to answer, and statements made questions.
PASSAGES, CLOZES = 4_000, 12_000
#: Characters of a statement that is made a question.
STATEMENT = 160
#: Lowest layers that a writer of questions keeps of the encoder, and has in its decoder.
LAYERS = 3
LONGEST = 192
BATCH = {"critic": 32, "unieval": 32, "reader": 32, "generator": 64}
MODELS = ("critic", "unieval", "reader", "generator")
EPOCHS = {"critic": 1, "unieval": 1, "reader": 1, "generator": 2}
#: Answers to which the question word is not "what".
WORDS = (
    ("when", re.compile(r".*\b1\d{3}|.*\b20\d\d|.*\b\d{1,2}\s+[A-Z]")),
    ("how many", re.compile(r"\d")),
)
CLAIM = "question: Is this claim consistent with the document? </s> claim: {} </s> document: {}"


class Pair(NamedTuple):
    """A text, a statement about it, and whether it entails the statement."""

    premise: str
    hypothesis: str
    entailed: bool


class QuestionPair(NamedTuple):
    """A question and its answer, which is verbatim in the passage."""

    passage: str
    question: str
    answer: str


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def questions(data: Path) -> list[dict[str, Any]]:
    rows = read(data / "halueval" / "dataset_halueval_qa.jsonl")
    return rows[: int(len(rows) * TRAINED_SHARE)]


def pairs(data: Path) -> list[Pair]:
    found = []
    for name in PAIRS:
        rows = read(data / "nli" / f"{name}.jsonl")
        random.Random(0).shuffle(rows)
        found += [
            Pair(row["premise"], row["hypothesis"], row["label"] == "entailment")
            for row in rows[:MOST]
        ]
    for row in questions(data):
        if abs(len(row["right_answer"]) - len(row["hallucinated_answer"])) <= LENGTH_GAP:
            for name, right in (("right_answer", True), ("hallucinated_answer", False)):
                found.append(Pair(row["knowledge"], f"{row['question']} {row[name]}", right))
    return found


def asked(data: Path) -> list[QuestionPair]:
    return [
        QuestionPair(row["knowledge"], row["question"], row["right_answer"])
        for row in questions(data)
        if row["right_answer"] in row["knowledge"]
    ]


@functools.cache  # the reader and the writer learn from them, and spaCy takes minutes
def clozes(data: Path) -> Sequence[tuple[Pair, QuestionPair]]:
    """Turn statements into questions, at most two for each.

    Statements are the hypotheses about texts, and the first sentences of passages.
    """
    made = []
    drawn = random.Random(0)
    passages = [row["knowledge"] for row in questions(data)]
    said = pairs(data) + [Pair(text, split_sentences(text)[0].text, True) for text in passages]
    for pair in said:
        text = re.sub(r" (?=[.,;:!?'])", "", pair.hypothesis).strip()
        if len(text) > STATEMENT:
            continue
        spans = [s for s in candidates(text, "spacy") if len(s.text) < len(text) / 2]
        for span in drawn.sample(spans, min(2, len(spans))):
            word = next((w for w, form in WORDS if form.match(span.text)), "what")
            question = (text[: span.start] + word + text[span.end :]).rstrip(".!") + "?"
            made.append((pair, QuestionPair(text, question[0].upper() + question[1:], span.text)))
    return made


def batches(
    rows: Sequence[Any], length: Callable[[Any], int], size: int, seed: int
) -> Iterator[list[Any]]:
    """Yield batches of rows that are about equally long, in random order."""
    drawn = random.Random(seed)
    order = sorted(rows, key=lambda row: (length(row), drawn.random()))
    cut = [order[i : i + size] for i in range(0, len(order), size)]
    drawn.shuffle(cut)
    yield from cut


def train(
    name: str,
    model: Any,
    rows: Sequence[Any],
    length: Callable[[Any], int],
    inputs: Callable[[list[Any]], dict[str, Any]],
    rate: float,
) -> None:
    """AdamW with a warm-up of a twentieth and a linear fall to 0, matrix products in bfloat16."""
    plan = [b for epoch in range(EPOCHS[name]) for b in batches(rows, length, BATCH[name], epoch)]
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01)
    warm = max(len(plan) // 20, 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (len(plan) - step) / len(plan))
    )
    model.train()
    start, total = time.monotonic(), 0.0
    for step, batch in enumerate(plan, 1):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(**inputs(batch)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        total += loss.item()
        if step % 100 == 0 or step == len(plan):
            seconds = time.monotonic() - start
            print(f"{name} {step}/{len(plan)} loss {total / step:.3f} {seconds:.0f} s", flush=True)
    model.eval()


def by_marks(base: Path) -> transformers.PreTrainedTokenizerFast:
    """Return the encoder's tokenizer as T5's: a text ends with ``</s>``, and nothing is before
    it."""
    state = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = state["model"]["vocab"]
    vocabulary["</s>"] = vocabulary.pop("[SEP]")
    for token in state["added_tokens"]:
        token["content"] = token["content"].replace("[SEP]", "</s>")
    state["post_processor"] = None
    raw = Tokenizer.from_str(json.dumps(state))
    raw.no_truncation()
    raw.no_padding()
    end = ("</s>", vocabulary["</s>"])
    raw.post_processor = TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[end]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="</s>", pad_token="[PAD]", unk_token="[UNK]"
    )


def encoder_decoder(base: Path, tokenizer: Any) -> Any:
    """Build a model of two copies of the encoder, one of them with attention to the other."""
    model = transformers.EncoderDecoderModel.from_encoder_decoder_pretrained(str(base), str(base))
    for config in (model.config, model.generation_config):
        config.decoder_start_token_id = tokenizer.convert_tokens_to_ids("[CLS]")
        config.pad_token_id, config.eos_token_id = tokenizer.pad_token_id, tokenizer.eos_token_id
    model.config.vocab_size = model.config.decoder.vocab_size
    model.config.max_position_embeddings = model.config.encoder.max_position_embeddings
    return model


def attend_alike(model: Any) -> None:
    """Let the decoder read the source with the weights by which the encoder reads itself.

    Both keep their lowest layers only, where a word is still known by itself, and the embeddings of
    words stay as they are. From random weights the model takes hours to learn to copy words of
    the source, from these minutes.
    """
    model.encoder.encoder.layer = model.encoder.encoder.layer[:LAYERS]
    decoder = model.decoder.bert
    decoder.encoder.layer = decoder.encoder.layer[:LAYERS]
    for layer in decoder.encoder.layer:
        layer.crossattention.load_state_dict(layer.attention.state_dict())
    parts = ((model.encoder, model.config.encoder), (decoder, model.config.decoder))
    for bert, config in parts:
        bert.embeddings.word_embeddings.requires_grad_(False)
        config.num_hidden_layers = LAYERS


def written(tokenizer: Any, sources: Sequence[str], targets: Sequence[str]) -> dict[str, Any]:
    """Return the inputs of an encoder-decoder that is to write ``targets``."""
    options = {"padding": True, "truncation": True, "max_length": LONGEST, "return_tensors": "pt"}
    batch = tokenizer(list(sources), **options)
    labels = tokenizer(list(targets), **options)["input_ids"]
    return {
        "input_ids": batch["input_ids"],
        "attention_mask": batch["attention_mask"],
        "labels": labels.masked_fill(labels == tokenizer.pad_token_id, -100),
    }


def critic(base: Path, data: Path, out: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        base,
        num_labels=2,
        id2label={0: "Entailment", 1: "Hallucination"},
        ignore_mismatched_sizes=True,  # an NLI model has three classes
    )

    def inputs(batch: list[Pair]) -> dict[str, Any]:
        texts = tokenizer(
            [p.premise for p in batch],
            [p.hypothesis for p in batch],
            padding=True,
            truncation="longest_first",
            max_length=LONGEST,
            return_tensors="pt",
        )
        return {**texts, "labels": torch.tensor([int(not p.entailed) for p in batch])}

    train("critic", model, pairs(data), _pair_length, inputs, 1e-4)
    save(model, tokenizer, out)


def unieval(base: Path, data: Path, out: Path) -> None:
    def text(pair: Pair) -> tuple[str, str]:
        return CLAIM.format(pair.hypothesis, pair.premise), "Yes" if pair.entailed else "No"

    writer("unieval", base, out, pairs(data), _pair_length, text, 1e-4)


def generator(base: Path, data: Path, out: Path) -> None:
    def text(asked: QuestionPair) -> tuple[str, str]:
        return f"answer: {asked.answer}  context: {asked.passage} </s>", asked.question

    rows = [asked for _, asked in clozes(data)]
    writer("generator", base, out, rows, lambda a: len(a.passage), text, 1e-3, attend_alike)


def writer(
    name: str,
    base: Path,
    out: Path,
    rows: Sequence[Any],
    length: Callable[[Any], int],
    text: Callable[[Any], tuple[str, str]],
    rate: float,
    prepare: Callable[[Any], None] = lambda model: None,
) -> None:
    """Train an encoder-decoder; ``text`` gives a row's source and target."""
    tokenizer = by_marks(base)
    model = encoder_decoder(base, tokenizer)
    prepare(model)

    def inputs(batch: list[Any]) -> dict[str, Any]:
        sources, targets = zip(*map(text, batch), strict=True)
        return written(tokenizer, sources, targets)

    train(name, model, rows, length, inputs, rate)
    save(model, tokenizer, out)


def reader(base: Path, data: Path, out: Path) -> None:
    """Train the reader.

    Of two questions about a passage, one belongs to another passage and has no answer. A question
    about a statement that the premise does not entail has no answer either, unless its words are in
    the premise.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(
        base, num_labels=2, ignore_mismatched_sizes=True
    )
    rows = asked(data)[:PASSAGES]
    others = random.Random(0).sample(rows, len(rows))
    rows = rows + [
        QuestionPair(a.passage, b.question, "") for a, b in zip(rows, others, strict=True) if a != b
    ]
    stated = clozes(data)
    for pair, cloze in random.Random(0).sample(stated, min(CLOZES, len(stated))):
        there = cloze.answer in pair.premise
        if there == pair.entailed:
            answer = cloze.answer if there else ""
            rows.append(QuestionPair(pair.premise, cloze.question, answer))
        elif not there:
            rows.append(cloze)

    def inputs(batch: list[QuestionPair]) -> dict[str, Any]:
        texts = tokenizer(
            [a.question for a in batch],
            [a.passage for a in batch],
            padding=True,
            truncation="only_second",
            max_length=2 * LONGEST,
            return_tensors="pt",
        )
        starts, ends = [], []
        for i, row in enumerate(batch):
            at = row.passage.find(row.answer) if row.answer else -1
            first = texts.char_to_token(i, at, 1) if at >= 0 else None
            last = texts.char_to_token(i, at + len(row.answer) - 1, 1) if at >= 0 else None
            known = first is not None and last is not None
            starts.append(first if known else 0)
            ends.append(last if known else 0)
        places = {"start_positions": torch.tensor(starts), "end_positions": torch.tensor(ends)}
        return {**texts, **places}

    train("reader", model, rows, lambda a: len(a.passage), inputs, 1e-4)
    save(model, tokenizer, out)


def _pair_length(pair: Pair) -> int:
    return len(pair.premise) + len(pair.hypothesis)


def save(model: Any, tokenizer: Any, out: Path) -> None:
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--base", type=Path, required=True, help="BERT encoder: a folder")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=MODELS, action="append")
    args = parser.parse_args()
    for name in args.only or MODELS:
        out = args.out / name
        if (out / "config.json").is_file():
            print(f"{name}: is there")
            continue
        torch.manual_seed(0)
        random.seed(0)
        {"critic": critic, "unieval": unieval, "reader": reader, "generator": generator}[name](
            args.base, args.data, out
        )


if __name__ == "__main__":
    main()
