"""Rows about invented records: right, wrong, not stated, missing, and as data."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from checker.claims import COMPUTED, LOOKUPS, Claim, Maker, draw, sentence
from checker.examples import Example, Label, digest
from checker.rendering import PROSE, RECORDS, TABLES, Shape, entries, markdown, said
from checker.worlds import World, make_world, other_world, without_column, without_row

WORLDS_TRIED = 30


def false_claim(
    makers: tuple[Maker, ...], world: World, rng: random.Random
) -> tuple[Claim, World] | None:
    """Return a claim that holds in another world of the same names and not in this one."""
    for _ in range(WORLDS_TRIED):
        other = other_world(world, rng)
        claim = draw(makers, other, rng)
        if claim.fails(world):
            return claim, other
    return None


def hidden(claim: Claim, world: World, rng: random.Random) -> World | None:
    """Return the world without a column, or the thing, that a claim is about."""
    if claim.rows and len(world.rows) > 3 and rng.random() < 0.35:
        return without_row(world, rng.choice(claim.rows))
    if len(world.columns) < 3:
        return None
    label = rng.choice(claim.columns)
    column = next(c for c in world.columns if c.label == label)
    return without_column(world, column)


def shapes(kind: str) -> dict[str, Shape]:
    return {"table": TABLES, "record": RECORDS, "prose": PROSE}[kind]


def heading(world: World, rng: random.Random) -> str:
    """Return a line that says what the document lists, or nothing."""
    return rng.choice([
        "", "", f"Overview of {world.plural}\n\n", f"# {world.plural.capitalize()}\n\n",
        f"The {len(world.rows)} {world.plural} on file:\n\n", f"List of {world.plural}.\n\n",
    ])  # fmt: skip


def record_rows(
    kind: str, makers: tuple[Maker, ...], shape: str, rng: random.Random, most: int
) -> Iterator[Example]:
    """Yield rows of one shape of document, half of them right.

    A wrong statement holds in a world that differs from the document's in some values. One that
    is not stated needs a column or a thing that the document leaves out. Statements of all three
    labels are drawn in the same way.
    """
    for _ in range(most):
        world = make_world(rng)
        name, render = rng.choice(sorted(shapes(shape).items()))
        draws: list[Label] = ["supported", "contradicted", "not_stated"]
        (label,) = rng.choices(draws, [50, 30, 20])
        shown: World | None = world
        if label == "contradicted":
            found = false_claim(makers, world, rng)
            if found is None:
                continue
            claim, _ = found
        else:
            claim = draw(makers, rng.choice([world, other_world(world, rng)]), rng)
            if label == "supported":
                claim = draw(makers, world, rng)
            else:
                shown = hidden(claim, world, rng)
        if shown is None:
            continue
        document = heading(shown, rng) + render(shown, rng)
        yield Example(
            document, claim.text, label, kind, f"{kind}/{name}/{claim.kind}", digest(document),
            paired=True, topic=world.noun,
        )  # fmt: skip


def tables(rng: random.Random, most: int) -> Iterator[Example]:
    """Yield `table`: looked up and computed, in Markdown, CSV and HTML."""
    yield from record_rows("table", LOOKUPS, "table", rng, most // 2)
    yield from record_rows("table_computed", COMPUTED, "table", rng, most - most // 2)


def records(rng: random.Random, most: int) -> Iterator[Example]:
    """Yield `record`: JSON, YAML, TOML, key-value lines, code, SQL and XML."""
    yield from record_rows("record", LOOKUPS, "record", rng, most // 2)
    yield from record_rows("record_computed", COMPUTED, "record", rng, most - most // 2)


def told(rng: random.Random, most: int) -> Iterator[Example]:
    """Yield `prose`: the same in sentences."""
    yield from record_rows("prose", LOOKUPS, "prose", rng, most // 2)
    yield from record_rows("prose_computed", COMPUTED, "prose", rng, most - most // 2)


# --- saying that something is missing -------------------------------------------------------


def abstentions(rng: random.Random, most: int) -> Iterator[Example]:
    """Yield `abstention`: the same words for a missing value (right) and for a given one."""
    for _ in range(most // 2):
        world = make_world(rng)
        name = rng.choice(list(world.rows))
        column = rng.choice(world.columns)
        others = [c for c in world.columns if c != column]
        if len(others) < 2:
            continue
        render = rng.choice(sorted({**TABLES, **RECORDS, **PROSE}.items()))[1]
        label = column.label
        known = rng.choice(others)
        value = said(world.rows[name][known.label], known, rng)
        text = rng.choice([
            f"the document does not say what the {label} of {name} is",
            f"no {label} is given for {name}",
            f"I cannot find the {label} of {name} in what was provided",
            f"there is no information on the {label} of {name}",
            f"the {known.label} of {name} is {value}, but its {label} is not mentioned",
            f"for {name} a {known.label} of {value} is listed; nothing is said of its {label}",
        ])  # fmt: skip
        cases: list[tuple[World, Label]] = [
            (without_column(world, column), "supported"), (world, "contradicted")
        ]  # fmt: skip
        group = digest(markdown(world, rng))
        for shown, verdict in cases:
            document = heading(shown, rng) + render(shown, rng)
            yield Example(
                document,
                sentence(text),
                verdict,
                "abstention",
                "abstention",
                group,
                paired=True,
                topic=world.noun,
            )


# --- answers in the form of data ------------------------------------------------------------


def data_answers(rng: random.Random, most: int) -> Iterator[Example]:
    """Yield `data_answer`: a thing's entry as JSON or a table, from this world or another."""
    for _ in range(most // 2):
        world = make_world(rng)
        other = other_world(world, rng)
        name = rng.choice(list(world.rows))
        kept = rng.sample(world.columns, rng.randint(2, len(world.columns)))
        labels = [c.label for c in kept]
        if all(world.rows[name][n] == other.rows[name][n] for n in labels):
            continue
        changed = [n for n in labels if world.rows[name][n] != other.rows[name][n]]
        # one value is wrong, not all of them
        wrong = rng.choice(changed)
        values = {n: world.rows[name][n] for n in labels} | {wrong: other.rows[name][wrong]}
        near = World(world.noun, world.plural, world.columns, {
            n: ({**row, **values} if n == name else row) for n, row in world.rows.items()
        })  # fmt: skip
        form = rng.choice(["json", "table", "lines"])
        state = rng.getstate()
        document = heading(world, rng) + rng.choice(sorted({**TABLES, **PROSE, **RECORDS}.items()))[
            1
        ](world, rng)
        turned = rng.random() < 0.5  # The document shows the other world.
        after = rng.getstate()
        texts = []
        for shown in (world, near):
            rng.setstate(after)
            narrow = World(
                shown.noun, shown.plural, tuple(kept),
                {name: {n: shown.rows[name][n] for n in labels}},
            )  # fmt: skip
            if form == "json":
                texts.append(json.dumps(entries(narrow, rng)[0], ensure_ascii=False))
            elif form == "table":
                texts.append(markdown(narrow, rng))
            else:
                lines = [f"- {c.label}: {said(narrow.rows[name][c.label], c, rng)}" for c in kept]
                texts.append("\n".join([name, *lines]))
        if turned:
            after = rng.getstate()
            rng.setstate(state)
            document = heading(near, rng) + rng.choice(
                sorted({**TABLES, **PROSE, **RECORDS}.items())
            )[1](near, rng)
            rng.setstate(after)
            texts.reverse()
        group = digest(document)
        for text, label in zip(texts, ("supported", "contradicted"), strict=True):
            yield Example(
                document, text, label, "data_answer",  # type: ignore[arg-type]
                f"data_answer/{form}", group, paired=True, topic=world.noun,
            )  # fmt: skip
