"""Claims checked against a 300-page reference: time and evidence found.

    python benchmarks/claims_long_reference.py [--pages 300] [--claims 100] [--select bm25] ...

Writes a reference of invented people, firms, rivers and buildings (about 3 000 characters a page).
Each has several facts, so that every claim has many near misses. These are the same kind of fact of
others, and other facts of the same. Claims have other words than the reference. Of ten, seven are
supported, two have another number or place, and one is about something that the reference does not
mention. Printed are:

* the time from the text to the verdicts, with loaded models and an empty store;
* the share of planted sentences among the passages that were selected;
* evidence recall, their share among the evidence of supported and contradicted claims;
* the verdicts.

The exit status is 1 if evidence recall is under 0.95, or the time over 60 seconds on an otherwise
idle machine.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import NamedTuple

import veridical
from veridical.claims import Verdict, check
from veridical.claims.select import Selection, select
from veridical.text.passages import SIZE, windows

PAGE = 3000
RECALL, SECONDS = 0.95, 60.0


class Fact(NamedTuple):
    """A sentence of the reference, a claim in other words, and the claim with a wrong value."""

    sentence: str
    claim: str
    wrong: str


class Writer:
    """Invents things and says things about them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._used: set[str] = set()

    def name(self) -> str:
        onsets = [*"bcdfghklmnprstvwz", "br", "dr", "gr", "pr", "st", "tr"]
        while True:
            parts = self._random.randint(2, 3)
            made = "".join(
                self._random.choice(onsets) + self._random.choice("aeiou") for _ in range(parts)
            )
            made = (made + self._random.choice(["", "n", "r", "l", "s"])).capitalize()
            if made not in self._used:
                self._used.add(made)
                return made

    def year(self) -> tuple[int, int]:
        """Draw a year, and another."""
        year = self._random.randint(1650, 2010)
        return year, year + self._random.choice([-21, -8, -3, 4, 9, 17])

    def thing(self) -> list[Fact]:
        """Write all facts about one thing."""
        kind = self._random.choice([self._person, self._firm, self._river, self._building])
        return kind()

    def _person(self) -> list[Fact]:
        name, town, other, school, home = (self.name() for _ in range(5))
        full = f"{self.name()} {name}"
        born, wrong = self.year()
        n = self._random.randint(2, 9)
        craft = self._random.choice(["painter", "physician", "botanist", "composer", "lawyer"])
        return [
            Fact(
                f"{full}, a {craft}, was born in {town} in {born}.",
                f"The birthplace of {full} was {town}.",
                f"The birthplace of {full} was {other}.",
            ),
            Fact(
                f"In {born + 24} {full} completed a degree at the University of {school}.",
                f"{full} graduated from the University of {school} in {born + 24}.",
                f"{full} graduated from the University of {school} in {wrong + 25}.",
            ),
            Fact(
                f"{full} and a spouse from {home} raised {n} children.",
                f"{full} had {n} children.",
                f"{full} had {n + 3} children.",
            ),
        ]

    def _firm(self) -> list[Fact]:
        name, town, other, founder = (self.name() for _ in range(4))
        firm = f"{name} {self._random.choice(['Works', 'Shipping', 'Mills', 'Instruments'])}"
        year, wrong = self.year()
        staff = self._random.randint(11, 98) * 100
        return [
            Fact(
                f"{founder} set up {firm} in {year} with borrowed money.",
                f"{firm} was founded in {year}.",
                f"{firm} was founded in {wrong}.",
            ),
            Fact(
                f"The head office of {firm} lies in {town}, near the old harbour.",
                f"{firm} is headquartered in {town}.",
                f"{firm} is headquartered in {other}.",
            ),
            Fact(
                f"At its peak {firm} gave work to {staff} people.",
                f"{firm} once employed {staff} people.",
                f"{firm} once employed {staff + 1700} people.",
            ),
        ]

    def _river(self) -> list[Fact]:
        name, lake, town, other = (self.name() for _ in range(4))
        length = self._random.randint(40, 900)
        return [
            Fact(
                f"The River {name} rises north of {town} and empties into Lake {lake}.",
                f"The River {name} flows into Lake {lake}.",
                f"The River {name} flows into Lake {other}.",
            ),
            Fact(
                f"From source to mouth the River {name} measures {length} kilometres.",
                f"The River {name} is {length} kilometres long.",
                f"The River {name} is {length + 230} kilometres long.",
            ),
        ]

    def _building(self) -> list[Fact]:
        name, town, maker = (self.name() for _ in range(3))
        kind = self._random.choice(["Tower", "Cathedral", "Theatre", "Library"])
        year, wrong = self.year()
        height = self._random.randint(20, 180)
        return [
            Fact(
                f"{maker} drew the plans for {name} {kind}, which opened its doors in {year}.",
                f"{name} {kind} was opened in {year}.",
                f"{name} {kind} was opened in {wrong}.",
            ),
            Fact(
                f"Visitors to {town} can see {name} {kind}, {height} metres high, from afar.",
                f"{name} {kind} is {height} metres tall.",
                f"{name} {kind} is {height + 35} metres tall.",
            ),
        ]

    def filler(self) -> str:
        """Write a sentence that is not about any of them."""
        pick = self._random.choice
        opening = pick(["It is said that", "As was usual then,", "What is more,", "In the end"])
        subject = pick(
            ["the archive", "a later edition", "the committee", "local tradition", "one traveller"]
        )
        does = pick(["was silent about", "had little to say on", "once spoke at length of"])
        what = pick(
            ["the weather of those years", "the roads", "the harvest", "trade with the coast"]
        )
        return f"{opening} {subject} {does} {what}."


class PlantedClaim(NamedTuple):
    """A claim, its right label, and the sentence of the reference that decides it."""

    claim: str
    label: str
    sentence: str | None


def write(pages: int, claims: int, seed: int) -> tuple[str, list[PlantedClaim]]:
    """Write the reference, and the claims about it."""
    rng, writer = random.Random(seed), Writer(seed)
    facts: list[Fact] = []
    sentences: list[str] = []
    size = 0
    while size < pages * PAGE:
        for fact in writer.thing():
            facts.append(fact)
            said = [fact.sentence, *(writer.filler() for _ in range(rng.randint(0, 2)))]
            sentences += said
            size += sum(len(x) + 1 for x in said)
    paragraphs = [" ".join(sentences[i : i + 12]) for i in range(0, len(sentences), 12)]
    asked = []
    for i, fact in enumerate(rng.sample(facts, claims)):
        if i % 10 < 7:
            asked.append(PlantedClaim(fact.claim, "entailment", fact.sentence))
        elif i % 10 < 9:
            asked.append(PlantedClaim(fact.wrong, "contradiction", fact.sentence))
        else:
            asked.append(PlantedClaim(rng.choice(writer.thing()).claim, "neutral", None))
    return "\n\n".join(paragraphs), asked


@veridical.scorer("selected", level="response", source="", cost="nli", uses={"embed"})
async def selected(
    record: veridical.Record,
    evidence: veridical.Evidence,
    *,
    how: Selection = "bm25",
    top: int = 8,
    size: int = SIZE,
) -> veridical.Score:
    """Return the passages that a selection keeps, as ``raw``."""
    passages = [w.text for w in windows(record.contexts[0].text, size)]
    kept = await select(record.meta["asked"], passages, evidence, how=how, top=top)
    return veridical.Score.of(0.0, raw={"kept": [[passages[i] for i in ids] for ids in kept]})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--claims", type=int, default=100)
    parser.add_argument("--top", type=int, default=8)
    parser.add_argument("--window", type=int, default=SIZE, help="characters of a passage")
    parser.add_argument("--merge", default="about", choices=["about", "any", "conflict"])
    parser.add_argument("--select", default="bm25", help="bm25, embedding, cross_encoder, several")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    text, asked = write(arguments.pages, arguments.claims, arguments.seed)
    decided = [a for a in asked if a.sentence is not None]
    count = len(windows(text, arguments.window))
    print(
        f"{arguments.pages} pages: {len(text):,} characters, {count} passages; "
        f"{len(asked)} claims, {len(decided)} of them supported or contradicted"
    )
    good = True
    for how in arguments.select.split(","):
        with veridical.Engine(store=None) as engine:
            verdicts, seconds, cpu = timed(text, asked, how, arguments, engine)
            row = {"response": "x", "contexts": text, "asked": [a.claim for a in decided]}
            scorer = f"selected(how={how}, top={arguments.top}, size={arguments.window})"
            (result,) = veridical.check([row], scorer, engine=engine)
        (score,) = result.scores.values()
        kept = score.raw["kept"]
        among = [any(a.sentence in p for p in ps) for a, ps in zip(decided, kept, strict=True)]
        recall = {
            label: [
                any(a.sentence in e.text or e.text in a.sentence for e in v.evidence)
                for a, v in zip(asked, verdicts, strict=True)
                if a.sentence is not None and label in ("all", a.label)
            ]
            for label in ("all", "entailment", "contradiction")
        }
        shown = {label: sum(hits) / len(hits) for label, hits in recall.items()}
        exact = all(text[e.start : e.end] == e.text for v in verdicts for e in v.evidence)
        print(f"{how}, top {arguments.top}, window {arguments.window}, merge {arguments.merge}")
        print(f"  {seconds:.1f} s ({cpu:.1f} s of processor time)")
        print(f"  selection recall {sum(among) / len(among):.3f}")
        print(
            f"  evidence recall {shown['all']:.3f}: of supported claims "
            f"{shown['entailment']:.3f}, of contradicted ones {shown['contradiction']:.3f}"
        )
        print(f"  offsets exact: {exact}")
        for label in ("entailment", "contradiction", "neutral"):
            of = [v.label for a, v in zip(asked, verdicts, strict=True) if a.label == label]
            print(f"  {label} expected: {dict(Counter(of))}")
        good = good and exact and shown["all"] >= RECALL and seconds <= SECONDS
    return 0 if good else 1


def timed(
    text: str,
    asked: list[PlantedClaim],
    how: str,
    arguments: argparse.Namespace,
    engine: veridical.Engine,
) -> tuple[list[Verdict], float, float]:
    check("Models load.", "Models load at first use.", engine=engine)
    started, worked = time.perf_counter(), time.process_time()
    verdicts = check(
        [a.claim for a in asked],
        text,
        select=how,  # type: ignore[arg-type]
        top=arguments.top,
        window=arguments.window,
        merge=arguments.merge,
        engine=engine,
    )
    return verdicts, time.perf_counter() - started, time.process_time() - worked


if __name__ == "__main__":
    sys.exit(main())
