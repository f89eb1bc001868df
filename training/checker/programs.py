"""Scenarios of code and arithmetic: settings, options, functions, amounts, durations."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal

from checker.claims import listed, sentence
from checker.rendering import clock, date_text, number
from checker.scenarios import Scenario, scenarios
from checker.worlds import code, person, place, title

# --- settings -------------------------------------------------------------------------------

Setting = int | str | bool
#: Section, key, values, what a value means.
_SETTINGS: tuple[tuple[str, str, tuple[Setting, ...], str], ...] = (
    ("http", "read_timeout_s", (5, 10, 15, 30, 45, 60, 90), "a read is given up after {v} seconds"),
    ("http", "port", (8080, 8443, 9000, 5005, 3128), "the service listens on port {v}"),
    ("http", "keep_alive", (True, False), "idle connections are {v:kept open|closed at once}"),
    ("http", "max_body_mb", (2, 8, 16, 64, 256), "request bodies may be up to {v} MB"),
    ("retry", "attempts", (2, 3, 5, 7, 12), "a failed job is started {v} times at most"),
    ("retry", "backoff_ms", (100, 250, 500, 2000), "retries are {v} milliseconds apart"),
    ("cache", "ttl_minutes", (5, 20, 60, 180, 720), "cached entries expire after {v} minutes"),
    ("cache", "backend", ("redis", "memcached", "disk", "memory"), "the cache is held in {v}"),
    ("cache", "max_entries", (500, 2000, 10000, 50000), "the cache holds up to {v} entries"),
    ("log", "level", ("debug", "info", "warning", "error"), "the log level is {v}"),
    ("log", "format", ("json", "text", "logfmt"), "log lines are written as {v}"),
    ("log", "rotate_daily", (True, False), "log files are {v:rotated|not rotated} every day"),
    ("backup", "keep_days", (7, 14, 21, 28, 56, 91), "backups are kept for {v} days"),
    ("backup", "hour", (1, 2, 3, 4, 22, 23), "backups start at {v}:00"),
    ("backup", "encrypt", (True, False), "backups are {v:encrypted|stored unencrypted}"),
    ("auth", "session_hours", (2, 4, 8, 12, 48), "users are signed out after {v} hours"),
    ("auth", "min_password_length", (8, 10, 12, 16), "passwords need {v} characters or more"),
    ("auth", "two_factor", ("off", "optional", "required"), "two-factor sign-in is {v}"),
    ("queue", "workers", (2, 3, 4, 6, 16, 32), "{v} workers take jobs from the queue"),
    ("queue", "prefetch", (2, 10, 25, 100), "each worker reserves {v} jobs ahead"),
    ("mail", "sender", ("noreply@quorl.example", "ops@quorl.example", "desk@quorl.example"),
     "mails go out from {v}"),
    ("mail", "batch", (10, 50, 200, 1000), "mails are sent in batches of {v}"),
    ("db", "pool_size", (4, 10, 20, 40), "up to {v} database connections are open at once"),
    ("db", "read_only", (True, False), "the database is opened {v:for reading only|for writing}"),
)  # fmt: skip


def _meant(wording: str, value: Setting) -> str:
    if isinstance(value, bool):
        before, _, rest = wording.partition("{v:")
        choices, _, after = rest.partition("}")
        return before + choices.split("|")[0 if value else 1] + after
    return wording.replace("{v}", str(value))


def _settings_text(rows: list[tuple[str, str, Setting]], form: str) -> str:
    sections: dict[str, dict[str, Setting]] = {}
    for section, key, value in rows:
        sections.setdefault(section, {})[key] = value
    if form == "json":
        return json.dumps(sections, indent=2)
    if form == "env":
        return "\n".join(
            f"{s}_{k}={str(v).lower()}".replace(f"{s}_{k}", f"{s}_{k}".upper()) for s, k, v in rows
        )
    if form == "flags":
        return "serve " + " ".join(f"--{s}-{k.replace('_', '-')}={v}".lower() for s, k, v in rows)
    lines = []
    for section, values in sections.items():
        lines.append(f"{section}:" if form == "yaml" else f"[{section}]")
        for key, value in values.items():
            shown = str(value).lower() if isinstance(value, bool) else value
            if form == "yaml":
                lines.append(f"  {key}: {shown}")
            elif form == "toml":
                lines.append(f"{key} = {json.dumps(value)}")
            else:
                lines.append(f"{key}={shown}")
    return "\n".join(lines)


def settings(rng: random.Random) -> Scenario | None:
    """Make a configuration file in which one value differs."""
    chosen = sorted(rng.sample(range(len(_SETTINGS)), rng.randint(5, 16)))
    rows = [(_SETTINGS[i][0], _SETTINGS[i][1], rng.choice(_SETTINGS[i][2])) for i in chosen]
    at = rng.randrange(len(rows))
    section, key, value = rows[at]
    values, wording = next((v, w) for s, k, v, w in _SETTINGS if (s, k) == (section, key))
    # where another setting has a value that fits here too, it is the false one at times
    shared = [v for _, _, v in rows if v in values and v != value and not isinstance(v, bool)]
    drawn = [v for v in values if v != value]
    other = rng.choice(shared if shared and rng.random() < 0.5 else drawn)
    form = rng.choice(["json", "yaml", "toml", "ini", "env", "flags"])
    changed = [*rows[:at], (section, key, other), *rows[at + 1 :]]
    fewer = [*rows[:at], *rows[at + 1 :]]
    frame = rng.choice(["with this configuration, {}", "{}", "as configured, {}"])
    one, two = (sentence(frame.format(_meant(wording, v))) for v in (value, other))
    return Scenario(
        "settings", (_settings_text(rows, form), _settings_text(changed, form)), (one, two),
        (_settings_text(fewer, form),),
    )  # fmt: skip


# --- options of a command -------------------------------------------------------------------

_OPTIONS = (
    ("list the files that would be touched and change nothing", "preview"),
    ("follow symbolic links", "links"),
    ("overwrite existing files without asking", "clobber"),
    ("write the result to a file instead of the terminal", "output"),
    ("compress the result", "pack"),
    ("skip hidden files", "visible"),
    ("sort entries by size", "by-size"),
    ("sort entries by date", "by-date"),
    ("stop at the first error", "strict"),
    ("go on after errors", "lenient"),
    ("print nothing but errors", "hush"),
    ("print every step", "chatty"),
    ("use at most four threads", "threads"),
    ("read names from standard input", "stdin"),
    ("delete the source afterwards", "move"),
    ("verify checksums after copying", "verify"),
    ("limit the transfer rate", "throttle"),
    ("ignore case in patterns", "nocase"),
    ("resume an interrupted transfer", "resume"),
    ("keep time stamps", "stamps"),
)


def options(rng: random.Random) -> Scenario | None:
    """Make a help text in which two options have each other's meaning."""
    tool = rng.choice(
        ["frobcp", "tarnish", "gridsync", "molt", "peeler", "logsift", "packrat", "dirwash"]
    )
    chosen = rng.sample(_OPTIONS, rng.randint(4, 9))
    letters = rng.sample("abcdefghiklmoprstuvwxz", len(chosen))
    names = rng.sample([n for _, n in _OPTIONS], len(chosen))  # names that say nothing
    if rng.random() < 0.6:
        names = [f"{rng.choice('xmk')}{i}{letter}" for i, letter in enumerate(letters)]
    meanings = [m for m, _ in chosen]
    i, j = rng.sample(range(len(chosen)), 2)
    turned = list(meanings)
    turned[i], turned[j] = turned[j], turned[i]

    def text(meant: list[str], skip: int | None = None) -> str:
        rows = [
            f"  -{a}, --{n:<10} {m}"
            for k, (a, n, m) in enumerate(zip(letters, names, meant, strict=True))
            if k != skip
        ]
        return "\n".join([f"usage: {tool} [options] SOURCE TARGET", "", "options:", *rows])

    option = rng.choice([f"-{letters[i]}", f"--{names[i]}"])
    frame = rng.choice([
        "to {m}, run `{t} {o} SOURCE TARGET`",
        "`{o}` makes {t} {m}",
        "pass `{o}` to {m}",
        "the option `{o}` of {t} is there to {m}",
    ])  # fmt: skip
    one, two = (sentence(frame.format(m=m, o=option, t=tool)) for m in (meanings[i], meanings[j]))
    # the second is true by neither file where both options are there, unless turned
    return Scenario("options", (text(meanings), text(turned)), (one, two), (text(meanings, i),))


# --- functions --------------------------------------------------------------------------------

_BODIES = (
    "    return a * {x} + b * {y}",
    "    if a > {x}:\n        return b + {y}\n    return b - {y}",
    "    total = {x}\n    for i in range(a):\n        total += b\n    return total * {y}",
    "    return max(a, {x}) - min(b, {y})",
    "    rest = a % {x}\n    return rest if rest > {y} else b",
    "    fee = {x}\n    if a >= {y}:\n        fee = 0\n    return a + b + fee",
    "    values = [n for n in range(a) if n % {x} == 0]\n    return len(values) + b * {y}",
    "    while a > {x}:\n        a -= b\n    return a + {y}",
    "    word = 'ab' * a\n    return len(word) * {x} + b - {y}",
    "    table = {{'low': {x}, 'high': {y}}}\n    key = 'high' if a > b else 'low'\n    return table[key] * b",  # noqa: E501
)


def result(text: str, name: str, a: int, b: int) -> int:
    """Return what a function of a program text returns."""
    names: dict[str, object] = {}
    exec(text, names)  # noqa: S102
    found = names[name](a, b)  # type: ignore[operator]
    assert isinstance(found, int)
    return found


def functions(rng: random.Random) -> Scenario | None:
    """Make a function whose constants differ, and a statement of its result."""
    name = rng.choice(
        ["score", "blend", "weigh", "step", "quota", "fold", "tally", "shift", "merge", "rank"]
    )
    body = rng.choice(_BODIES)
    x, y = rng.randint(2, 9), rng.randint(2, 12)
    x2, y2 = (x + rng.choice([-1, 1, 2]), y) if rng.random() < 0.5 else (x, y + rng.choice([-1, 1]))
    a, b = rng.randint(1, 14), rng.randint(1, 9)
    texts = []
    for p, q in ((x, y), (max(2, x2), max(1, y2))):
        head = rng.choice([f"def {name}(a, b):"]) + "\n"
        texts.append(head + body.format(x=p, y=q))
    one, two = (result(t, name, a, b) for t in texts)
    if one == two:
        return None
    frame = rng.choice([
        "the call {n}({a}, {b}) returns {v}", "calling `{n}({a}, {b})` gives {v}",
        "for a = {a} and b = {b}, {n} returns {v}", "the result of {n}({a}, {b}) is {v}",
    ])  # fmt: skip
    statements = tuple(sentence(frame.format(n=name, a=a, b=b, v=v)) for v in (one, two))
    gone = f"# {name}(a, b) is defined in another file\nprint({name}({a}, {b}))"
    return Scenario("functions", (texts[0], texts[1]), (statements[0], statements[1]), (gone,))


# --- amounts ----------------------------------------------------------------------------------


def money(value: Decimal, sign: str) -> str:
    return f"{sign}{value.quantize(Decimal('0.01'))}"


_GOODS = [
    "desk lamp",
    "packet of screws",
    "garden hose",
    "wall clock",
    "tin of varnish",
    "roll of tape",
    "oak shelf",
    "door handle",
    "bag of gravel",
    "paint brush",
    "curtain rail",
    "floor mat",
    "mirror",
    "set of hinges",
]


def amounts(rng: random.Random) -> Scenario | None:
    """Make a bill (quantities, prices, a reduction, a charge) and a statement of its sum."""
    sign = rng.choice("€$£")
    goods = rng.sample(_GOODS, rng.randint(2, 4))
    lines = [
        (g, rng.randint(1, 9), Decimal(rng.randint(40, 9000)).scaleb(-2).quantize(Decimal("0.05")))
        for g in goods
    ]
    charge = Decimal(rng.choice([0, 395, 490, 650, 1200])).scaleb(-2)
    less = rng.choice([0, 0, 5, 10, 20])

    def due(rows: list[tuple[str, int, Decimal]]) -> Decimal:
        goods_sum = sum((n * p for _, n, p in rows), Decimal(0))
        return (goods_sum * (100 - less) / 100 + charge).quantize(Decimal("0.01"))

    def text(rows: list[tuple[str, int, Decimal]], hide: int | None = None) -> str:
        parts = [
            f"{n} x {g}, " + ("price on request" if i == hide else f"{money(p, sign)} each")
            for i, (g, n, p) in enumerate(rows)
        ]
        if less:
            parts.append(f"Reduction on goods: {less} %")
        parts.append(f"Carriage: {money(charge, sign) if charge else 'none'}")
        return "\n".join([f"{bill} {reference} for {buyer}", *parts])

    bill, reference = rng.choice(["Invoice", "Quote", "Order"]), code(rng)
    buyer = person(rng)
    at = rng.randrange(len(lines))
    good, n, price = lines[at]
    m = rng.choice([k for k in range(1, 10) if k != n])
    changed = [*lines[:at], (good, m, price), *lines[at + 1 :]]
    frame = rng.choice([
        "{b} {r} comes to {v} in all", "{p} has to pay {v} for {b} {r}",
        "the total of {b} {r} is {v}", "all in all, {v} is due on {b} {r}",
    ])  # fmt: skip
    if rng.random() < 0.3:  # of one line only
        frame = "the {g} lines of {b} {r} add up to {w} before any reduction"
    one, two = (
        sentence(
            frame.format(
                b=bill.lower(), r=reference, p=buyer, v=money(due(rows), sign), g=good,
                w=money(rows[at][1] * price, sign),
            )
        )
        for rows in (lines, changed)
    )  # fmt: skip
    return Scenario("amounts", (text(lines), text(changed)), (one, two), (text(lines, at),))


def rates(rng: random.Random) -> Scenario | None:
    """Make a statement of a number that follows from two others."""
    who, where = person(rng), place(rng)
    a, b, c = rng.randint(2, 40), rng.randint(2, 30), rng.randint(2, 12)
    kind = rng.randrange(6)
    change = rng.choice([k for k in range(2, 41) if k != a])
    if kind == 0:
        said = "{who} drove {a} km each way between {w} and the coast, {c} times there and back."
        then = "In all, {who} drove {v} km."
        value = lambda x: 2 * x * c  # noqa: E731
    elif kind == 1:
        said = "The pump at {w} moves {a} litres a minute. It ran for {b} minutes."
        then = "The pump at {w} moved {v} litres in that run."
        value = lambda x: x * b  # noqa: E731
    elif kind == 2:
        said = "{who} was born in {y}. The house in {w} was bought in 2019."
        then = "{who} turned {v} in the year in which the house was bought."
        value = lambda x: 2019 - (1955 + x)  # noqa: E731
    elif kind == 3:
        said = "The hall in {w} has {a} rows of {b} seats; {c} seats are kept for the crew."
        then = "Without those of the crew, the hall in {w} has {v} seats."
        value = lambda x: x * b - c  # noqa: E731
    elif kind == 4:
        said = "A tank in {w} holds {a} buckets of {b} litres each, and {c} litres are left in it."
        then = "{v} litres are missing until the tank in {w} is full."
        value = lambda x: x * b - c  # noqa: E731
    else:
        said = "{who} has read {a} pages a day for {b} days; the book has {big} pages."
        then = "{who} still has {v} pages to read."
        value = lambda x: 2000 - x * b  # noqa: E731
    if min(value(a), value(change)) <= 0:
        return None
    known = {"who": who, "w": where, "b": b, "c": c, "big": 2000}

    def text(x: int) -> str:
        return said.format(a=x, y=1955 + x, **known)

    one, two = (then.format(v=f"{value(x):,}", **known) for x in (a, change))
    parts = text(a).replace("; ", ". ").split(". ")
    gone = [". ".join(p for k, p in enumerate(parts) if k != 0)] if len(parts) > 1 else []
    return Scenario("amounts", (text(a), text(change)), (one, two), tuple(gone[:1]))


def shares(rng: random.Random) -> Scenario | None:
    """Make a statement of a change in per cent, or of a share."""
    what = rng.choice(["membership", "rent", "output", "circulation", "consumption", "turnover"])
    where = place(rng)
    base = rng.choice([40, 80, 120, 200, 250, 400, 500, 800])
    one, two = rng.sample([-40, -25, -20, -15, -10, -5, 5, 10, 15, 20, 25, 40, 50, 75], 2)

    def text(p: int) -> str:
        new = Decimal(base * (100 + p)) / 100
        return frame.format(a=base, b=number(new), w=where, x=what)

    frame = rng.choice([
        "In 2021 the {x} of the {w} works stood at {a}. Two years later it was {b}.",
        "The {x} figures of {w}: {a} at the start of the period, {b} at its end.",
    ])  # fmt: skip
    said = rng.choice(["{x} in {w} {d} by {p} %", "over the period, {x} of {w} {d} {p} %"])
    statements = [
        sentence(said.format(x=what, w=where, p=abs(p), d="rose" if p > 0 else "fell"))
        for p in (one, two)
    ]
    gone = f"The {what} of the {where} works stood at {base} in 2021. No later figure is out yet."
    return Scenario("amounts", (text(one), text(two)), (statements[0], statements[1]), (gone,))


# --- durations --------------------------------------------------------------------------------

_EVENTS = [
    "lecture",
    "rehearsal",
    "briefing",
    "workshop",
    "screening",
    "drill",
    "hearing",
    "regatta",
    "auction",
]


def ends(rng: random.Random) -> Scenario | None:
    """Make a schedule (a start and the lengths of its parts) and a statement of its end."""
    event, where = rng.choice(_EVENTS), place(rng)
    start = 5 * rng.randrange(7 * 12, 18 * 12)
    parts = [5 * rng.randint(2, 20) for _ in range(rng.choice([1, 2, 3]))]
    pause = rng.choice([0, 10, 15, 30])
    later = start + rng.choice([-45, -30, -15, 10, 20, 30, 60])

    def text(at: int) -> str:
        spans = [f"part {i + 1} takes {p} minutes" for i, p in enumerate(parts)]
        rest = f" There is a break of {pause} minutes." if pause else ""
        return f"The {event} in {where} begins at {clock(at)}; {listed(spans)}.{rest}"

    frame = rng.choice(["the {e} in {w} is over at {v}", "people can leave the {e} in {w} at {v}"])
    one, two = (
        sentence(frame.format(e=event, w=where, v=clock(at + sum(parts) + pause)))
        for at in (start, later)
    )
    gone = f"The {event} in {where} begins at {clock(start)}. How long it takes is not fixed."
    return Scenario("times", (text(start), text(later)), (one, two), (gone,))


def deadlines(rng: random.Random) -> Scenario | None:
    """Make a statement of the date or weekday a number of days after a date."""
    what = rng.choice(["complaint", "application", "claim", "tender", "objection", "entry"])
    who = title(rng)
    day = dt.date(2023, 1, 1) + dt.timedelta(rng.randrange(800))
    one, two = rng.sample([3, 5, 7, 10, 14, 20, 21, 28, 30, 45, 60], 2)

    def text(n: int) -> str:
        span = f"{n // 7} weeks" if n % 7 == 0 and n > 7 else f"{n} days"
        return frame.format(w=what, who=who, d=date_text(day, style), s=span)

    style = rng.choice([0, 1, 2])
    frame = rng.choice([
        "{who} received the notice on {d}. Any {w} has to be in within {s} of that day.",
        "Day of notice for {who}: {d}. Time allowed for the {w}: {s} from then.",
    ])  # fmt: skip
    weekday = rng.random() < 0.3
    said = rng.choice([
        "{who} can hand in the {w} until {v}", "the last day for the {w} of {who} is {v}"
    ])  # fmt: skip
    shown = []
    for n in (one, two):
        end = day + dt.timedelta(n)
        value = f"a {end:%A}" if weekday else date_text(end, rng.choice([1, 2]))
        shown.append(sentence(said.format(who=who, w=what, v=value)))
    gone = f"{who} received the notice on {date_text(day, style)}."
    return Scenario("times", (text(one), text(two)), (shown[0], shown[1]), (gone,))


coded = scenarios(settings, options, functions)
counted = scenarios(amounts, rates, shares)
timed = scenarios(ends, deadlines)
