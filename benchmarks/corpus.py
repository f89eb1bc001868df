"""Retrieval from a corpus: recall of the right passages, and speed.

    python benchmarks/corpus.py --data DATA [--top 1,3,5] [--limit N] [--speed PASSAGES]

WikiBio: the 119 reference texts are searched by each sentence that GPT-3 wrote about the person.
They are among the passages of HaluEval qa, which are about other things, though some are about the
same people. A sentence counts as answered if a passage of that person's text is among the first k.
BEGIN: the knowledge of all its conversations is searched by the responses. A response counts as
answered if its own knowledge is found. Figures are printed for words alone, vectors alone and both,
and for a sentence by itself and after its prompt, as `check --corpus` asks. Then follows the time
to index, and to search, a corpus of made-up text.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import veridical
from veridical.io import open_source
from veridical.retrieval.corpus.opening import Corpus
from veridical.retrieval.corpus.retriever import CorpusRetriever
from veridical.retrieval.query_writing import queries_of

PARTS = ("dev_cmu.tsv", "dev_tc.tsv", "dev_wow.tsv", "test_wow.tsv")


class CorpusQuery(NamedTuple):
    """A query by itself, the same after its prompt, and the document that should be found."""

    alone: str
    prompted: str
    document: str


def wikibio(data: Path, folder: Path, limit: int | None) -> list[CorpusQuery]:
    """Write the corpus; return its queries."""
    asked = []
    for record in open_source(
        data / "wikibio_gpt3" / "wikibio_gpt3.jsonl", reader="wikibio"
    ).rows():
        assert isinstance(record, veridical.Record)
        text = record.reference[0] if record.reference else ""
        if not text:
            continue
        name = f"{record.row:03}.txt"
        (folder / name).write_text(text, encoding="utf-8")
        sentences = [s.text.strip() for s in record.sentences if s.text.strip()]
        # the prompt that the passages were written for names the person
        prompt = f"This is a Wikipedia passage about {text.split('(')[0].split(' was ')[0][:60]}:"
        asked += [CorpusQuery(s, f"{prompt} {s}", name) for s in sentences]
    with (folder / "others.jsonl").open("w") as file:
        rows = (data / "halueval" / "dataset_halueval_qa.jsonl").open(encoding="utf-8")
        for i, line in enumerate(rows):
            row = {"id": i, "text": json.loads(line)["knowledge"]}
            file.write(json.dumps(row) + "\n")
    return asked[:limit]


def begin(data: Path, folder: Path, limit: int | None) -> list[CorpusQuery]:
    """Write the corpus; return its queries."""
    ids: dict[str, str] = {}
    asked = []
    for part in PARTS:
        for record in open_source(data / "begin" / part, reader="begin").rows():
            assert isinstance(record, veridical.Record)
            text = record.contexts[0].text
            document = ids.setdefault(text, f"knowledge.jsonl:{len(ids)}")
            if record.label is not None:  # what is generic is about nothing
                alone = record.response
                asked.append(CorpusQuery(alone, " ".join(queries_of(record)), document))
    with (folder / "knowledge.jsonl").open("w", encoding="utf-8") as file:
        for text, name in ids.items():
            file.write(json.dumps({"id": name.partition(":")[2], "text": text}) + "\n")
    return asked[:limit]


def recall(
    retriever: CorpusRetriever,
    engine: veridical.Engine,
    asked: Sequence[CorpusQuery],
    tops: list[int],
) -> str:
    """Format the shares found among the first k, and the rate."""
    shown = []
    for field in ("alone", "prompted"):
        queries = [getattr(a, field) for a in asked]
        started = time.perf_counter()
        found = engine.submit(retriever.search(queries, max(tops))).result()
        seconds = time.perf_counter() - started
        sources = [[f.source for f in fs] for fs in found]
        shares = [
            sum(a.document in s[:k] for a, s in zip(asked, sources, strict=True)) / len(asked)
            for k in tops
        ]
        shown.append(
            f"{field} "
            + " ".join(f"@{k} {s:.3f}" for k, s in zip(tops, shares, strict=True))
            + f" ({len(queries) / seconds:.0f}/s)"
        )
    return "; ".join(shown)


def speed(passages: int, engine: veridical.Engine, folder: Path) -> None:
    """Index and search made-up text: words by Zipf's law, a passage a file of rows' row."""
    rng = random.Random(0)
    letters = "abcdefghiklmnoprstuvw"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(30000)]
    weights = [1 / (i + 1) for i in range(len(words))]
    texts = [
        " ".join(rng.choices(words, weights, k=130)).capitalize() + "." for _ in range(passages)
    ]
    with (folder / "made.jsonl").open("w") as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")
    started = time.perf_counter()
    corpus = Corpus(folder, engine, embed=False)
    seconds = time.perf_counter() - started
    n = corpus.counts.passages
    print(f"made up: {n} passages; read and indexed in {seconds:.1f} s ({n / seconds:.0f}/s)")
    asked = [" ".join(rng.choice(texts).split()[5:25]) for _ in range(100)]
    started = time.perf_counter()
    engine.submit(corpus.search(asked, 5)).result()
    print(f"  words alone: {(time.perf_counter() - started) * 10:.1f} ms a query")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--top", default="1,3,5")
    parser.add_argument("--limit", type=int, help="queries of a part")
    parser.add_argument("--store", type=Path, help="keep corpora and indexes here")
    parser.add_argument("--speed", type=int, default=20000, help="made-up passages")
    arguments = parser.parse_args()
    tops = [int(k) for k in arguments.top.split(",")]
    with tempfile.TemporaryDirectory() as scratch:
        root = arguments.store or Path(scratch)
        with veridical.Engine(store=root / "store", processes=0) as engine:
            for name, write in (("wikibio", wikibio), ("begin", begin)):
                folder = root / name
                folder.mkdir(parents=True, exist_ok=True)
                asked = write(arguments.data, folder, arguments.limit)
                started = time.perf_counter()
                corpus = Corpus(folder, engine)
                seconds = time.perf_counter() - started
                counts = corpus.counts
                print(
                    f"{name}: {counts.documents} documents, {counts.passages} passages, indexed "
                    f"and embedded (as far as they were not) in {seconds:.0f} s "
                    f"({seconds * 1000 / counts.passages:.1f} ms each); {len(asked)} queries"
                )
                started = time.perf_counter()
                corpus = Corpus(folder, engine)
                print(f"  again, nothing changed: {time.perf_counter() - started:.1f} s")
                words = CorpusRetriever(corpus.index)
                print("  words:  ", recall(words, engine, asked, tops))
                corpus.by_words = False
                print("  vectors:", recall(corpus, engine, asked, tops))
                corpus.by_words = True
                print("  both:   ", recall(corpus, engine, asked, tops))
            made = root / "made"
            made.mkdir(exist_ok=True)
            speed(arguments.speed, engine, made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
