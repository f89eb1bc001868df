"""What five people read who use this for the first time, to the letter (risks to 0.01).

Recorded by ``python tests/stories/record.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from printed import assert_printed

from stories import FOLDER, STORIES, Story, transcript


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_story_is_told_as_recorded(story: Story, tmp_path: Path) -> None:
    recorded = (FOLDER / f"{story.name}.txt").read_text(encoding="utf-8")
    assert_printed(
        transcript(story, tmp_path), recorded, "if meant: python tests/stories/record.py"
    )


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_story_fits_80_columns_and_is_not_cut(story: Story) -> None:
    recorded = (FOLDER / f"{story.name}.txt").read_text(encoding="utf-8").splitlines()
    printed = [line for line in recorded if not line.startswith(("$ ", "# ", ">>> "))]
    assert [line for line in printed if len(line) > 80 or "…" in line] == []
    assert not any("Traceback" in line or "internal error" in line for line in printed)
