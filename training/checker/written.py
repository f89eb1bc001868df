"""Written documents of everyday kinds with right and wrong statements.

A line of ``training/data/written.jsonl`` has ``document`` and the lists of statements ``right``,
``contradicted`` and ``not_stated``. A large language model wrote them without any other
text. Right and wrong statements are twins that differ in a fact, in the document's words and in
others. ``long``, where present, has the same lists of sentences of 12 to 42 words that state two
to four facts, as answers do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from checker.examples import Example, Label, digest
from veridical.text.languages import language_of

FILE = Path(__file__).parents[1] / "data" / "written.jsonl"
LABELS: dict[str, Label] = {
    "right": "supported",
    "contradicted": "contradicted",
    "not_stated": "not_stated",
}


def written(file: Path = FILE) -> Iterator[Example]:
    """Yield a row of each statement; those in other languages are a kind of their own."""
    for line in file.read_text(encoding="utf-8").splitlines():
        scenario = json.loads(line)
        document = scenario["document"]
        language = language_of(document)
        for name, lists in (("written", scenario), ("written_long", scenario.get("long", {}))):
            for field, label in LABELS.items():
                for statement in lists.get(field, ()):
                    english = {language, language_of(statement)} <= {"en", None}
                    kind = name if english else "written_language"
                    yield Example(document, statement, label, kind, kind, digest(document))
