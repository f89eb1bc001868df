"""Write what the five stories print today: ``python tests/stories/record.py [NAME ...]``.

Run it after a change of output or of a fitted default, and read the difference before it is
committed: what is unclear or wrong there is so for every user.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from stories import FOLDER, STORIES, transcript

if __name__ == "__main__":
    for story in STORIES:
        if not sys.argv[1:] or story.name in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                text = transcript(story, Path(folder))
            (FOLDER / f"{story.name}.txt").write_text(text, encoding="utf-8")
