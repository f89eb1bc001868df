"""Model names: parsing, and the table of accepted forms."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from veridical.errors import UsageError

_ADDRESS = re.compile(r"(tei:)?https?://")
#: Prefixes that may precede the first colon. Any other text with a colon is a place as a whole.
_KINDS = frozenset(
    {
        *("onnx", "torch", "local", "llm", "fake"),
        *("critic", "hhem", "minicheck", "alignscore"),
        *("openai", "anthropic", "gemini", "ollama"),
    }
)
_WORD = re.compile(r"(?<![\w:.-])[a-z][\w.-]*(?::[\w.-]+)?")
_ASIDE = re.compile(r"\([^()]{0,200}\)|\[[^\[\]]{0,200}\]|[A-Z_]{2,}")
_ALONE = ("local", "llm")  # kinds that are complete names


@dataclass(frozen=True)
class ModelName:
    """A model's name in its parts, as in ``torch:org/name?revision=COMMIT``.

    Attributes:
        kind: prefix before the first colon, which determines the runtime; may be empty.
        place: folder, file, hub id, address or other name.
        query: the options as written after ``?``; None if there is no ``?``.
        alone: True if the kind was written alone, without a colon.
    """

    kind: str
    place: str
    query: str | None = None
    alone: bool = False

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Parse ``text``; any text is valid, and ``str`` restores it."""
        head, mark, query = text.partition("?")
        kind, colon, place = head.partition(":")
        if colon and kind == "llm":  # the name of an endpoint may have options of its own
            place, mark, classes = text.removeprefix("llm:").rpartition("?classes=")
            place, query = (place, f"classes={classes}") if mark else (classes, "")
        elif not _ADDRESS.match(head) and not (kind in _KINDS if colon else head in _ALONE):
            kind, place = "", head
        return cls(kind, place, query if mark else None, bool(kind) and not colon)

    def __str__(self) -> str:
        return self.head + self._tail

    @property
    def head(self) -> str:
        """Name without its options."""
        return f"{self.kind}{'' if self.alone else ':'}{self.place}" if self.kind else self.place

    def place_of(self, *kinds: str) -> str:
        """Return the place in a name of one of ``kinds``; other names are places as a whole."""
        return self.place if self.kind in kinds else self.head

    @property
    def rest(self) -> str:
        """Name without its kind, with options."""
        return self.place + self._tail

    @property
    def remote(self) -> bool:
        """True if the name is the address of a server."""
        return self.kind in ("http", "https")

    @property
    def served(self) -> tuple[str, str]:
        """Address of a server, and the name of its model after ``#``."""
        address, _, model = str(self).partition("#")
        return address, model

    @property
    def options(self) -> dict[str, str]:
        """Options by name."""
        return dict(parse_qsl(self.query or "", keep_blank_values=True))

    @property
    def _tail(self) -> str:
        return "" if self.query is None else f"?{self.query}"


#: Accepted forms of names, by the role of the model; the form in help texts is after ``|``. CLASSES
#: are the model's classes in its own order, such as contradiction,entailment,neutral; COMMIT pins a
#: hub id to a commit, tag or branch.
_TABLE = """
embedder
  minilm (embedded) | minilm
  a local folder | a folder
  onnx:FOLDER
  torch:HUB_ID_OR_FOLDER[?layer=17&revision=COMMIT&prefix=TEXT&dense=SUBFOLDER] | a hub id, torch:ID
  org/name (a hub id, run by torch)
  https://HOST/v1#MODEL (OpenAI-compatible) | http://HOST/v1#MODEL
  tei:http://HOST (text-embeddings-inference) | tei:URL
  NAME of a section [llm.NAME] in veridical.toml (the embeddings of its server) | a [llm.NAME]
image_embedder
  efficientnet-lite0 (embedded) | efficientnet-lite0
  a local folder | a folder
  onnx:FOLDER
  torch:HUB_ID_OR_FOLDER[?revision=COMMIT] (CLIP, SigLIP, DINOv2, ViT and the like) \
| a hub id, torch:ID (CLIP and the like)
  org/name (a hub id, run by torch)
nli
  auto (base where it is installed, else mini)
  mini[?precision=int8] (veridical-nli-mini, embedded) | base, mini
  base[?precision=int8] (veridical-nli-base, a package of its own)
  a local folder | a folder
  onnx:FOLDER[?precision=int8&labels=CLASSES]
  torch:HUB_ID_OR_FOLDER[?revision=COMMIT&labels=CLASSES] | a hub id, torch:ID
  org/name (a hub id, run by torch)
  tei:http://HOST[?labels=CLASSES] (text-embeddings-inference) | tei:URL
  llm[:NAME][?classes=2] (a language model: the run's own, or an endpoint) | llm:NAME
  critic, hhem, minicheck-flan-t5, minicheck-roberta, minicheck-deberta (published checkpoints)
  alignscore-large[?mode=nli_sp], alignscore-base (after veridical models convert)
  critic:, hhem:, minicheck: or alignscore: before a HUB_ID_OR_FOLDER (others of their kind)
proxy
  PATH.gguf
  a local folder, run by torch | a folder, a .gguf file
  torch:HUB_ID_OR_FOLDER_OR_GGUF[?dtype=bfloat16&revision=COMMIT]
  org/name (a hub id, run by torch) | a hub id
  http(s)://HOST/v1#MODEL, or NAME of a section [llm.NAME] in veridical.toml (a server that \
gives the log-probabilities of given text, such as vLLM) | http://HOST/v1#MODEL
llm
  NAME of a section [llm.NAME] in veridical.toml | a [llm.NAME] of veridical.toml
  openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL \
| openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL
  http(s)://HOST/v1#MODEL (any OpenAI-compatible server) | http://HOST/v1#MODEL
  local, local:NAME (see: veridical models get), local:PATH.gguf (runs here; extra [local]) | local
  auto (the largest checker that is here: local:checker-1.5b or local:checker-0.5b)
  torch:HUB_ID, torch:FOLDER, torch:PATH.gguf, each with [?dtype=bfloat16] (runs here, slowly; \
extra [torch])
  fake:FILE.json (scripted answers, for tests)
checkpoint
  org/name[?revision=COMMIT] (a hub id)
  a local folder
  torch:HUB_ID_OR_FOLDER[?revision=COMMIT]
"""


def _rows(role: str) -> list[tuple[str, str]]:
    """Return the forms of ``role``, each as listed in errors and, if it is, in help."""
    part = _TABLE.partition(f"\n{role}\n  ")[2].replace("\n  ", "\0").partition("\n")[0]
    return [(full, short) for full, _, short in (row.partition(" | ") for row in part.split("\0"))]


def forms(role: str) -> tuple[str, ...]:
    """Return the accepted forms of model names in ``role``, as listed in errors."""
    return tuple(full for full, _ in _rows(role))


def forms_in_help(role: str) -> str:
    """Return the accepted forms of model names in ``role``, as listed in the help of an option."""
    return ", ".join(short for _, short in _rows(role) if short)


def no_model(name: ModelName | str, listed: Sequence[str], what: str = "model") -> UsageError:
    """Return the error that ``name`` matches none of the ``listed`` forms."""
    words = [w for form in listed for w in _WORD.findall(_ASIDE.sub("", form))]
    near = difflib.get_close_matches(str(name), words, n=1, cutoff=0.7)
    hint = f"; did you mean {near[0]}?" if near else "."
    return UsageError(f"{str(name)!r} names no {what}{hint} Known forms:\n  " + "\n  ".join(listed))
