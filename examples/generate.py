"""Generate ``answers.jsonl`` from ``prompts.jsonl`` with a small local LLM.

Each prompt gets one greedy answer (temperature 0), which is judged. It also gets ten samples at
temperature 1 from the 0.9 nucleus. All have token log-probabilities, which belong to the model's
whole distribution, before the nucleus is cut. The samples of a prompt are drawn together from one
seed. So a second run writes the same texts, with the same engine build on the same kind of CPU.
``local_llm.py`` names the packages to install. A run takes a few minutes on one thread::

    python examples/generate.py            # generate, then merge the grades
    python examples/generate.py --grade    # merge grades.jsonl into the existing answers

The greedy answers are graded by hand in ``grades.jsonl``, with one line per answer. Its keys are
``id`` and the hash of the graded response, so a regenerated answer never gets another text's grade.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from local_llm import LocalLlm, seed_of

HERE = Path(__file__).resolve().parent
SAMPLES = 10
TOP = 5
MAX_TOKENS = 80
GREEDY = {"temperature": 0, "seed": 0}
SAMPLING = {"temperature": 1, "top_p": 0.9, "top_k": 0, "min_p": 0}
#: Earlier turns of the chat, by kind of prompt: they show so small a model the form of an answer.
SHOTS = {
    "fact": (
        ("Which gas do we breathe in to stay alive?", "We breathe in oxygen to stay alive."),
        ("What is 5 + 3?", "5 + 3 = 8."),
    ),
    "explanation": (
        (
            "Who was Johann Sebastian Bach? Answer in two sentences.",
            "Johann Sebastian Bach (1685-1750) was a German composer and organist of the Baroque "
            "period. He wrote the Brandenburg Concertos and the St Matthew Passion, and worked in "
            "Leipzig from 1723 until his death.",
        ),
    ),
    "grounded": (
        (
            "Passage: The giraffe is the tallest living land animal. Adult males can be 5.5 metres "
            "tall. Giraffes live in Africa and feed mostly on the leaves of acacia trees.\n\n"
            "Question: What do giraffes feed on?\n"
            "Answer in one sentence, from the passage only.",
            "Giraffes feed mostly on the leaves of acacia trees.",
        ),
    ),
}

Row = dict[str, Any]


def read_jsonl(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def response_hash(response: str) -> str:
    return hashlib.sha256(response.encode()).hexdigest()[:16]


def full_prompt(row: Row) -> str:
    """Return the prompt as it is sent; a grounded question includes its passage."""
    if "contexts" not in row:
        return str(row["prompt"])
    passage = "\n\n".join(row["contexts"])
    return (
        f"Passage: {passage}\n\nQuestion: {row['question']}\n"
        "Answer in one sentence, from the passage only."
    )


def token_logprobs(content: list[Row], top: int) -> list[Row]:
    """Convert the engine's tokens to ``{"token", "logprob", "top"}``; they join to the text.

    Offsets are counted in characters. So a character split over several byte-level tokens becomes
    one entry with the product of their probabilities. It has no alternatives, which would be parts
    of characters. The end-of-turn token has no text and is left out.
    """
    out: list[Row] = []
    held: list[Row] = []
    for piece in content:
        if not piece["bytes"]:
            continue
        held.append(piece)
        try:
            token = b"".join(bytes(p["bytes"]) for p in held).decode()
        except UnicodeDecodeError:
            continue
        logprob = sum(p["logprob"] for p in held)
        entry: Row = {"token": token, "logprob": rounded(logprob)}
        if top and len(held) == 1:
            entry["top"] = [
                {"token": t["token"], "logprob": rounded(t["logprob"])}
                for t in piece["top_logprobs"][:top]
            ]
        out.append(entry)
        held = []
    return out  # a character cut off by the token limit is in neither the text nor the tokens


def rounded(logprob: float) -> float:
    return min(round(logprob, 4), 0.0)


def trimmed(tokens: list[Row]) -> list[Row]:
    """Strip the white space at both ends of the answer."""
    tokens = [dict(t) for t in tokens]
    while tokens and not tokens[0]["token"].strip():
        tokens.pop(0)
    while tokens and not tokens[-1]["token"].strip():
        tokens.pop()
    if tokens:
        tokens[0]["token"] = tokens[0]["token"].lstrip()
        tokens[-1]["token"] = tokens[-1]["token"].rstrip()
    return tokens


def answers(llm: LocalLlm, turns: list[str], top: int, **settings: Any) -> list[Row]:
    choices = llm.chat(turns, logprobs=True, top_logprobs=max(top, 1), **settings)
    out = []
    for choice in choices:
        tokens = trimmed(token_logprobs(choice["logprobs"]["content"], top))
        text = "".join(t["token"] for t in tokens)
        content = choice["message"]["content"]
        if text != content.strip().rstrip("\N{REPLACEMENT CHARACTER}"):
            raise ValueError(f"tokens {text!r} differ from the text {content!r}")
        out.append({"text": text, "logprobs": tokens, "finish_reason": choice["finish_reason"]})
    return out


def generate(prompts: list[Row]) -> list[Row]:
    llm = LocalLlm(n=SAMPLES)
    records = []
    for row in prompts:
        prompt, limit = full_prompt(row), row.get("max_tokens", MAX_TOKENS)
        turns = [turn for shot in SHOTS[row["kind"]] for turn in shot] + [prompt]
        (greedy,) = answers(llm, turns, TOP, max_tokens=limit, **GREEDY)
        seed = seed_of(row["id"])
        samples = answers(llm, turns, 0, max_tokens=limit, n=SAMPLES, seed=seed, **SAMPLING)
        record = {
            "id": row["id"],
            "prompt": prompt,
            "response": greedy["text"],
            "samples": samples,
            "contexts": row.get("contexts", []),
            "reference": row["reference"],
            "logprobs": greedy["logprobs"],
            "meta": {
                "kind": row["kind"],
                "model": llm.name,
                "finish_reason": greedy["finish_reason"],
            },
        }
        records.append(record)
        print(f"{row['id']}: {record['response']}", flush=True)
    return records


def graded(records: list[Row], grades: list[Row]) -> list[Row]:
    """Add to each record the grade of exactly its response; without a grade it gets no label."""
    by_key = {(g["id"], g["response_hash"]): g for g in grades}
    out = []
    for old in records:
        record = {k: v for k, v in old.items() if k not in ("label", "unit_labels")}
        record["meta"] = {
            k: v for k, v in old["meta"].items() if k not in ("graded_by", "grading_note")
        }
        grade = by_key.get((record["id"], response_hash(record["response"])))
        if grade is None:
            print(f"not graded: {record['id']} {response_hash(record['response'])}")
        else:
            record["label"] = grade["label"]
            if "unit_labels" in grade:
                record["unit_labels"] = grade["unit_labels"]
            record["meta"]["graded_by"] = "the veridical project"
            record["meta"]["grading_note"] = grade["note"]
        out.append(record)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grade", action="store_true", help="merge the grades only")
    answers = HERE / "answers.jsonl"
    if parser.parse_args().grade:
        records = read_jsonl(answers)
    else:
        records = generate(read_jsonl(HERE / "prompts.jsonl"))
    lines = [
        json.dumps(r, ensure_ascii=False, separators=(",", ":"))
        for r in graded(records, read_jsonl(HERE / "grades.jsonl"))
    ]
    answers.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
