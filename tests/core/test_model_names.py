"""Names of models: their parts, and the forms that errors and help list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.model_names import ModelName, forms, forms_in_help, no_model


@pytest.mark.parametrize(
    ("text", "kind", "place", "options"),
    [
        ("mini", "", "mini", {}),
        ("mini?precision=int8", "", "mini", {"precision": "int8"}),
        ("torch:o/n?layer=17&prefix=a%20b", "torch", "o/n", {"layer": "17", "prefix": "a b"}),
        ("local", "local", "", {}),
        ("local?threads=2", "local", "", {"threads": "2"}),
        ("local:./a:b.gguf", "local", "./a:b.gguf", {}),
        ("localhost", "", "localhost", {}),
        ("C:/models/own", "", "C:/models/own", {}),
        ("https://host/v1#M", "https", "//host/v1#M", {}),
        ("tei:http://host?labels=a,b", "tei", "http://host", {"labels": "a,b"}),
        ("tei:name", "", "tei:name", {}),
        ("llm:local:x?threads=2?classes=2", "llm", "local:x?threads=2", {"classes": "2"}),
        ("llm:name?threads=2", "llm", "name?threads=2", {}),
        ("ollama:llama3:8b", "ollama", "llama3:8b", {}),
    ],
)  # fmt: skip
def test_the_parts(text: str, kind: str, place: str, options: dict[str, str]) -> None:
    name = ModelName.parse(text)
    assert (name.kind, name.place, name.options) == (kind, place, options)
    assert str(name) == text


_PIECES = ("local", "llm", "torch", "tei", "http", "://", ":", "?", "classes=", "#", "/", "a", "é")


@given(st.lists(st.sampled_from(_PIECES)).map("".join) | st.text())
def test_any_text_comes_back(text: str) -> None:
    assert str(ModelName.parse(text)) == text


def test_an_address_and_its_model() -> None:
    name = ModelName.parse("http://host:80/v1?x=1#M")
    assert name.remote and name.served == ("http://host:80/v1?x=1", "M")


def test_forms() -> None:
    assert forms("checkpoint") == (
        "org/name[?revision=COMMIT] (a hub id)",
        "a local folder",
        "torch:HUB_ID_OR_FOLDER[?revision=COMMIT]",
    )
    assert forms_in_help("proxy") == "a folder, a .gguf file, a hub id, http://HOST/v1#MODEL"
    near = no_model("minni", ("auto (base, else mini)", "mini[?precision=int8]", "PATH.gguf"))
    assert str(near).startswith("'minni' names no model; did you mean mini? Known forms:")
    assert str(no_model("x", ("a", "b"))) == "'x' names no model. Known forms:\n  a\n  b"
