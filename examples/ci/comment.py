"""Write or update one comment of a pull or merge request.

    python comment.py summary.md

The first run adds the comment with the summary; later runs update it.

On GitHub: GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN, and PULL_REQUEST (its number). On
GitLab: CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID, and GITLAB_TOKEN (a project token with
the scope api). If the token has no write access, as for a fork, the script does not fail: the
summary of the job remains. Needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

MARK = "<!-- veridical: answers compared -->"
LONGEST = 60_000  # a comment takes 65 536 characters
_PAGE = 100
_MOST_PAGES = 50


class Place(NamedTuple):
    """Address of the comments, and address, method and headers to edit one."""

    comments: str
    edit: str
    method: str
    headers: dict[str, str]
    author: str


def main(path: str) -> int:
    place = github() if os.environ.get("GITHUB_REPOSITORY") else gitlab()
    text = Path(path).read_text("utf-8")
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit("\n", 1)[0] + "\n\nThe rest is in the job's files.\n"
    body = {"body": f"{MARK}\n{text}"}
    try:
        mine = next((c for c in comments(place) if is_mine(c, place)), None)
        if mine is None:
            call(place, "POST", place.comments, body)
            print("comment written")
        else:
            call(place, place.method, place.edit.format(mine["id"]), body)
            print("comment updated")
    except urllib.error.HTTPError as e:
        if e.code not in (401, 403):
            raise
        print(f"no comment: this job may not write one ({e.code}); its summary has it all")
    return 0


def github() -> Place:
    repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
    return Place(
        f"{repository}/issues/{int(os.environ['PULL_REQUEST'])}/comments",
        f"{repository}/issues/comments/{{}}",
        "PATCH",
        {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}"},
        os.environ.get("COMMENT_AUTHOR", "github-actions[bot]"),
    )


def gitlab() -> Place:
    headers = {"PRIVATE-TOKEN": os.environ["GITLAB_TOKEN"]}
    api = os.environ["CI_API_V4_URL"]
    request = int(os.environ["CI_MERGE_REQUEST_IID"])
    notes = f"{api}/projects/{int(os.environ['CI_PROJECT_ID'])}/merge_requests/{request}/notes"
    place = Place(notes, f"{notes}/{{}}", "PUT", headers, "")
    return place._replace(author=call(place, "GET", f"{api}/user")["username"])


def comments(place: Place) -> Iterator[dict[str, Any]]:
    for page in range(1, _MOST_PAGES + 1):
        found = call(place, "GET", f"{place.comments}?per_page={_PAGE}&page={page}")
        yield from found
        if len(found) < _PAGE:
            return


def is_mine(comment: dict[str, Any], place: Place) -> bool:
    """Return True if this script wrote the comment; the mark alone is no proof."""
    user = comment.get("user") or comment.get("author") or {}
    author = user.get("login") or user.get("username")
    return author == place.author and str(comment.get("body", "")).startswith(MARK)


def call(place: Place, method: str, url: str, body: dict[str, str] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {**place.headers, "Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
