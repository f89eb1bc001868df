"""Smoke test of an installation.

Run it by the installation's interpreter, in an empty folder:

    python smoke.py examples/answers.jsonl

Prints the installed versions and the steps that were tried as one JSON line. Needs nothing but the
standard library and the package.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

SCRIPTS = Path(sysconfig.get_path("scripts"))


def veridical(*words: str, code: int = 0) -> tuple[str, str]:
    """Run the installed command and return its standard output and standard error.

    Another exit code than ``code`` fails the test.
    """
    program = shutil.which("veridical", path=str(SCRIPTS))
    assert program is not None, f"no command in {SCRIPTS}"
    done = subprocess.run(
        [program, *words], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout, done.stderr


def main(answers: str) -> None:
    import veridical as package

    assert SCRIPTS.parent in Path(package.__file__).parents, "not the installed package"
    tried = []

    assert package.__version__ in veridical("--version")[0]
    tried.append("`veridical --version`")

    assert "contradicted" in "".join(veridical("demo"))
    tried.append("`veridical demo`")

    lines = veridical("check", answers, "--limit", "24", "--json", "-", "--report", "report.html")[
        0
    ]
    results = [json.loads(line) for line in lines.splitlines()]
    assert len(results) == 24
    assert {r["verdict"] for r in results} >= {"supported", "contradicted"}, results
    assert "<html" in Path("report.html").read_text("utf-8")
    tried.append("`veridical check` of the examples, with a report")

    everything = ("--preset", "all", "--limit", "4", "--out", "all")
    veridical("check", answers, *everything, "--fail-on", "contradicted,unsupported", code=3)
    tried.append("`--preset all` with a gate, which fails as it should")

    (found,) = package.check([{"response": "It is 70 m tall.", "contexts": ["It is 57 m tall."]}])
    assert found.verdict == "contradicted" and found.risk > 0.5, found
    tried.append("`veridical.check` in Python")

    if find_spec("veridical_nli_base"):
        base = package.check_one("It is 70 m tall.", contexts="It is 57 m tall.", nli="base")
        assert base.verdict == "contradicted"
        assert any("veridical-nli-base" in (s.signature or "") for s in base.scores.values())
    installed = {d.metadata["Name"].lower(): d.version for d in distributions()}
    print(json.dumps({"python": platform.python_version(), "installed": installed, "tried": tried}))


if __name__ == "__main__":
    main(sys.argv[1])
