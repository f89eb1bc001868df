"""Error categories of claims: contradicted or unsupported, by kind of item.

The kind is that of a number, date or name of the claim that the sources lack. It is looked up as in
the scorer ``support`` (:mod:`veridical.text.fact_sources`).
"""

from __future__ import annotations

from collections.abc import Sequence

from veridical.text.fact_sources import FactSources
from veridical.text.facts import Facts

KINDS = ("number", "date", "name", "other")
CATEGORIES = tuple(f"{what}/{kind}" for what in ("contradiction", "unsupported") for kind in KINDS)


def categories(
    response: str, claims: Sequence[str], labels: Sequence[str], sources: Sequence[str]
) -> list[str | None]:
    """Return one of :data:`CATEGORIES` for each claim that is not entailed, else None.

    The kind is that of the first number, date or name in the claim that no source has. Numbers
    match by value, dates by their parts, and names by the last word and half of the words. It is
    ``other`` if the sources have them all, or without any.

    Args:
        response: the response, which shows which capitalised words are names.
        claims: texts of the claims.
        labels: their classes.
        sources: texts that the claims were compared with.
    """
    wrong = [i for i, label in enumerate(labels) if label != "entailment"]
    result: list[str | None] = [None] * len(claims)
    if not wrong:
        return result
    # joined, so that a name known from the response is also known in a claim
    pieces, spans, end = [response], [], len(response)
    for i in wrong:
        spans.append((end + 2, end + 2 + len(claims[i])))
        pieces.append(claims[i])
        end = spans[-1][1]
    facts = Facts("\n\n".join(pieces)).find([(0, len(response)), *spans])[1:]
    look_up = FactSources(sources)
    for i, items in zip(wrong, facts, strict=True):
        kind = next((f.kind for f in items if look_up.find(f) is None), "other")
        what = "contradiction" if labels[i] == "contradiction" else "unsupported"
        result[i] = f"{what}/{kind}"
    return result
