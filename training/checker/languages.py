"""Rows in German, French, Spanish, Italian, Portuguese and Dutch, and across languages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from checker.examples import Example, Label, digest
from checker.worlds import place, title

LANGUAGES = ("de", "fr", "es", "it", "pt", "nl")
ENGLISH = "en"

#: A block for each property, with a line for each language. The parts of a line: label; two
#: sentences of a document; two statements; a statement that it is missing. For numbers also: {a}
#: has more of it than {b}.
_TEXTS = """
price
en|price|{n} costs {v} euros.|For {n} one pays {v} euros.|The price of {n} is {v} euros.|{n} is sold for {v} euros.|The price of {n} is not given.|{a} is more expensive than {b}.
de|Preis|{n} kostet {v} Euro.|Für {n} zahlt man {v} Euro.|Der Preis von {n} beträgt {v} Euro.|{n} wird für {v} Euro verkauft.|Der Preis von {n} wird nicht genannt.|{a} ist teurer als {b}.
fr|Prix|{n} coûte {v} euros.|Pour {n}, il faut payer {v} euros.|Le prix de {n} est de {v} euros.|{n} est en vente à {v} euros.|Le prix de {n} n'est pas indiqué.|{a} coûte plus cher que {b}.
es|Precio|{n} cuesta {v} euros.|Por {n} se pagan {v} euros.|El precio de {n} es de {v} euros.|{n} se vende a {v} euros.|No se indica el precio de {n}.|{a} cuesta más que {b}.
it|Prezzo|{n} costa {v} euro.|Per {n} si pagano {v} euro.|Il prezzo di {n} è di {v} euro.|{n} viene venduto a {v} euro.|Il prezzo di {n} non è indicato.|{a} costa più di {b}.
pt|Preço|{n} custa {v} euros.|Por {n} pagam-se {v} euros.|O preço de {n} é de {v} euros.|{n} vende-se por {v} euros.|O preço de {n} não é indicado.|{a} custa mais do que {b}.
nl|Prijs|{n} kost {v} euro.|Voor {n} betaalt men {v} euro.|De prijs van {n} is {v} euro.|{n} wordt verkocht voor {v} euro.|De prijs van {n} wordt niet genoemd.|{a} is duurder dan {b}.

weight
en|weight (kg)|{n} weighs {v} kg.|On the scales, {n} comes to {v} kg.|The weight of {n} is {v} kg.|{n} has a weight of {v} kg.|The weight of {n} is not given.|{a} is heavier than {b}.
de|Gewicht (kg)|{n} wiegt {v} kg.|Auf der Waage kommt {n} auf {v} kg.|Das Gewicht von {n} beträgt {v} kg.|{n} hat ein Gewicht von {v} kg.|Das Gewicht von {n} wird nicht genannt.|{a} ist schwerer als {b}.
fr|Poids (kg)|{n} pèse {v} kg.|Sur la balance, {n} affiche {v} kg.|Le poids de {n} est de {v} kg.|{n} a un poids de {v} kg.|Le poids de {n} n'est pas indiqué.|{a} pèse plus lourd que {b}.
es|Peso (kg)|{n} pesa {v} kg.|En la báscula, {n} marca {v} kg.|El peso de {n} es de {v} kg.|{n} tiene un peso de {v} kg.|No se indica el peso de {n}.|{a} pesa más que {b}.
it|Peso (kg)|{n} pesa {v} kg.|Sulla bilancia {n} segna {v} kg.|Il peso di {n} è di {v} kg.|{n} ha un peso di {v} kg.|Il peso di {n} non è indicato.|{a} pesa più di {b}.
pt|Peso (kg)|{n} pesa {v} kg.|Na balança, {n} marca {v} kg.|O peso de {n} é de {v} kg.|{n} tem um peso de {v} kg.|O peso de {n} não é indicado.|{a} pesa mais do que {b}.
nl|Gewicht (kg)|{n} weegt {v} kg.|Op de weegschaal komt {n} uit op {v} kg.|Het gewicht van {n} is {v} kg.|{n} heeft een gewicht van {v} kg.|Het gewicht van {n} wordt niet genoemd.|{a} is zwaarder dan {b}.

stock
en|in stock|There are {v} pieces of {n} in stock.|Of {n}, {v} pieces are left.|The stock of {n} is {v} pieces.|{v} pieces of {n} are available.|The stock of {n} is not given.|There is more of {a} in stock than of {b}.
de|Bestand|Von {n} sind {v} Stück auf Lager.|Es gibt noch {v} Stück von {n}.|Der Bestand von {n} liegt bei {v} Stück.|{v} Stück von {n} sind verfügbar.|Der Bestand von {n} wird nicht genannt.|Von {a} gibt es mehr Stück als von {b}.
fr|Stock|Il y a {v} pièces de {n} en stock.|De {n}, il reste {v} pièces.|Le stock de {n} est de {v} pièces.|{v} pièces de {n} sont disponibles.|Le stock de {n} n'est pas indiqué.|Il y a plus de pièces de {a} que de {b}.
es|Existencias|Hay {v} unidades de {n} en el almacén.|De {n} quedan {v} unidades.|Las existencias de {n} son de {v} unidades.|Están disponibles {v} unidades de {n}.|No se indican las existencias de {n}.|Hay más unidades de {a} que de {b}.
it|Scorta|Ci sono {v} pezzi di {n} in magazzino.|Di {n} restano {v} pezzi.|La scorta di {n} è di {v} pezzi.|Sono disponibili {v} pezzi di {n}.|La scorta di {n} non è indicata.|Ci sono più pezzi di {a} che di {b}.
pt|Estoque|Há {v} unidades de {n} no armazém.|De {n} restam {v} unidades.|O estoque de {n} é de {v} unidades.|Estão disponíveis {v} unidades de {n}.|O estoque de {n} não é indicado.|Há mais unidades de {a} do que de {b}.
nl|Voorraad|Er zijn {v} stuks van {n} op voorraad.|Van {n} zijn er nog {v} stuks.|De voorraad van {n} bedraagt {v} stuks.|Van {n} zijn {v} stuks beschikbaar.|De voorraad van {n} wordt niet genoemd.|Van {a} zijn er meer stuks dan van {b}.

warranty
en|warranty (months)|{n} comes with a warranty of {v} months.|The maker guarantees {n} for {v} months.|The warranty on {n} lasts {v} months.|{n} is under warranty for {v} months.|The length of the warranty on {n} is not given.|The warranty on {a} is longer than that on {b}.
de|Garantie (Monate)|Auf {n} gibt es {v} Monate Garantie.|Der Hersteller garantiert für {n} {v} Monate lang.|Die Garantie für {n} gilt {v} Monate.|{n} hat eine Garantie von {v} Monaten.|Die Dauer der Garantie für {n} wird nicht genannt.|Die Garantie für {a} gilt länger als die für {b}.
fr|Garantie (mois)|{n} est garanti {v} mois.|Le fabricant donne {v} mois de garantie sur {n}.|La garantie de {n} dure {v} mois.|{n} bénéficie d'une garantie de {v} mois.|La durée de la garantie de {n} n'est pas indiquée.|La garantie de {a} dure plus longtemps que celle de {b}.
es|Garantía (meses)|{n} tiene {v} meses de garantía.|El fabricante da {v} meses de garantía sobre {n}.|La garantía de {n} dura {v} meses.|{n} cuenta con una garantía de {v} meses.|No se indica la duración de la garantía de {n}.|La garantía de {a} dura más que la de {b}.
it|Garanzia (mesi)|{n} ha {v} mesi di garanzia.|Il produttore dà {v} mesi di garanzia su {n}.|La garanzia di {n} dura {v} mesi.|{n} è coperto da una garanzia di {v} mesi.|La durata della garanzia di {n} non è indicata.|La garanzia di {a} dura più di quella di {b}.
pt|Garantia (meses)|{n} tem {v} meses de garantia.|O fabricante dá {v} meses de garantia para {n}.|A garantia de {n} dura {v} meses.|{n} conta com uma garantia de {v} meses.|A duração da garantia de {n} não é indicada.|A garantia de {a} dura mais do que a de {b}.
nl|Garantie (maanden)|{n} heeft {v} maanden garantie.|De fabrikant geeft {v} maanden garantie op {n}.|De garantie op {n} duurt {v} maanden.|Op {n} zit een garantie van {v} maanden.|De duur van de garantie op {n} wordt niet genoemd.|De garantie op {a} duurt langer dan die op {b}.

colour
en|colour|{n} is made in {v}.|The colour of {n}: {v}.|{n} comes in {v}.|The colour of {n} is {v}.|The colour of {n} is not given.|
de|Farbe|{n} wird in {v} gefertigt.|Die Farbe von {n}: {v}.|{n} gibt es in {v}.|{n} hat die Farbe {v}.|Die Farbe von {n} wird nicht genannt.|
fr|Couleur|{n} est fabriqué en {v}.|La couleur de {n} : {v}.|{n} existe en {v}.|La couleur de {n} est le {v}.|La couleur de {n} n'est pas indiquée.|
es|Color|{n} se fabrica en {v}.|El color de {n}: {v}.|{n} se ofrece en {v}.|El color de {n} es el {v}.|No se indica el color de {n}.|
it|Colore|{n} è prodotto in {v}.|Il colore di {n}: {v}.|{n} è disponibile in {v}.|Il colore di {n} è il {v}.|Il colore di {n} non è indicato.|
pt|Cor|{n} é fabricado em {v}.|A cor de {n}: {v}.|{n} está disponível em {v}.|A cor de {n} é o {v}.|A cor de {n} não é indicada.|
nl|Kleur|{n} wordt in het {v} gemaakt.|De kleur van {n}: {v}.|{n} is er in het {v}.|De kleur van {n} is {v}.|De kleur van {n} wordt niet genoemd.|

origin
en|place of production|{n} is made in {v}.|The plant that makes {n} is in {v}.|{v} is where {n} is made.|{n} comes from {v}.|Where {n} is made is not stated.|
de|Herstellungsort|{n} wird in {v} hergestellt.|Das Werk für {n} steht in {v}.|Hergestellt wird {n} in {v}.|{n} kommt aus {v}.|Wo {n} hergestellt wird, steht nicht da.|
fr|Lieu de production|{n} est produit à {v}.|L'usine de {n} se trouve à {v}.|C'est à {v} que {n} est produit.|{n} vient de {v}.|Le lieu de production de {n} n'est pas précisé.|
es|Lugar de producción|{n} se produce en {v}.|La fábrica de {n} está en {v}.|Es en {v} donde se produce {n}.|{n} viene de {v}.|No se dice dónde se produce {n}.|
it|Luogo di produzione|{n} si produce a {v}.|La fabbrica di {n} si trova a {v}.|È a {v} che si produce {n}.|{n} viene da {v}.|Non è detto dove si produce {n}.|
pt|Local de produção|{n} é produzido em {v}.|A fábrica de {n} fica em {v}.|É em {v} que se produz {n}.|{n} vem de {v}.|Não se diz onde {n} é produzido.|
nl|Plaats van productie|{n} wordt in {v} gemaakt.|De fabriek van {n} staat in {v}.|In {v} wordt {n} gemaakt.|{n} komt uit {v}.|Waar {n} wordt gemaakt, staat er niet.|

delivery
en|delivery (days)|{n} is delivered within {v} days.|The delivery of {n} takes {v} days.|{n} arrives after {v} days.|For {n}, delivery takes {v} days.|How long the delivery of {n} takes is not stated.|The delivery of {a} takes longer than that of {b}.
de|Lieferzeit (Tage)|{n} wird binnen {v} Tagen geliefert.|Die Lieferung von {n} dauert {v} Tage.|{n} kommt nach {v} Tagen an.|Die Lieferzeit von {n} beträgt {v} Tage.|Wie lange die Lieferung von {n} dauert, steht nicht da.|Die Lieferung von {a} dauert länger als die von {b}.
fr|Livraison (jours)|{n} est livré sous {v} jours.|La livraison de {n} prend {v} jours.|{n} arrive au bout de {v} jours.|Le délai de livraison de {n} est de {v} jours.|Le délai de livraison de {n} n'est pas précisé.|La livraison de {a} prend plus de temps que celle de {b}.
es|Entrega (días)|{n} se entrega en {v} días.|La entrega de {n} tarda {v} días.|{n} llega al cabo de {v} días.|El plazo de entrega de {n} es de {v} días.|No se dice cuánto tarda la entrega de {n}.|La entrega de {a} tarda más que la de {b}.
it|Consegna (giorni)|{n} viene consegnato entro {v} giorni.|La consegna di {n} richiede {v} giorni.|{n} arriva dopo {v} giorni.|I tempi di consegna di {n} sono di {v} giorni.|Non è detto quanto tempo richieda la consegna di {n}.|La consegna di {a} richiede più tempo di quella di {b}.
pt|Entrega (dias)|{n} é entregue em {v} dias.|A entrega de {n} demora {v} dias.|{n} chega ao fim de {v} dias.|O prazo de entrega de {n} é de {v} dias.|Não se diz quanto demora a entrega de {n}.|A entrega de {a} demora mais do que a de {b}.
nl|Levertijd (dagen)|{n} wordt binnen {v} dagen geleverd.|De levering van {n} duurt {v} dagen.|{n} komt na {v} dagen aan.|De levertijd van {n} is {v} dagen.|Hoe lang de levering van {n} duurt, staat er niet.|De levering van {a} duurt langer dan die van {b}.
"""  # noqa: E501
_NUMBERS = {
    "price": (5, 900, Decimal("0.10")),
    "weight": (1, 60, Decimal("0.5")),
    "stock": (2, 400, Decimal(1)),
    "warranty": (6, 60, Decimal(6)),
    "delivery": (2, 40, Decimal(1)),
}
_COLOURS = {
    "en": "red green black white blue yellow grey", "de": "Rot Grün Schwarz Weiß Blau Gelb Grau",
    "fr": "rouge vert noir blanc bleu jaune gris",
    "es": "rojo verde negro blanco azul amarillo gris",
    "it": "rosso verde nero bianco blu giallo grigio",
    "pt": "vermelho verde preto branco azul amarelo cinzento",
    "nl": "rood groen zwart wit blauw geel grijs",
}  # fmt: skip

Value = Decimal | str | int  # a number, a place, the number of a colour


@dataclass(frozen=True)
class Wording:
    """The words of a language for a property."""

    label: str
    facts: tuple[str, str]
    claims: tuple[str, str]
    missing: str
    more: str


def wordings() -> dict[str, dict[str, Wording]]:
    """Return the wordings of each property, by language."""
    found: dict[str, dict[str, Wording]] = {}
    for block in _TEXTS.strip().split("\n\n"):
        name, *rows = block.splitlines()
        found[name] = {}
        for row in rows:
            language, label, one, two, first, second, missing, more = row.split("|")
            found[name][language] = Wording(label, (one, two), (first, second), missing, more)
    return found


_WORDINGS = wordings()


def shown(value: Value, language: str, name: str) -> str:
    """Return a value in a language."""
    if isinstance(value, int):
        return _COLOURS[language].split()[value]
    if isinstance(value, str):
        return value
    text = f"{value:.2f}" if name == "price" else f"{value.normalize():f}"
    return text if language == ENGLISH else text.replace(".", ",")


Things = dict[str, dict[str, Value]]


def _draw(name: str, rng: random.Random) -> Value:
    if name == "colour":
        return rng.randrange(7)
    if name == "origin":
        return place(rng)
    low, high, step = _NUMBERS[name]
    return low + step * rng.randint(0, int((high - low) / step))


def _things(rng: random.Random) -> Things:
    chosen = rng.sample(sorted(_WORDINGS), rng.randint(3, 6))
    names = list(dict.fromkeys(title(rng) for _ in range(rng.randint(3, 6))))
    return {n: {name: _draw(name, rng) for name in chosen} for n in names}


def text_of(things: Things, language: str, form: str, rng: random.Random) -> str:
    """Return a document about things, in sentences, lines or as a table."""
    first = next(iter(things.values()))
    if form == "table":
        rows = [["", *(_WORDINGS[p][language].label for p in first)], ["---"] * (len(first) + 1)]
        rows += [[n, *(shown(v, language, p) for p, v in own.items())] for n, own in things.items()]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)
    parts = []
    for n, own in things.items():
        if form == "lines":
            lines = [
                f"{_WORDINGS[p][language].label}: {shown(v, language, p)}" for p, v in own.items()
            ]
            parts.append("\n".join([n, *lines]))
        else:
            facts = [
                rng.choice(_WORDINGS[p][language].facts).format(n=n, v=shown(v, language, p))
                for p, v in own.items()
            ]
            parts.append(" ".join(rng.sample(facts, len(facts))))
    return "\n\n".join(parts)


def languages(rng: random.Random, most: int) -> Iterator[Example]:
    """Yield `language`, `cross_language`: a right statement and one by other values, or of a gap.

    In `cross_language` the statement is in another language than the document; one of both is
    sometimes in English.
    """
    for _ in range(most // 2):
        things = _things(rng)
        names = list(things)
        if len(names) < 2:
            continue
        one, other = rng.sample(names, 2)
        name = rng.choice(list(things[one]))
        mine, theirs = things[one][name], things[other][name]
        if mine == theirs:
            continue
        turned = {
            n: {p: (theirs if n == one else mine) if p == name and n in (one, other) else v
                for p, v in own.items()}
            for n, own in things.items()
        }  # fmt: skip
        gap = {n: {p: v for p, v in own.items() if p != name} for n, own in things.items()}
        language = told_in = rng.choice(LANGUAGES)
        if rng.random() < 0.4:
            told_in = rng.choice([x for x in (*LANGUAGES, ENGLISH, ENGLISH) if x != language])
            if rng.random() < 0.3 and told_in != ENGLISH:
                language = ENGLISH
        kind = "language" if told_in == language else "cross_language"
        form = rng.choice(["prose", "prose", "lines", "table"])
        wording = _WORDINGS[name][told_in]
        what = rng.random()
        rows: list[tuple[Things, str, Label]]
        if what < 0.25:
            said = wording.missing.format(n=one)
            rows = [(gap, said, "supported"), (things, said, "contradicted")]
        else:
            if what < 0.5 and wording.more and mine != theirs:
                up = mine > theirs  # type: ignore[operator]
                a, b = (one, other) if up else (other, one)
                right, wrong = (wording.more.format(a=x, b=y) for x, y in ((a, b), (b, a)))
            else:
                frame = rng.choice(wording.claims)
                right, wrong = (
                    frame.format(n=one, v=shown(v, told_in, name)) for v in (mine, theirs)
                )
            if rng.random() < 0.5:  # the other world is the document's
                things, right, wrong = turned, wrong, right
            rows = [(things, right, "supported")]
            if rng.random() < 0.35:
                rows.append((gap, right, "not_stated"))
            else:
                rows.append((things, wrong, "contradicted"))
        group = digest(text_of(things, language, "lines", rng))
        for of, statement, label in rows:
            document = text_of(of, language, form, rng)
            yield Example(
                document, statement, label, kind, f"{kind}/{language}-{told_in}", group, paired=True
            )
