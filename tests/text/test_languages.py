"""Which texts read as English."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veridical.text.languages import reads_as_english

ENGLISH = "The tower was built in 1912 by the city. It is 57 m tall, and many people visit it."
OTHERS = {
    "German": "Der Turm wurde im Jahr 1912 von der Stadt gebaut. Er ist 57 m hoch und wird von "
    "vielen Leuten besucht, die in der Stadt wohnen oder dort arbeiten.",
    "French": "La tour a été construite en 1912 par la ville. Elle mesure 57 m de haut, et "
    "beaucoup de gens la visitent chaque année pendant les vacances.",
    "Spanish": "La torre fue construida en 1912 por la ciudad. Mide 57 m de altura y muchas "
    "personas la visitan cada año durante las vacaciones de verano.",
    "Dutch": "De toren is in 1912 door de stad gebouwd. Hij is 57 m hoog en wordt elk jaar door "
    "veel mensen bezocht die in de stad wonen of er werken.",
    "Russian": "Башня была построена городом в 1912 году. Её высота 57 метров, и каждый год её "
    "посещают многие люди, которые живут или работают в этом городе.",
}


def test_english() -> None:
    assert reads_as_english([ENGLISH] * 3) is True


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages(language: str) -> None:
    assert reads_as_english([OTHERS[language]] * 2) is False


def test_too_little_to_tell() -> None:
    assert reads_as_english(["Paris.", "Mali."]) is None


@pytest.mark.data
def test_public_english_texts(shared_data: Path) -> None:
    with (shared_data / "halueval" / "dataset_halueval_qa.jsonl").open(encoding="utf-8") as lines:
        texts = [json.loads(line)["knowledge"] for line, _ in zip(lines, range(500), strict=False)]
    tens = [texts[i : i + 10] for i in range(0, 500, 10)]
    assert all(reads_as_english(ten) for ten in tens)
