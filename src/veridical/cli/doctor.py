"""``veridical doctor``: a check of the installation."""

from __future__ import annotations

import json
import textwrap
from itertools import groupby

from veridical.cli.declared import command, flag, flags
from veridical.cli.options import STORE
from veridical.core.options import Group
from veridical.engine.options import EngineOptions

DOCTOR_EXAMPLES = (
    "Examples:\n\n  veridical doctor\n\n  veridical doctor --json\n\n"
    "Exit codes: 0 checks can run; 1 something that checks require is broken."
)
_WIDTH = 80
_MARKS = {"ok": "ok", "absent": "-", "broken": "!!"}


@flags(EngineOptions)
class DoctorOptions:
    """Options of ``veridical doctor``."""

    as_json: bool = flag("Print JSON.", Group.OUTPUT, False, called="--json")
    store: str = STORE


@command
def doctor(options: DoctorOptions) -> int:
    """Check the installation: models, extras, endpoints and the store."""
    from veridical.engine.doctor import DoctorFinding, examine, works

    findings = examine(EngineOptions(store=options.store))
    healthy = works(findings)
    if options.as_json:
        found = [finding.as_dict() for finding in findings]
        print(json.dumps({"ok": healthy, "findings": found}, indent=1))
        return 0 if healthy else 1

    def lines(finding: DoctorFinding) -> list[str]:
        head = f"  {_MARKS[finding.status]:<3}{finding.name}  "
        fix = f"; {finding.fix}" if finding.fix else ""
        return textwrap.wrap(
            finding.says + fix,
            _WIDTH,
            initial_indent=head,
            subsequent_indent="     ",
            break_on_hyphens=False,
        )

    for area, several in groupby(findings, key=lambda finding: finding.area):
        print(area)
        for finding in several:
            print("\n".join(lines(finding)))
    broken = [finding.name for finding in findings if finding.status == "broken"]
    print("everything required for checks works" if healthy else f"broken: {', '.join(broken)}")
    return 0 if healthy else 1
