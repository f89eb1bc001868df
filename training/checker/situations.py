"""Scenarios of text: conditions, times, notices, two passages, sources, steps, conversations."""

from __future__ import annotations

import datetime as dt
import random

from checker.claims import sentence
from checker.public import asked
from checker.rendering import PROSE, RECORDS, TABLES, clock, date_text, said
from checker.scenarios import Scenario, scenarios
from checker.worlds import World, code, make_world, person, place, title, without_column


def mixed(parts: list[str], rng: random.Random) -> str:
    """Return passages in random order."""
    return "\n\n".join(rng.sample(parts, len(parts)))


# --- conditions -------------------------------------------------------------------------------

#: Rule with {t}; a case with {v}; what holds above; what holds below; thresholds; unit step.
_RULES = (
    ("Parcels heavier than {t} kg go by lorry, all others by post.",
     "Parcel {c} was weighed at {v} kg.", "Parcel {c} goes by lorry.",
     "Parcel {c} goes by post.", 5, 40),
    ("Rooms that hold more than {t} people must have a second exit; smaller ones need only one.",
     "Room {c} is laid out for {v} people.", "Room {c} must have a second exit.",
     "Room {c} needs only one exit.", 20, 120),
    ("Members with more than {t} visits a year pay the reduced fee, the others the full one.",
     "Member {c} has come {v} times this year.", "Member {c} pays the reduced fee.",
     "Member {c} pays the full fee.", 10, 60),
    ("A reading above {t} bar sets off the alarm; up to that, the lamp stays green.",
     "Valve {c} read {v} bar at noon.", "At noon, valve {c} set off the alarm.",
     "At noon, the lamp of valve {c} stayed green.", 4, 60),
    ("Trips longer than {t} km are paid at the higher rate, shorter ones at the lower rate.",
     "Trip {c} covered {v} km.", "Trip {c} is paid at the higher rate.",
     "Trip {c} is paid at the lower rate.", 30, 300),
    ("Files over {t} MB are sent as a link; smaller files are attached.",
     "File {c} has {v} MB.", "File {c} is sent as a link.", "File {c} is attached.", 5, 80),
    ("Batches that failed more than {t} checks are scrapped; the rest is sold at half price.",
     "Batch {c} failed {v} checks.", "Batch {c} is scrapped.",
     "Batch {c} is sold at half price.", 3, 30),
    ("Loans of more than {t} days need a signature from the director, shorter ones from the clerk.",
     "Loan {c} runs for {v} days.", "Loan {c} needs the director's signature.",
     "Loan {c} needs the clerk's signature.", 14, 120),
    ("Whoever scored above {t} points sits the oral exam; everyone else repeats the written one.",
     "Candidate {c} scored {v} points.", "Candidate {c} sits the oral exam.",
     "Candidate {c} repeats the written exam.", 30, 90),
    ("Over {t} mm of rain the path is closed, otherwise it stays open.",
     "On path {c}, {v} mm of rain fell.", "Path {c} is closed.", "Path {c} stays open.", 10, 70),
)  # fmt: skip


def conditions(rng: random.Random) -> Scenario | None:
    """Make a rule and a case on either side of its threshold."""
    rule, case, above, below, low, high = rng.choice(_RULES)
    t, c = rng.randint(low, high), code(rng)
    over, under = t + rng.randint(1, max(2, t // 2)), t - rng.randint(1, max(1, t // 2))
    rule = rule.format(t=t)
    other = case.format(c=code(rng), v=rng.choice([over, under]))
    texts = [mixed([rule, case.format(c=c, v=v), other], rng) for v in (over, under)]
    missing = [mixed([rule, other], rng), mixed([case.format(c=c, v=over), other], rng)]
    return Scenario(
        "conditions", (texts[0], texts[1]), (above.format(c=c), below.format(c=c)), tuple(missing)
    )


_EXCEPTIONS = (
    ("Dogs are welcome in all huts but {a}.", "Dogs are welcome at {x}.",
     "Dogs are not welcome at {x}."),
    ("Every branch except {a} is open on Saturdays.", "The {x} branch is open on Saturdays.",
     "The {x} branch is closed on Saturdays."),
    ("The tunnel fee applies on all roads, unless you come from {a}.",
     "Drivers from {x} pay the tunnel fee.", "Drivers from {x} pay no tunnel fee."),
    ("All stations have a lift; only {a} has none.", "There is a lift at {x} station.",
     "There is no lift at {x} station."),
    ("Only {a} delivers on the same day; the other depots need until tomorrow.",
     "The {x} depot needs until tomorrow.", "The {x} depot delivers on the same day."),
)  # fmt: skip


def exceptions(rng: random.Random) -> Scenario | None:
    """Make a rule with an exception, and a case that falls under it or not."""
    rule, normal, special = rng.choice(_EXCEPTIONS)
    names = list(dict.fromkeys(place(rng) for _ in range(4)))[:3]
    if len(names) < 3:
        return None
    a, b, c = names
    # "every branch" says nothing of a place that is not named as one
    roll = f"The places meant are {b}, {a} and {c}."
    texts = [mixed([rule.format(a=x), roll], rng) for x in (b, a)]
    missing = (roll,)
    return Scenario(
        "conditions", (texts[0], texts[1]), (normal.format(x=a), special.format(x=a)), missing
    )


# --- what holds now ---------------------------------------------------------------------------


def changes(rng: random.Random) -> Scenario | None:
    """Make a change of office at a date, and statements of who holds it before and after."""
    role = rng.choice([
        "head of the laboratory", "editor of the gazette", "captain of the rowing team",
        "keeper of the lighthouse", "chair of the housing board", "first violin",
    ])  # fmt: skip
    old, new, where = person(rng), person(rng), place(rng)
    if old == new:
        return None
    day = dt.date(2022, 2, 1) + dt.timedelta(rng.randrange(900))
    gap = rng.randint(3, 200)
    before, after = day - dt.timedelta(gap), day + dt.timedelta(gap)
    style = rng.choice([1, 2])
    news = rng.choice([
        f"On {date_text(day, style)}, {new} follows {old} as {role} in {where}.",
        f"{old} is {role} in {where} until {date_text(day, style)}, when {new} takes the post.",
        f"{where}: from {date_text(day, style)} on, {new} will be {role}, a post that {old} held.",
    ])  # fmt: skip
    frame = rng.choice(["{p} is now {r} in {w}", "the present {r} in {w} is {p}"])
    now = rng.choice(["Today's date: {}.", "This was asked on {}.", "Date of the request: {}."])
    texts = [mixed([news, now.format(date_text(d, style))], rng) for d in (before, after)]
    one, two = (sentence(frame.format(p=p, r=role, w=where)) for p in (old, new))
    return Scenario("now", (texts[0], texts[1]), (one, two), (now.format(date_text(day, style)),))


def notices(rng: random.Random) -> Scenario | None:
    """Make two notices that disagree, one of which replaces the other."""
    what = rng.choice(["ticket office", "swimming hall", "archive", "ferry pier", "test centre"])
    where = place(rng)
    one, two = rng.sample(range(6 * 12, 12 * 12, 3), 2)
    first = dt.date(2023, 1, 1) + dt.timedelta(rng.randrange(600))
    second = first + dt.timedelta(rng.randint(5, 90))
    says = rng.choice([
        "The {w} of {p} opens at {t}.", "From this week, doors of the {w} in {p} open at {t}."
    ])  # fmt: skip

    def text(early: int, late: int) -> str:
        heads = [f"Notice of {date_text(first, 1)}", f"Notice of {date_text(second, 1)}"]
        end = rng.choice([" This replaces all earlier notices.", " Earlier notices are void.", ""])
        if not end:
            end = " Of several notices, the latest counts."
        bodies = [says.format(w=what, p=where, t=clock(5 * t)) for t in (early, late)]
        return mixed([f"{heads[0]}: {bodies[0]}", f"{heads[1]}: {bodies[1]}{end}"], rng)

    frame = rng.choice(["the {w} in {p} opens at {t}", "people can enter the {w} of {p} from {t}"])
    said_ = [sentence(frame.format(w=what, p=where, t=clock(5 * t))) for t in (one, two)]
    gone = f"Notice of {date_text(first, 1)}: The {what} of {where} is being painted."
    return Scenario("now", (text(two, one), text(one, two)), (said_[0], said_[1]), (gone,))


# --- two passages -----------------------------------------------------------------------------

_HOPS = (
    ("{p} belongs to the {g} group.", "The {g} group sits in {v}.", "{p} sits in {v}."),
    ("{p} flies on the {g} crew.", "The {g} crew is based in {v}.", "{p}'s crew is based in {v}."),
    ("The release called {g} goes out as version {v}.", "{p} is working on the release {g}.",
     "{p} is working on version {v}."),
    ("{p} rents the boat {g}.", "The boat {g} is moored in {v}.",
     "The boat that {p} rents is moored in {v}."),
    ("{p} wrote the novel {g}.", "The novel {g} came out in {v}.",
     "The novel by {p} came out in {v}."),
    ("The sample {g} was taken by {p}.", "Sample {g} is kept in {v}.",
     "What {p} took as a sample is kept in {v}."),
    ("{p} has a ticket for the {g} train.", "The {g} train leaves from {v}.",
     "{p}'s train leaves from {v}."),
    ("{p} is insured under plan {g}.", "Plan {g} is run from {v}.",
     "The plan that insures {p} is run from {v}."),
)  # fmt: skip


def hops(rng: random.Random) -> Scenario | None:
    """Make two facts in two passages, and a statement that follows from both."""
    one, other, said_ = rng.choice(_HOPS)
    p, q = person(rng), person(rng)
    g, h = title(rng), title(rng)
    year = "came out" in said_
    pool = [str(y) for y in range(1962, 2020)] if year else [f"{place(rng)}" for _ in range(5)]
    if "version" in said_:
        pool = [f"{a}.{b}" for a in range(2, 9) for b in range(10)]
    v, w = rng.choice(pool), rng.choice(pool)
    if len({p, q, g, h, v, w}) < 6 or set(g.split()) & set(h.split()):
        return None
    middle = rng.choice([
        f"{place(rng)} has seen much rain this month.", f"{person(rng)} is away until Monday.",
        f"The next meeting is held in {place(rng)}.", "",
    ])  # fmt: skip

    def text(first: str, second: str, skip: int | None = None) -> str:
        facts = [one.format(p=p, g=g, v=first), other.format(p=p, g=g, v=first),
                 one.format(p=q, g=h, v=second), other.format(p=q, g=h, v=second)]  # fmt: skip
        kept = [f for k, f in enumerate(facts) if k != skip]
        return mixed([*kept, *([middle] if middle else [])], rng)

    statements = tuple(said_.format(p=p, v=x) for x in (v, w))
    missing = (text(v, w, 0), text(v, w, 1))
    return Scenario(
        "two_passages", (text(v, w), text(w, v)), (statements[0], statements[1]), missing
    )


# --- sources ----------------------------------------------------------------------------------


def cited(rng: random.Random) -> Scenario | None:
    """Numbered sources, and a fact with the number of its source."""
    world = make_world(rng, 3, 6)
    render = rng.choice(sorted({**PROSE, **RECORDS, **TABLES}.items()))[1]
    parts = [
        render(World(world.noun, world.plural, world.columns, {n: row}), rng)
        for n, row in world.rows.items()
    ]
    names = list(world.rows)
    i, j = rng.sample(range(len(names)), 2)
    column = rng.choice(world.columns)
    value = said(world.rows[names[i]][column.label], column, rng)
    marks = rng.choice([("[{}]", "[{}]"), ("Source {}:", "(source {})"), ("Doc {}:", "[doc {}]")])

    def text(order: list[int]) -> str:
        shown = [f"{marks[0].format(k + 1)} {parts[at]}" for k, at in enumerate(order)]
        return "\n\n".join(shown)

    order = list(range(len(names)))
    turned = list(order)
    turned[i], turned[j] = j, i
    frame = rng.choice(["the {l} of {n} is {v} {m}", "{n} has {v} as its {l} {m}"])
    one, two = (
        sentence(frame.format(l=column.label, n=names[i], v=value, m=marks[1].format(k + 1)))
        for k in (i, j)
    )
    return Scenario("cited", (text(order), text(turned)), (one, two), (), "not_supported")


# --- steps ------------------------------------------------------------------------------------

_STEPS = (
    "unplug the unit,loosen the four screws,lift off the cover,wipe the fan,fit the new belt,"
    "check the seal,tighten the screws,plug the unit in,run the self-test",
    "rinse the beans,soak them overnight,pour off the water,chop the onions,heat the oil,"
    "add the paste,let it simmer,taste for salt,serve with bread",
    "open a ticket,clone the repository,create a branch,write a test,run the checks,"
    "ask for a review,merge the change,tag the version,tell the users",
    "weigh the sample,dry it in the oven,grind it,sieve it,dissolve it in acid,filter the liquid,"
    "fill the flask,take three readings,write down the mean",
    "read the meter,shut the valve,drain the pipe,cut out the old piece,clean both ends,"
    "slide on the sleeve,open the valve,look for drops,note the reading",
)


def steps(rng: random.Random) -> Scenario | None:
    """Make ordered instructions, and a statement of which of two comes first."""
    chosen = rng.choice(_STEPS).split(",")
    order = sorted(rng.sample(range(len(chosen)), rng.randint(4, len(chosen))))
    texts = [chosen[k] for k in order]
    i, j = sorted(rng.sample(range(len(texts)), 2))
    turned = list(texts)
    turned[i], turned[j] = turned[j], turned[i]
    form = rng.choice(["numbered", "prose", "dashes"])

    def text(items: list[str]) -> str:
        if form == "numbered":
            return "\n".join(f"{k + 1}. {sentence(t)}" for k, t in enumerate(items))
        if form == "dashes":
            return "In this order:\n" + "\n".join(f"- {t}" for t in items)
        links = ["First", "Then", "Next", "After that", "Then", "Now", "After this", "Then"]
        return " ".join(f"{links[min(k, 7)]}, {t}." for k, t in enumerate(items))

    a, b = (texts[i], texts[j]) if rng.random() < 0.5 else (texts[j], texts[i])
    first = a == texts[i]
    frame = rng.choice(["{a} before you {b}", "you have to {a} earlier than {b}"])
    if "earlier" in frame:
        frame = "one has to {a} first and {b} later"
    statements = [sentence(frame.format(a=x, b=y)) for x, y in ((a, b), (b, a))]
    if not first:
        statements.reverse()
    missing = text([t for k, t in enumerate(texts) if k != i])
    return Scenario(
        "steps", (text(texts), text(turned)), (statements[0], statements[1]), (missing,)
    )


# --- conversations ----------------------------------------------------------------------------


def _turns(turns: list[str], rng: random.Random) -> str:
    names = rng.choice([("User", "Assistant"), ("Customer", "Agent"), ("Q", "A")])
    lines = [f"{names[k % 2]}: {turn}" for k, turn in enumerate(turns)]
    return "Conversation so far:\n" + "\n".join(lines)


def follow_up(rng: random.Random) -> Scenario | None:
    """Make a short reply about a topic of the earlier conversation."""
    world = make_world(rng, 3, 6)
    names = list(world.rows)
    one, other = rng.sample(names, 2)
    asked_of = rng.sample(world.columns, 2) if len(world.columns) > 1 else None
    if asked_of is None:
        return None
    opening, column = asked_of
    values = [world.rows[n][column.label] for n in (one, other)]
    if values[0] == values[1]:
        return None
    render = rng.choice(sorted({**PROSE, **RECORDS, **TABLES}.items()))[1]
    question = rng.choice([
        f"And what about its {column.label}?", f"What is the {column.label}, then?",
        f"And the {column.label} of that one?", f"Good. {column.label.capitalize()}?",
    ])  # fmt: skip
    start = rng.choice([
        "What is the {l} of {n}?", "I am looking at {n}. Its {l}?",
        "Tell me the {l} for {n}, please.",
    ])  # fmt: skip
    aside = rng.choice(["", other])  # The other one was mentioned earlier.

    def text(about: str, other_one: str, shown: World) -> str:
        turns = []
        if aside:
            turns += [
                f"Do you have {other_one}, too?",
                f"Yes, {other_one} is among the {world.plural}.",
            ]
        value = said(world.rows[about][opening.label], opening, rng)
        turns += [start.format(l=opening.label, n=about), f"It is {value}.", question]
        return f"{render(shown, rng)}\n\n{_turns(turns, rng)}"

    frame = rng.choice(["It is {v}.", "{v}.", "The {l} is {v}.", "That one has {v}."])
    statements = []
    for value in values:
        reply = frame.format(v=said(value, column, rng), l=column.label)
        statements.append(reply[:1].upper() + reply[1:])
    if rng.random() < 0.5:
        statements = [asked(question, s) for s in statements]
    gone = text(one, other, without_column(world, column)) if len(world.columns) > 2 else None
    return Scenario(
        "conversation", (text(one, other, world), text(other, one, world)),
        (statements[0], statements[1]), (gone,) if gone else (),
    )  # fmt: skip


_PERSONAL = (
    ("My customer number is {v}.", "Your customer number is {v}.", code),
    ("I live in {v}.", "You live in {v}.", place),
    ("My landlord is called {v}.", "Your landlord is {v}.", person),
    ("We booked the {v} tour.", "The tour you booked is {v}.", title),
    ("The part that broke is {v}.", "The broken part is {v}.", code),
    ("I want to go to {v} in May.", "In May you want to go to {v}.", place),
    ("Please send the bill to {v}.", "The bill is to go to {v}.", person),
)


def told_before(rng: random.Random) -> Scenario | None:
    """Repeat a fact that the user gave earlier and, at times, corrected."""
    chosen = rng.sample(_PERSONAL, rng.randint(2, 4))
    at = rng.randrange(len(chosen))
    say, back, draw = chosen[at]
    one, two = draw(rng), draw(rng)
    if one == two:
        return None
    others = [draw_(rng) for _, _, draw_ in chosen]
    corrected = rng.random() < 0.5
    replies = ["Thank you.", "Noted.", "All right, what else?", "I see."]
    answers = [rng.choice(replies) for _ in chosen]

    def text(true: str, false: str) -> str:
        turns = []
        for k, (wording, _, _) in enumerate(chosen):
            value = others[k] if k != at else (false if corrected else true)
            turns += [wording.format(v=value), answers[k]]
        if corrected:
            turns += [
                f"Sorry, I was wrong before. {say.format(v=true)}",
                "I changed it.",
            ]
        turns.append("Can you sum that up?")
        return _turns(turns, state)

    state = random.Random(rng.random())
    gone_turns = []
    for k, (wording, _, _) in enumerate(chosen):
        if k != at:
            gone_turns += [wording.format(v=others[k]), answers[k]]
    gone = _turns([*gone_turns, "Can you sum that up?"], rng)
    return Scenario(
        "conversation", (text(one, two), text(two, one)),
        (back.format(v=one), back.format(v=two)), (gone,),
    )  # fmt: skip


ruled = scenarios(conditions, exceptions)
current = scenarios(changes, notices)
passages = scenarios(hops)
sourced = scenarios(cited)
stepwise = scenarios(steps)
talked = scenarios(follow_up, follow_up, told_before)
