"""The studies of CheckEmbed as one self-contained page. No network; a script for the colours only.
Text is escaped by the template."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from veridical.report import formats
from veridical.report.html import asset, content_security_policy, environment, write_whole
from veridical_lab.studies.checkembed.document import TITLES, tables
from veridical_lab.studies.checkembed.figures import figures_of, heat_maps
from veridical_lab.studies.checkembed.result import Studies


def write_studies_report(
    result: Studies, path: Path, title: str = "veridical studies of CheckEmbed"
) -> None:
    """Write the page to ``path``, replacing it in one step.

    Raises:
        OSError: the file cannot be written; an older page then stays as it was.
    """
    style = asset("page.css") + asset("bench.css")
    script = asset("theme.js")
    env = environment("veridical_lab")
    env.filters.update(plain=formats.plain)
    page = env.get_template("studies.html").generate(
        policy=content_security_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        title=title,
        version=result.version,
        result=result,
        shown=[
            (TITLES[s], list(tables(result, s)), figures_of(result, s), heat_maps(result, s))
            for s in result.studies
        ],
    )
    write_whole(Path(path), page)
