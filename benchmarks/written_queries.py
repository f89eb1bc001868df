"""Search by one question that an LLM writes, and by each sentence.

    python benchmarks/written_queries.py --data DATA --llm local:qwen-1.5b [--answers 40]

The data are WikiBio: passages that GPT-3 wrote about people. The people's reference texts are among
the passages of HaluEval qa. Printed for each way of searching (`--corpus-query`), by words alone:

* queries and contexts for each answer;
* the share of answers that get a passage of that person's text;
* the share of contexts from that text.

Answers are drawn with a fixed seed; a reply of no use counts as found nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import corpus as searching

import veridical
from veridical.io import open_source
from veridical.retrieval.corpus.opening import Corpus
from veridical.retrieval.query_writing import queries_of


def answers(data: Path, count: int) -> list[dict[str, Any]]:
    """Draw records whose person's text is in the corpus; ``id`` is its file."""
    rows = open_source(data / "wikibio_gpt3" / "wikibio_gpt3.jsonl", reader="wikibio").rows()
    found = []
    for row in rows:
        if isinstance(row, veridical.Record) and row.reference and row.reference[0]:
            person = row.reference[0].split("(")[0].split(" was ")[0][:60].strip()
            prompt = f"This is a Wikipedia passage about {person}:"
            found.append({"id": f"{row.row:03}.txt", "response": row.response, "prompt": prompt})
    return random.Random(0).sample(found, min(count, len(found)))


def summary(records: list[dict[str, Any]], out: Path, query: str) -> str:
    """Format the results of a run."""
    lines = [json.loads(line) for line in (out / "contexts.jsonl").open(encoding="utf-8")]
    by_id = {line["id"]: line for line in lines}
    asked, right, contexts, found = 0, 0, 0, 0
    for record in records:
        line = by_id[record["id"]]
        of_person = [c["source"] == record["id"] for c in line.get("contexts", [])]
        right, contexts = right + sum(of_person), contexts + len(of_person)
        found += any(of_person)
        if query == "llm":
            asked += len(line.get("retrieval", {}).get("queries", []))
        else:
            asked += len(queries_of(veridical.Record(**record)))
    n = len(records)
    return (
        f"{asked / n:.1f} queries and {contexts / n:.1f} contexts an answer; "
        f"found {found / n:.3f}; of the contexts {right / max(1, contexts):.3f} right"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--llm", required=True)
    parser.add_argument("--answers", type=int, default=40)
    arguments = parser.parse_args()
    prompted = answers(arguments.data, arguments.answers)
    alone = [{k: v for k, v in record.items() if k != "prompt"} for record in prompted]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        documents = root / "documents"
        documents.mkdir()
        searching.wikibio(arguments.data, documents, None)
        with veridical.Engine(store=root / "store", processes=0, llm=arguments.llm) as engine:
            retriever = Corpus(documents, engine, embed=False)
            for name, records in (("alone", alone), ("after its prompt", prompted)):
                for query in ("sentences", "llm"):
                    out = root / f"{name} {query}"
                    veridical.check(
                        *(records, "knowledge_f1"),
                        out=out,
                        engine=engine,
                        corpus=retriever,
                        corpus_query=query,
                    )
                    print(f"{name}, {query}: {summary(records, out, query)}", flush=True)


if __name__ == "__main__":
    main()
