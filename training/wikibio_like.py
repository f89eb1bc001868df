"""Unlabelled Wikipedia-like passages with samples, for label-free quantile tables.

The passages are about the people and places below. None of them is a subject of the WikiBio
hallucination data, which is for evaluation only. The small local LLM writes them
(``examples/local_llm.py`` says what to install), so they are full of inventions. They have no
labels. About 25 minutes on one thread::

    python training/wikibio_like.py
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))
from local_llm import LocalLlm, seed_of  # noqa: E402

OUT = ROOT / "training" / "data" / "wikibio_like.jsonl"
#: Samples of each of the first FULL passages, and of each of the others.
SAMPLES, FEWER = 20, 5
FULL = 32
MAX_TOKENS = 120
#: Nucleus sizes taken in turn: from samples that mostly agree to samples that hardly do.
TOP_P = (0.5, 0.7, 0.9)

NAMES = """
Nikola Tesla; Ada Lovelace; Marie Curie; Johannes Kepler; Emmy Noether; Ibn Battuta; Zheng He
Hypatia of Alexandria; Leonhard Euler; Rosalind Franklin; Srinivasa Ramanujan; Charles Darwin
Florence Nightingale; Simon Bolivar; Frida Kahlo; Johannes Vermeer; Hokusai; Clara Schumann
Antonin Dvorak; Miles Davis; Ella Fitzgerald; Umm Kulthum; Akira Kurosawa; Ingmar Bergman
Buster Keaton; Chinua Achebe; Jane Austen; Rabindranath Tagore; Jorge Luis Borges; Naguib Mahfouz
Astrid Lindgren; Toni Morrison; Wangari Maathai; Nelson Mandela; Queen Victoria; Genghis Khan
Cleopatra; Joan of Arc; Otto von Bismarck; Catherine the Great; Harriet Tubman; Sitting Bull
Kemal Ataturk; Roald Amundsen; Amelia Earhart; Yuri Gagarin; Pele; Jesse Owens; Babe Ruth
Diego Maradona; Wilma Rudolph; Magnus Carlsen; Julia Child; Coco Chanel; Henry Ford
Lake Titicaca; Mount Kilimanjaro; Ljubljana; Timbuktu; Reykjavik; Samarkand; the Danube; Tasmania
the Great Barrier Reef; Angkor Wat; Machu Picchu; Zanzibar; Lake Baikal; Valparaiso; Edinburgh
""".replace("\n", ";")


def to_last_sentence(text: str) -> str:
    """Cut ``text`` after its last complete sentence, on one line; empty without any."""
    text = " ".join(text.split())
    ends = [m.end() for m in re.finditer(r"(?<![A-Z])[.!?][\"')\]]?(?=\s|$)", text)]
    return text[: ends[-1]] if ends else ""


def passage(llm: LocalLlm, name: str, **settings: float) -> str:
    """Write a passage that begins with ``name``: the model continues it in its own turn."""
    name = name[0].upper() + name[1:]
    prompt = (
        f"<|im_start|>user\nThis is a Wikipedia passage about {name}:<|im_end|>\n"
        f"<|im_start|>assistant\n{name}"
    )
    (choice,) = llm.complete(prompt, max_tokens=MAX_TOKENS, top_k=0, min_p=0, **settings)
    return to_last_sentence(name + choice["text"])


def main() -> None:
    llm = LocalLlm()
    names = [n.strip() for n in NAMES.split(";") if n.strip()]
    OUT.parent.mkdir(exist_ok=True)
    with OUT.open("w", encoding="utf-8") as out:
        for i, name in enumerate(names):
            # Without the penalty the greedy text of so small a model runs in circles.
            response = passage(llm, name, temperature=0, repeat_penalty=1.15, seed=0)
            top_p = TOP_P[i % len(TOP_P)]
            samples = [
                passage(llm, name, temperature=1, top_p=top_p, seed=seed_of(name, k))
                for k in range(SAMPLES if i < FULL else FEWER)
            ]
            row = {
                "id": name,
                "prompt": f"This is a Wikipedia passage about {name}:",
                "response": response,
                "samples": [s for s in samples if s],
                "meta": {"model": llm.name, "top_p": top_p},
            }
            if response and row["samples"]:
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
