"""Topics of the studies' texts.

The paper's own lists are in its released code.
"""

from __future__ import annotations

#: Topics of description pairs: brief ones and ones rich in detail, of the same things.
PAIRS: dict[str, tuple[str, ...]] = {
    "generic": (
        "A lighthouse",
        "A violin",
        "A street market",
        "A mountain lake",
        "A steam train",
        "A beehive",
        "A library",
        "A wedding cake",
    ),
    "precise": (
        "A white lighthouse with a red lantern room on a basalt cliff in a winter storm",
        "A scratched student violin with a missing string in an open velvet case",
        "A street market at dawn where a woman in a blue apron stacks crates of oranges",
        "A frozen mountain lake with a wooden rowing boat locked in the ice",
        "A black steam train crossing a stone viaduct above a foggy valley",
        "A straw beehive under an apple tree with two drops of honey on its rim",
        "A round library with a spiral iron staircase and green reading lamps",
        "A three-tiered wedding cake with sugar lilies and a slice already cut out",
    ),
}

#: Topics of passages into which errors are forced.
ERRORS: dict[str, tuple[str, ...]] = {
    "scientific": (
        "photosynthesis",
        "plate tectonics",
        "black holes",
        "DNA replication",
        "vaccination",
        "the water cycle",
        "superconductivity",
        "natural selection",
    ),
    "legal": (
        "copyright law",
        "the formation of a contract",
        "the tort of negligence",
        "patent law",
        "the presumption of innocence",
        "data protection law",
        "bankruptcy law",
        "the law of defamation",
    ),
}
