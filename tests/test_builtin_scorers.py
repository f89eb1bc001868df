"""The table of built-in scorers is what their modules declare, and saves importing them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.builtin_scorers import BUILTIN
from veridical.core.registry import REGISTRY, BoundScorer, Registry, Scorer
from veridical.errors import UsageError

ROOT = Path(veridical.__file__).parent


def declared() -> dict[str, str]:
    """``module:function`` of every ``@scorer("name", ...)`` in the package, by name."""
    places = {}
    for file in ROOT.rglob("*.py"):
        module = ".".join(["veridical", *file.relative_to(ROOT).with_suffix("").parts])
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            for call in getattr(node, "decorator_list", ()):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "scorer" and call.args:
                    places[ast.literal_eval(call.args[0])] = f"{module}:{node.name}"
    return places


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"need": ["samples"]}, "unknown option of a scorer 'need'; did you mean 'needs'"),
        ({"level": "respons"}, "unknown level 'respons'; did you mean 'response'"),
        ({"source": None}, "scorer 'misdeclared' has no source"),
    ],
)
def test_a_declaration_that_cannot_be_meant_is_refused(changed: dict[str, Any], said: str) -> None:
    async def function(record: Any, evidence: Any) -> Any: ...

    options = {"level": "response", "source": "a test", **changed}
    given: Any = {n: v for n, v in options.items() if v is not None}
    with pytest.raises(UsageError) as refused:
        veridical.scorer("misdeclared", **given)(function)
    assert str(refused.value).startswith(said)


def test_the_table_names_every_scorer_where_it_is_declared() -> None:
    assert {name: place for name, (place, *_) in BUILTIN.items()} == declared()


def test_the_table_has_the_presets_of_the_declarations() -> None:
    presets = {name: REGISTRY.get(name).presets for name in BUILTIN}
    assert presets == {name: included for name, (_, included, _) in BUILTIN.items()}


def test_the_table_says_which_scorers_of_presets_ask_an_llm() -> None:
    bound = {name: BoundScorer(REGISTRY.get(name)) for name, (_, in_, _) in BUILTIN.items() if in_}
    asking = {name for name, scorer in bound.items() if "llm" in scorer.costs}
    assert asking == {name for name, (*_, asks) in BUILTIN.items() if asks}


def imported(code: str) -> list[str]:
    """The package's modules that a fresh interpreter holds after ``code``."""
    code += "\nimport json, sys\nprint(json.dumps([m for m in sys.modules if 'veridical.' in m]))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(out.stdout)
    return modules


def test_one_scorer_is_had_without_the_others() -> None:
    modules = imported("from veridical.core.registry import REGISTRY\nREGISTRY.get('ngram')")
    assert "veridical.scorers.consistency.ngram" in modules
    assert "veridical.scorers.consistency.cosine" not in modules
    assert not any(m.startswith(("veridical.ensembles", "veridical.claims")) for m in modules)


def test_what_is_misspelt_is_suggested_without_importing_any_scorer() -> None:
    modules = imported(
        "from veridical.core.registry import REGISTRY\n"
        "from veridical.errors import UsageError\n"
        "try: REGISTRY.get('ngrm')\n"
        "except UsageError as e: assert \"did you mean 'ngram'\" in str(e)"
    )
    assert not any(m.startswith("veridical.scorers.") for m in modules)


def test_a_built_in_name_is_taken_before_its_module_is_imported() -> None:
    async def ngram(record: object, evidence: object) -> None: ...

    taken = Scorer("ngram", ngram, level="response", source="here")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="registered twice"):
        Registry(lambda: BUILTIN).register(taken)


def test_a_plug_in_is_found_when_no_built_in_scorer_has_the_name(tmp_path: Path) -> None:
    (tmp_path / "shout.py").write_text(
        "from veridical import Score, scorer\n"
        "@scorer('shouting', level='response', source='here', presets=['loud'])\n"
        "async def shouting(record, evidence): return Score.of(1.0)\n"
    )
    metadata = tmp_path / "shout-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shout\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[veridical.scorers]\nany = shout\n")
    modules = imported(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from veridical.core.registry import REGISTRY\n"
        "REGISTRY.get('ngram'); assert 'shout' not in sys.modules\n"
        "assert REGISTRY.get('shouting').level == 'response' and REGISTRY.installed('shouting')\n"
        "assert 'shouting' in REGISTRY.names()\n"
        "assert [b.key for b in REGISTRY.preset('loud')] == ['shouting']\n"
    )
    assert modules
