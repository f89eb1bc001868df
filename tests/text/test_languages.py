"""The language of a text, recognised by its common words and letters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.languages import known_language, language_of
from veridical.text.sentences import split_sentences

SENTENCES = {
    "de": "Der Turm wurde im Jahr 1912 von der Stadt gebaut.",
    "fr": "La tour a été construite en 1912 par la ville.",
    "es": "La torre fue construida en 1912 por la ciudad.",
    "pt": "A torre foi construída pela cidade em 1912 e não tem elevador.",
    "it": "La torre è stata costruita dalla città nel 1912.",
    "nl": "De toren is in 1912 door de stad gebouwd.",
    "sv": "Tornet byggdes av staden år 1912 och är inte öppet.",
    "da": "Tårnet blev bygget af byen i 1912 og er ikke åbent.",
    "no": "Tårnet ble bygget av byen etter 1912 og er ikke åpent.",
    "fi": "Torni on rakennettu vuonna 1912 ja se ei ole auki.",
    "pl": "Wieża została zbudowana przez miasto w 1912 roku.",
    "cs": "Věž byla postavena městem v roce 1912 a není otevřená.",
    "sk": "Veža bola postavená mestom v roku 1912 a nie je otvorená.",
    "hu": "A torony 1912-ben épült, és nem látogatható.",
    "ro": "Turnul a fost construit de oraș în 1912 și nu este deschis.",
    "tr": "Kule 1912 yılında şehir tarafından yapıldı.",
    "vi": "Tòa tháp được thành phố xây dựng vào năm 1912.",
    "id": "Menara ini dibangun oleh kota pada tahun 1912 dan tidak dibuka.",
    "ca": "La torre va ser construïda per la ciutat el 1912 i no és oberta amb guia.",
    "lv": "Tornis ir uzcelts pilsētā, bet nav atvērts.",
    "lt": "Bokštas yra pastatytas mieste, bet nėra atidarytas.",
    "Cyrillic": "Башня была построена городом в 1912 году.",
    "Greek": "Ο πύργος χτίστηκε από την πόλη το 1912.",
    "Han": "这座塔建于1912年。",
    "Hangul": "이 탑은 1912년에 지어졌다.",
}
ENGLISH = [
    "The tower was built in 1912 by the city.",
    "José Álvarez and Łukasz Żak met in the café on Rue de la Paix.",
    "She earned a doctorate in Zürich.",
    "It is called 'la tour Eiffel' by those who live there.",
    "Most of them die in the war, so it was on.",
    "Run it with --user=dan and wait.",
]
#: Names, figures, code, short and mixed texts.
NEITHER = [
    "",
    "42",
    "Anna Keller",
    "Ludwig van Beethoven, Johann Sebastian Bach",
    "Rio de Janeiro, Le Havre, Los Angeles",
    "{'die': 3, 'der': 4}",
    "SELECT name FROM und WHERE id = 3",
    "`die das und der ist`",
    "pip install numpy",
    "Paris.",
    "https://example.org/der/die/das/und/ist",
    "The motto is Liberté, égalité, fraternité.",
    "Naïve Bayes, café, résumé",
]


@pytest.mark.parametrize("language", SENTENCES)
def test_a_single_sentence_is_recognised(language: str) -> None:
    assert language_of(SENTENCES[language]) == language


@pytest.mark.parametrize("text", ENGLISH)
def test_english_with_foreign_names_and_words(text: str) -> None:
    assert language_of(text) == "en"


@pytest.mark.parametrize("text", NEITHER)
def test_what_has_no_language(text: str) -> None:
    assert language_of(text) in (None, "en")


def test_a_mixture_has_no_foreign_language() -> None:
    mixed = "The tower was built in 1912 by the city. " + SENTENCES["de"]
    assert language_of(mixed) in (None, "en")


def test_the_first_text_with_a_language_counts() -> None:
    assert known_language(["Anna Keller", SENTENCES["it"], ENGLISH[0]]) == "it"
    assert known_language(["Anna Keller", "1912"]) is None
    assert known_language([]) is None


@pytest.mark.parametrize("piece", ["é", "de ", "a.b_c/", "`", "http://", "ñandú die ", "x" * 50])
def test_time_is_linear_in_the_length(piece: str) -> None:
    assert growth(language_of.__wrapped__, repeated(piece)) < MOST  # it remembers texts


@pytest.mark.data
def test_public_english_sentences(shared_data: Path) -> None:
    with (shared_data / "halueval" / "dataset_halueval_qa.jsonl").open(encoding="utf-8") as lines:
        texts = [json.loads(line)["knowledge"] for line, _ in zip(lines, range(500), strict=False)]
    found = [language_of(s.text) for text in texts for s in split_sentences(text)]
    assert sum(language not in (None, "en") for language in found) < 0.002 * len(found)
    assert found.count("en") > 0.6 * len(found)


def test_a_name_in_front_is_no_word_of_another_language() -> None:
    for text in ("Dan Frost was born in Oslo.", "Sam Es was born in Rome."):
        assert language_of(text) in (None, "en")
    assert language_of("La France est grande et belle.") == "fr"
    assert language_of("Der Berg ist hoch.") == "de"
