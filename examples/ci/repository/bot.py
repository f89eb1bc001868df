"""A bot that answers from a passage.

Its answer is the sentence that shares most words with the question.
``python bot.py`` prints its answers to questions.jsonl, as veridical reads them.
"""

import json
import re
from pathlib import Path


def answer(question: str, passage: str) -> str:
    sentences = re.split(r"(?<=[.!?])\s+", passage)
    return max(sentences, key=lambda sentence: len(words(question) & words(sentence)))


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


if __name__ == "__main__":
    for line in Path("questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        row["response"] = answer(row["question"], row["contexts"][0])
        print(json.dumps(row))
