"""Verbalised rows and leaves of trees, tables and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from veridical.text.statements import is_sentence, to_judge
from veridical.text.structure.nodes import Node, join_name, leaves_of, scalar_kind, words_set
from veridical.text.structure.pairs import NamedLine, answers, asks
from veridical.text.structure.parts import Leaf, Row
from veridical.text.structure.tables import TableCell, TextTable
from veridical.text.structure.wording import (
    capital,
    closed,
    named,
    truth,
    with_unit,
    worded_value,
    words_of_header,
)

_MAX_LEAVES_PER_ROW = 24
_MAX_ROW_CHARACTERS = 500  # of its values
_LONGEST_SUBJECT = 80  # characters
_SUBJECT_NAMES = ("name", "title", "label", "product", "item", "plan")
_HOLDERS = words_set("attributes properties fields data info details result")
_ORDER_NAMES = words_set("# no no. nr nr. pos pos. position place rank id index row")
_COUNT_NAMES = words_set("# no no. nr nr. index row")
_MIN_SENTENCE_WORDS = 4  # of a value; "10 am" is not a sentence
_MAX_LISTED_ROWS = 12  # of a table, in its summary


class _Place(NamedTuple):
    path: str
    names: tuple[str, ...]
    node: Node


def rows_of_tree(root: Node) -> tuple[Row, ...]:
    """Return the rows of a tree: small objects and lists whole, larger ones in parts."""
    groups = list(_groups(root, "", (), listed=False))
    return tuple(_row(group, i) for i, group in enumerate(groups))


class _Group(NamedTuple):
    """Leaves of one row, and True if the row is part of a list."""

    node: Node
    places: list[_Place]
    listed: bool


def _groups(node: Node, path: str, names: tuple[str, ...], *, listed: bool) -> Iterator[_Group]:
    """Yield groups of leaves in order.

    Recursion is as deep as the tree, which is bounded.
    """
    if node.is_leaf:
        yield _Group(node, [_Place(path, names, node)], listed)
        return
    first = [_Place(*x) for x in islice(leaves_of(node, path, names), _MAX_LEAVES_PER_ROW + 1)]
    small = len(first) <= _MAX_LEAVES_PER_ROW and _size(first) <= _MAX_ROW_CHARACTERS
    if small and not _lists_objects(node):
        if first:
            yield _Group(node, first, listed)
        return
    run: list[_Place] = []
    for i, (name, child) in enumerate(node.children):
        array = node.kind == "array"
        place = f"{path}[{i}]" if array else join_name(path, name)
        inner = names if array else (*names, name)
        if child.is_leaf and not array:
            run.append(_Place(place, inner, child))
            if len(run) == _MAX_LEAVES_PER_ROW or _size(run) > _MAX_ROW_CHARACTERS:
                yield _Group(node, run, listed)
                run = []
            continue
        if run:
            yield _Group(node, run, listed)
            run = []
        yield from _groups(child, place, inner, listed=array)
    if run:
        yield _Group(node, run, listed)


def _size(places: Sequence[_Place]) -> int:
    return sum(len(p.node.value) + len(p.names[-1] if p.names else "") for p in places)


def _lists_objects(node: Node) -> bool:
    """Return True if a small tree has a list of objects."""
    below = [child for _, child in node.children if not child.is_leaf]
    if node.kind == "array" and any(child.kind == "object" for child in below):
        return True
    return any(map(_lists_objects, below))


def _row(group: _Group, row: int) -> Row:
    subject_place, subject = _subject(group)
    leaves = []
    pieces = []
    depth = _shared(group.places)
    for place in group.places:
        own = place is not subject_place
        leaf = _leaf(place, subject if own else "", row)
        leaves.append(leaf)
        if leaf.kind != "null" and own:
            pieces.append(
                _piece(named(place.names[depth:]) or named(place.names[-1:]), leaf.value, leaf.kind)
            )
    above = named(group.places[0].names[:depth]) if group.places else ""
    head = f"{above} {subject}".strip() if subject else above
    text = _listed(head, pieces)
    first, last = group.places[0].node, group.places[-1].node
    start, end = first.start, last.end
    if group.node.children and len(group.places) > 1 and group.node.start <= start:
        whole = list(islice(leaves_of(group.node), _MAX_LEAVES_PER_ROW + 1))
        if len(whole) == len(group.places):
            start, end = group.node.start, max(group.node.end, end)
    return Row(start, end, text, tuple(leaves))


def _shared(places: Sequence[_Place]) -> int:
    """Count the outermost names shared by all places, except the last."""
    if len(places) < 2:
        return 0
    depth = 0
    for level in zip(*(p.names[:-1] for p in places), strict=False):
        if len(set(level)) > 1:
            break
        depth += 1
    return depth


def _listed(head: str, pieces: Sequence[str]) -> str:
    body = "; ".join(pieces)
    if head and body:
        return capital(closed(f"{head}: {body}"))
    return capital(closed(body or head)) if body or head else ""


def _piece(name: str, value: str, kind: str) -> str:
    """Return a name and its value as part of a row's text."""
    if kind == "boolean":
        return truth(name, value)
    name, unit = with_unit(name, value)
    worded = worded_value(" ".join(value.split()).rstrip("."), unit) + (f" {unit}" if unit else "")
    return f"{name} {worded}".strip() if name and not _states_itself(worded) else worded


def _subject(group: _Group) -> tuple[_Place | None, str]:
    """Return the leaf that names the object, and that name; ("", None) without one."""
    direct = [p for p in group.places if p.node.kind in ("text", "number") and p.names]
    if len(group.places) < 2 or not direct:
        return None, ""
    depth = min(len(p.names) for p in direct)
    near = [p for p in direct if len(p.names) == depth or p.names[-2].lower() in _HOLDERS]
    by_name = {p.names[-1].lower(): p for p in reversed(near)}
    for name in _SUBJECT_NAMES:
        found = by_name.get(name)
        if found is not None and 0 < len(found.node.value) <= _LONGEST_SUBJECT:
            return found, found.node.value
    first = direct[0]
    short = first is group.places[0] and first.node.kind == "text"
    if group.listed and short and 0 < len(first.node.value) <= _LONGEST_SUBJECT:
        return first, first.node.value
    return None, ""


def _leaf(place: _Place, subject: str, row: int) -> Leaf:
    node = place.node
    kind = node.kind
    assert kind not in ("object", "array")
    return leaf_of(place.path, node, kind, named(place.names), subject, row)


def leaf_of(path: str, node: Node, kind: str, names: str, subject: str, row: int) -> Leaf:
    """Return a leaf with its statement; a value that is a sentence states itself."""
    value = " ".join(node.value.split())
    if kind == "null" or not value:
        return Leaf(path, node.value, node.start, node.end, "null", names, subject, "", (0, 0), row)
    if kind == "text" and _states_itself(value):
        text = closed(value)
        return Leaf(
            path, value, node.start, node.end, "text", names, subject, text, (0, len(value)), row
        )
    piece, said = value, value
    if kind == "boolean":
        piece, said = truth(names, value), ""
    elif names:
        words, unit = with_unit(names, value)
        said = worded_value(value, unit)
        piece = f"{words}: {said}" + (f" {unit}" if unit else "")
    text = capital(closed(f"{subject}, {piece}" if subject else piece))
    at = text.rfind(said) if said else 0
    place = (at, at + len(said)) if said and at >= 0 else (0, 0)
    return Leaf(path, node.value, node.start, node.end, kind, names, subject, text, place, row)  # type: ignore[arg-type]


def _states_itself(value: str) -> bool:
    return len(value.split(None, _MIN_SENTENCE_WORDS)) >= _MIN_SENTENCE_WORDS and is_sentence(value)


def rows_of_table(table: TextTable) -> tuple[Row, ...]:
    """Return the rows of a table; the header's row states the number of rows."""
    header = [c.text for c in table.header]
    rows = []
    if header:
        start, end = table.header[0].start, table.header[-1].end
        rows.append(Row(start, max(start, end), _summary(table)))
    for i, cells in enumerate(table.rows):
        if any(c.text for c in cells):
            rows.append(_table_row(cells, header, i))
    return tuple(rows)


def _table_row(cells: Sequence[TableCell], header: Sequence[str], i: int) -> Row:
    label, subject = _label(cells, header)
    leaves = []
    pieces = []
    for j, cell in enumerate(cells):
        name = header[j] if j < len(header) else ""
        path = join_name(f"row[{i}]", name) if name else f"row[{i}][{j}]"
        node = Node("text", cell.start, cell.end, cell.text)
        kind = "null" if _counts_rows(j, name, cell.text, i) else scalar_kind(cell.text)
        words = words_of_header(name)
        leaves.append(leaf_of(path, node, kind, words, subject if j != label else "", i))
        if kind != "null" and j != label:
            pieces.append(_piece(words, cell.text, kind))
    text = _listed(subject, pieces) if len(cells) > 1 else capital(closed(cells[0].text))
    return Row(cells[0].start, max(c.end for c in cells), text, tuple(leaves))


def _counts_rows(column: int, name: str, value: str, row: int) -> bool:
    """Return True for a running number in a first column."""
    return (
        not column and name.strip().lower() in _COUNT_NAMES and value.rstrip(".)") == str(row + 1)
    )


def _label(cells: Sequence[TableCell], header: Sequence[str]) -> tuple[int, str]:
    """Return the column that names a row, and the row's name.

    It is the first column with words, or a number with its header, except a running number.
    """
    if len(cells) < 2:
        return -1, ""
    first = header[0].strip().lower() if header else ""
    if cells[0].text and first not in _ORDER_NAMES:
        named_by_number = not any(map(str.isalpha, cells[0].text))
        if not named_by_number:
            return 0, cells[0].text[:_LONGEST_SUBJECT]
        if first:
            return 0, f"{words_of_header(header[0])} {cells[0].text}"[:_LONGEST_SUBJECT]
    for j, cell in enumerate(cells):
        if any(map(str.isalpha, cell.text)) and len(cell.text) <= _LONGEST_SUBJECT:
            return j, cell.text
    return 0, cells[0].text[:_LONGEST_SUBJECT]


def _summary(table: TextTable) -> str:
    """Describe a whole table: number of rows, their names, and extremes of columns."""
    count = len(table.rows)
    if count > _MAX_LISTED_ROWS or len(table.header) < 2:
        return f"The table has {count} rows."
    names = [_label(cells, [c.text for c in table.header])[1] for cells in table.rows]
    return f"The table has {count} rows: {', '.join(n for n in names if n)}."


def rows_of_pairs(pairs: Sequence[NamedLine]) -> tuple[Row, ...]:
    """Return a row for each line; a question and its answer are one statement."""
    rows: list[Row] = []
    i = 0
    while i < len(pairs):
        pair = pairs[i]
        after = pairs[i + 1] if i + 1 < len(pairs) else None
        if after is not None and asks(pair.name) and answers(after.name):
            said = to_judge(pair.node.value, after.node.value)
            joined = f"{pair.node.value} {after.node.value}"
            text = closed(joined if said.how == "answer" else said.text)
            rows.append(Row(pair.start, after.node.end, text))
            i += 2
            continue
        i += 1
        names = named((pair.section, pair.name)) or pair.name
        path = join_name(pair.section, pair.name) if pair.section else join_name("", pair.name)
        if pair.form == "colon":
            names = words_of_header(pair.name)
            names = f"{pair.section} {names}" if pair.section else names
        leaf = leaf_of(path, pair.node, pair.node.kind, names, "", len(rows))
        rows.append(
            Row(pair.start, pair.node.end, leaf.statement or capital(closed(names)), (leaf,))
        )
    return tuple(rows)
