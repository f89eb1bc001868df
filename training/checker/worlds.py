"""Invented records of one kind: numbers, choices, dates and times of day."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, replace
from decimal import Decimal

Value = Decimal | str | dt.date | int  # a number, a choice, a date, minutes since midnight

FIRST = [
    "Amara",
    "Bela",
    "Carmen",
    "Dario",
    "Edda",
    "Farid",
    "Greta",
    "Hiro",
    "Ines",
    "Jonas",
    "Kaja",
    "Luca",
    "Mirela",
    "Nadim",
    "Oona",
    "Pavel",
    "Quentin",
    "Rosa",
    "Soren",
    "Tamsin",
    "Ulla",
    "Viktor",
    "Wanda",
    "Yusuf",
    "Zora",
    "Anselm",
    "Brigid",
    "Cosima",
    "Deniz",
    "Emeka",
]
LAST = [
    "Abbasi",
    "Bruhn",
    "Castell",
    "Dufour",
    "Eklund",
    "Ferrante",
    "Gallo",
    "Holm",
    "Ishida",
    "Jansen",
    "Kovac",
    "Lindqvist",
    "Marek",
    "Nowak",
    "Okafor",
    "Petrov",
    "Quist",
    "Rautio",
    "Sandoval",
    "Teller",
    "Ulrich",
    "Varga",
    "Wexler",
    "Ybarra",
    "Zeman",
    "Aldana",
]
HEADS = [
    "Bel",
    "Cor",
    "Dun",
    "Eld",
    "Fal",
    "Gar",
    "Hol",
    "Kel",
    "Lor",
    "Mar",
    "Nor",
    "Or",
    "Pel",
    "Rav",
    "Sel",
    "Tor",
    "Ul",
    "Ver",
    "Wil",
    "Zan",
]
TAILS = [
    "aby",
    "andra",
    "aven",
    "berg",
    "bridge",
    "dale",
    "dorf",
    "eck",
    "ford",
    "holm",
    "ia",
    "mere",
    "mond",
    "ona",
    "ora",
    "stad",
    "wick",
]


@dataclass(frozen=True)
class Column:
    """A property of the things.

    Attributes:
        unit: written after a number; currency signs are written before it.
        adds: totals of the column mean something.
    """

    label: str
    kind: str
    unit: str = ""
    low: int = 0
    high: int = 0
    step: Decimal = Decimal(1)
    choices: tuple[str, ...] = ()
    adds: bool = False

    def draw(self, rng: random.Random) -> Value:
        if self.kind == "number":
            return self.low + self.step * rng.randint(0, int((self.high - self.low) / self.step))
        if self.kind == "choice":
            return rng.choice(self.choices)
        if self.kind == "date":
            return dt.date(self.low, 1, 1) + dt.timedelta(rng.randrange(365 * 4))
        return 5 * rng.randrange(self.low * 12, self.high * 12)


@dataclass(frozen=True)
class World:
    """Things by name, each with a value in every column."""

    noun: str
    plural: str
    columns: tuple[Column, ...]
    rows: dict[str, dict[str, Value]]

    def of_kind(self, kind: str) -> list[Column]:
        return [c for c in self.columns if c.kind == kind]

    def column(self, column: Column) -> dict[str, Value]:
        return {name: row[column.label] for name, row in self.rows.items()}

    def numbers(self, column: Column) -> dict[str, Decimal]:
        return {n: v for n, v in self.column(column).items() if isinstance(v, Decimal)}


def _column(text: str) -> Column:
    """Return a column from ``label|kind|...``; a ``+`` before the label marks sums as useful."""
    label, kind, *rest = text.strip().split("|")
    adds, label = label.startswith("+"), label.lstrip("+")
    if kind == "number":
        unit, span, *step = rest
        low, high = span.split("-")
        if set(unit.lower().split()) & set(label.lower().split()):
            unit = ""  # "number of places", not "number of places (places)"
        size = Decimal(step[0]) if step else Decimal(1)
        return Column(label, kind, unit, int(low), int(high), size, adds=adds)
    if kind == "choice":
        return Column(label, kind, choices=tuple(rest[0].split(",")))
    low, *high = map(int, rest[0].split("-"))
    return Column(label, kind, low=low, high=high[0] if high else 0)


#: noun/plural; how things are named; columns.
_DOMAINS = """
ferry line/ferry lines; place; crossing time|number|minutes|15-240|5; one-way fare|number|€|3-60|0.5; +weekly capacity|number|passengers|400-9000|50; ship|choice|Aurora,Skua,Heron,Cormorant,Petrel; first departure|clock|5-10
greenhouse/greenhouses; code; mean temperature|number|°C|12-34|0.5; humidity|number|%|30-95; main crop|choice|basil,tomatoes,orchids,peppers,chard; +water use|number|litres|80-2400|20; sowing date|date|2021
employee/employees; person; department|choice|procurement,logistics,design,payroll,testing; desk phone extension|number||1200-8900; +leave balance|number|days|0-30|0.5; start date|date|2016; office|choice|Room 12,Room 27,Annex B,Hall C,Studio 4
server/servers; code; memory|number|GB|8-512|8; region|choice|eu-north,us-west,ap-south,sa-east; +monthly cost|number|$|20-900; uptime|number|%|90-99|0.1; operating system|choice|Debian,Fedora,FreeBSD,Alpine
observatory/observatories; place; altitude|number|m|300-5200|10; mirror diameter|number|m|1-12|0.1; +clear nights per year|number|nights|90-330; director|choice|Dr Ostrom,Dr Vance,Dr Leitner,Dr Sato; opening date|date|1990
vaccine trial/vaccine trials; code; +number of participants|number|people|60-4800|10; efficacy|number|%|31-96|0.5; follow-up|number|weeks|4-104|2; phase|choice|phase 1,phase 2,phase 3; adverse event rate|number|%|0-18|0.1
vineyard/vineyards; place; +area|number|hectares|2-90|0.5; +harvest|number|tonnes|8-400; grape|choice|Riesling,Syrah,Malbec,Furmint,Vermentino; sugar content|number|g/l|1-60; slope|choice|north-facing,south-facing,east-facing,west-facing
bridge/bridges; place; length|number|m|40-2600|10; +daily traffic|number|vehicles|300-90000|100; type|choice|arch,suspension,cable-stayed,beam,truss; height limit|number|m|2-8|0.1; inauguration date|date|1965
film/films; title; running time|number|minutes|71-192; +box office|number|million $|1-640|0.1; director|person; genre|choice|western,thriller,comedy,musical,documentary; release date|date|1994
language course/language courses; title; level|choice|A1,A2,B1,B2,C1; fee|number|€|90-980|10; +number of places|number|places|6-40; teacher|person; start time|clock|8-20
coffee blend/coffee blends; title; origin|choice|Ethiopia,Peru,Sumatra,Kenya,Honduras; bag price|number|£|5-24|0.25; roast level|choice|light,medium,dark; caffeine content|number|mg|60-190|5; +stock|number|bags|0-600
football club/football clubs; place; +points|number|points|11-92; +goals scored|number|goals|18-99; coach|person; stadium capacity|number|seats|4000-81000|500; founding year|number||1880-1999
battery pack/battery packs; code; capacity|number|mAh|900-24000|100; weight|number|g|80-1900|5; charging time|number|minutes|25-480|5; price|number|€|12-310|0.1; connector|choice|USB-C,barrel,XT60,Anderson
museum/museums; place; +visitors last year|number|visitors|4000-910000|100; adult ticket|number|€|3-28|0.5; collection focus|choice|maritime history,textiles,fossils,modern art,folk music; closing time|clock|15-21; curator|person
soil sample/soil samples; code; pH value|number||4-9|0.1; nitrogen content|number|mg/kg|4-95; depth|number|cm|5-120|5; texture|choice|clay,loam,sand,silt; sampling date|date|2019
train service/train services; code; departure|clock|5-22; travel time|number|minutes|35-560; +number of coaches|number|coaches|3-14; platform|number||1-24; destination|place
insurance plan/insurance plans; title; monthly premium|number|€|9-240|0.1; deductible|number|€|0-2500|50; waiting period|number|days|0-180|5; hotline|choice|weekdays,daily,round the clock; covered region|choice|Europe,worldwide,home country
reservoir/reservoirs; place; +volume|number|million m³|3-980; fill level|number|%|12-100; dam height|number|m|14-240; operator|choice|Hydra Nord,AquaVal,Lumen Power,the county; completion date|date|1950
printer/printers; code; print speed|number|pages per minute|8-72; toner yield|number|pages|900-21000|100; price|number|$|79-2400; location|choice|lobby,second floor,archive,mail room; purchase date|date|2017
hiking trail/hiking trails; title; length|number|km|2-48|0.1; total ascent|number|m|40-2100|10; difficulty|choice|easy,moderate,hard; walking time|number|minutes|40-720|10; +number of huts|number|huts|0-6
patient/patients; code; heart rate|number|bpm|48-140; body weight|number|kg|44-131|0.1; ward|choice|ward 3A,ward 5C,intensive care,day clinic; admission date|date|2020; attending physician|person
power plant/power plants; place; +rated output|number|MW|12-1900; fuel|choice|biogas,wind,natural gas,hydro,solar; +staff|number|employees|4-620; efficiency|number|%|18-61|0.5; grid connection date|date|1980
library branch/library branches; place; +loans last month|number|loans|300-24000|10; opening time|clock|8-13; +number of volumes|number|volumes|4000-210000|500; head librarian|person; lending limit|number|items|5-60
research grant/research grants; code; +amount awarded|number|€|12000-940000|500; duration|number|months|6-60; principal investigator|person; field|choice|glaciology,linguistics,robotics,virology,geodesy; end date|date|2022
recipe/recipes; title; +servings|number|servings|2-16; baking time|number|minutes|10-180|5; oven temperature|number|°C|120-250|5; main ingredient|choice|lentils,salmon,rhubarb,spinach,chickpeas; energy per serving|number|kcal|120-980|5
freight container/freight containers; code; gross weight|number|kg|2400-30400|10; cargo|choice|timber,ceramics,copper wire,bicycles,paper; seal number|number||10000-99999; port of discharge|place; arrival date|date|2023
"""  # noqa: E501


def person(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def place(rng: random.Random) -> str:
    return rng.choice(HEADS) + rng.choice(TAILS)


def code(rng: random.Random) -> str:
    letters = "".join(rng.choice("ABCDEFGHKLMNPRSTVWX") for _ in range(rng.choice([1, 2, 2, 3])))
    return f"{letters}{rng.choice(['-', '', '-'])}{rng.randint(10, 9899)}"


def title(rng: random.Random) -> str:
    one = [
        "Amber",
        "Silent",
        "Northern",
        "Second",
        "Golden",
        "Broken",
        "Quiet",
        "Harbour",
        "Winter",
        "Copper",
        "Paper",
        "Lower",
    ]
    two = [
        "Orchard",
        "Compass",
        "Lantern",
        "Meadow",
        "Signal",
        "Ridge",
        "Harvest",
        "Passage",
        "Garden",
        "Current",
        "Window",
    ]
    return f"{rng.choice(one)} {rng.choice(two)}"


NAMES = {"person": person, "place": place, "code": code, "title": title}


def domains() -> list[tuple[str, str, str, list[str]]]:
    """Return noun, plural, kind of name and columns of every domain."""
    found = []
    for line in _DOMAINS.strip().splitlines():
        nouns, names, *columns = [part.strip() for part in line.split(";")]
        noun, plural = nouns.split("/")
        found.append((noun, plural, names, columns))
    return found


def make_world(rng: random.Random, least: int = 3, most: int = 9) -> World:
    """Return a world of a random domain, with distinct names that share no word."""
    noun, plural, names, texts = rng.choice(domains())
    columns = []
    for text in rng.sample(texts, rng.randint(min(3, len(texts)), len(texts))):
        if text.endswith(("|person", "|place")):  # choices of names drawn for this world
            label, kind = text.split("|")
            drawn = sorted({NAMES[kind](rng) for _ in range(6)})
            columns.append(Column(label, "choice", choices=tuple(drawn)))
        else:
            columns.append(_column(text))
    wanted, rows = rng.randint(least, most), {}
    taken: set[str] = set()
    while len(rows) < wanted:
        name = NAMES[names](rng)
        if not taken & set(name.split()):
            taken |= set(name.split())
            rows[name] = {c.label: c.draw(rng) for c in columns}
    return World(noun, plural, tuple(columns), rows)


def other_world(world: World, rng: random.Random) -> World:
    """Return the world with values exchanged between its things, or some drawn again.

    What holds there and not here uses the same names, and mostly the same values.
    """
    columns = {c.label: list(world.column(c).values()) for c in world.columns}
    for column in world.columns:
        values = columns[column.label]
        if rng.random() < 0.75:
            rng.shuffle(values)
        else:
            for i in rng.sample(range(len(values)), max(1, len(values) // 2)):
                values[i] = column.draw(rng)
    rows = {
        name: {label: values[i] for label, values in columns.items()}
        for i, name in enumerate(world.rows)
    }
    return replace(world, rows=rows)


def without_column(world: World, column: Column) -> World:
    """Return the world without a column."""
    kept = tuple(c for c in world.columns if c != column)
    rows = {n: {c.label: row[c.label] for c in kept} for n, row in world.rows.items()}
    return replace(world, columns=kept, rows=rows)


def without_row(world: World, name: str) -> World:
    """Return the world without a thing."""
    return replace(world, rows={n: row for n, row in world.rows.items() if n != name})
