"""Style check for docstrings, help, messages, comments, pages and commit subjects.

``python tests/voice.py PATH...`` prints ``file:line: rule: text``.
``python tests/voice.py --lower`` writes today's counts, where lower, to ``voice_allowed.json``.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ROOT = Path(__file__).parents[1]
ALLOWED = Path(__file__).with_name("voice_allowed.json")

MAX_SENTENCE_WORDS = 24
MAX_MODULE_WORDS = 12
MAX_CLASS_WORDS = 20
MAX_SUBJECT_CHARACTERS = 72

#: Commits after this one follow the rule for subjects.
FIRST_COMMIT = "1adeaa25"

#: Words that open a nominal clause or a fragment, never a summary.
CLAUSE_OPENINGS = _set("what whatever whether how where which why when who whose that if of")
#: Other words that no imperative begins with.
NOT_IMPERATIVE = CLAUSE_OPENINGS | _set(
    """
    a an the this these those its their one two three four five ten each every all any both some
    another other others no none nobody nothing neither either everything something somebody
    everybody anybody more most fewer least by at in on for with without from to as than through
    about among over under until while since so also even else it they true false yes
    mean probability entropy verdict probabilities precision recall accuracy similarity
    agreement average maximum minimum sum result length distance ratio logarithm
    natural expected weighted greedy joint relative random hidden log-odds log-probabilities
    number words shape schema width offset key
    """
)
#: Verbs that end in "s" and are imperative all the same.
ENDS_IN_S = _set(
    """
    access address assess bias bypass compress cross decompress discuss dismiss express focus guess
    harness miss pass press process progress suppress toss
    """
)

#: A pattern and the plain form to use instead of it.
WORDS: tuple[tuple[str, str], ...] = (
    (r"\btold\b", "reported, given, passed"),
    (r"\btells\b", "reports, returns, shows"),
    (r"\btell(?:s|ing)? apart\b", "distinguish"),
    (r"\b(?:says?|said|speaks?|spoken|tell) of\b", "scores, labels, reports"),
    (r"\b(?:speaks?|says?) (?:for|against)\b", "supports, contradicts"),
    (r"\b(?:is|are|was|were|be) none\b(?! of)", "is not a ..., there is no ..."),
    (r"\b(?:has|have|had|finds|names|gives) none\b(?! of)", "has no ..."),
    (r"\b(?:that|it|which|this) (?:is|are) no (?!longer\b|more\b|different\b)\w+", "is not a"),
    (r"\b(?:gone|goes|go|going|went) on (?:with|from)\b", "resumed, continued"),
    (r"\b(?:its|earlier|other|two|few|many|all|\d+) lives\b", "sessions, biographies"),
    (r"\bby people\b", "human"),
    (r"\basked for\b", "requested"),
    (r"\basked-for\b", "requested"),
    (r"\bin the place of\b", "instead of"),
    (r"\bbesides?\b", "and, in addition to, next to"),
    (r"\bstands? (?:in|on|at|with|beside|before|behind|where|there|once|by|under|apart)\b", "is"),
    (r"\bvouch\w*", "support, confirm"),
    (r"\bat hand\b", "available"),
    (r"\banew\b", "again"),
    (r"\bbut for\b", "except"),
    (r"\b(?:somebody|nobody)\b", "the caller, no one, or the passive"),
    (r"\b(?:goes|go|going|gone|went) by\b(?! \d)", "uses, is sorted by"),
    (r"\b(?:is|are|was) of (?:the|a|an|one|its|no|another)\b", "belongs to, or a verb"),
    (r"\bset against\b", "compared with"),
    (r"\bas yet\b", "yet"),
    (r"\bMost that\b", "Maximum"),
    (r"\bby the road\b", "through"),
    (r"\bthat (?:is|are) there\b", "present, existing"),
    (r"\bleaves? the house\b", "is shared outside"),
    (r"\bso many\b", "this many, N"),
    (r"\ba say in\b", "an effect on"),
    (r"\bin the words of\b", "as worded by"),
    (r"\bhear[sd]? of\b", "learns, is notified"),
    (r"\bowed\b", "due"),
    (r"\bmade out\b", "identified"),
    (r"\b(?:lets?|let) go\b", "release"),
)
_WORDS = tuple((re.compile(pattern), plain) for pattern, plain in WORDS)

#: Parts of class names that are private metaphors.
METAPHORS = _set("Purse Tab Bill Door Desk Shelf Lane Seat Room Payer Patient Pen Race Duel Twin")
#: Class names that describe nothing.
EMPTY_NAMES = _set(
    """
    After Ahead Asked Gone Given Wanted Told Said Mine Headed Headline Held Holding Kept Leaving
    Listed Out Over Taken Telling Turned
    """
)

#: Folders whose Python strings are data or prompts, not messages.
DATA_FOLDERS = ("src/veridical/prompts/", "src/veridical/weights/", "training/checker/")
#: End of the names of modules whose strings are lists of words.
VOCABULARY_MODULE = "_words.py"
#: Parts of regular expressions that no message has.
_PATTERN = re.compile(r"\(\?|\\[bdsw]|\w\|\w")
#: Four or more names in code, each with its figure if it has one, as reports list them.
_LISTING = re.compile(r"CODE(?: [\d.]+)?(?:(?:, | = |; | and )CODE(?: [\d.]+)?){3,}")
#: Pages and Python files under the check, from the root.
CHECKED = (
    "src/veridical",
    "packages/veridical-lab/src/veridical_lab",
    "packages/veridical-nli-base",
    "packages/veridical-checker",
    "packages/veridical-lab/README.md",
    "docs",
    "benchmarks",
    "training",
    "release",
    "examples",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "llms.txt",
)


class Violation(NamedTuple):
    """One violation of a rule."""

    file: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.text}"


def plain_text(text: str) -> str:
    """Replace code, roles, link targets and listings of code by one word each."""
    text = re.sub(r"``.+?``|:\w+:`[^`]*`|`[^`]*`", "CODE", text, flags=re.DOTALL)
    text = _LISTING.sub("CODE", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"https?://\S+", "URL", text)


def word_count(text: str) -> int:
    """Count the words that have a letter or a digit."""
    return sum(1 for word in text.split() if re.search(r"\w", word))


def sentences(text: str) -> list[str]:
    """Split plain text at the ends of sentences."""
    text = re.sub(r"\b(e\.g|i\.e|vs|cf|al|eq|etc|no)\.", r"\1", " ".join(text.split()))
    return [part for part in re.split(r"(?<=[.?!])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9])", text)
            if part]  # fmt: skip


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each paragraph, list item and field, without code blocks."""
    block: list[str] = []
    start = 1
    fenced = False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
            bare = ""
        elif fenced or (re.match(r"(?:>>>|\.\.\.|\|| {4}|\t)", line) and not block):
            continue
        if not bare or re.match(r"(?:[-*+]|\d+\.|#+|>|\[\^)\s|\*{0,2}\w+(?:, \*{0,2}\w+)*: ", bare):
            if block:
                yield start, " ".join(block)
            block = []
        if bare and not bare.startswith(("#", "|", "<!--", ">>>", ":::")):
            start = start if block else number
            block.append(bare)


def opening(summary: str, kind: str, is_property: bool = False) -> str | None:
    """Return the rule that the first word of a summary breaks, if any."""
    if not summary.strip():
        return None
    first = summary.split()[0]
    word = first.strip(".,;:'\"").lower()
    if word in CLAUSE_OPENINGS:
        return "opening"
    if kind != "function" or is_property:
        return None
    if not re.fullmatch(r"[A-Za-z]+(?:-[a-z]+)?", first.rstrip(",")):
        return "imperative"
    if word in NOT_IMPERATIVE or (word.endswith("s") and word not in ENDS_IN_S):
        return "imperative"
    if re.search(r"(?:ities|ity|ness|tion|sion|ance|ency|ism)$", word) and word not in {
        "mention", "position", "function", "condition", "balance", "section", "partition",
    }:  # fmt: skip
        return "imperative"
    return None


def _long_sentences(file: str, line: int, text: str) -> Iterator[Violation]:
    for start, paragraph in paragraphs(text):
        for sentence in sentences(plain_text(paragraph)):
            if (count := word_count(sentence)) > MAX_SENTENCE_WORDS:
                shown = f"{count} words: {sentence[:80]}"
                yield Violation(file, line + start - 1, "sentence", shown)


def _banned(file: str, line: int, text: str) -> Iterator[Violation]:
    text = re.sub(r"``[^`]*``|`[^`\n]*`|\]\([^)]*\)", " ", text)
    for pattern, plain in _WORDS:
        for found in pattern.finditer(" ".join(text.split())):
            yield Violation(file, line, "word", f'"{found[0]}": {plain}')


def _docstring(file: str, node: ast.AST, text: str, kind: str) -> Iterator[Violation]:
    line = getattr(node, "lineno", 1)
    summary = plain_text(text.split("\n\n")[0])
    decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", [])]
    is_property = any("property" in d or d.endswith("setter") for d in decorators)
    if rule := opening(text, kind, is_property):
        yield Violation(file, line, rule, text.split("\n")[0][:80])
    limit = {"module": MAX_MODULE_WORDS, "class": MAX_CLASS_WORDS}.get(kind)
    first = sentences(summary)[:1]
    if limit and first and word_count(first[0]) > limit:
        yield Violation(file, line, "summary", f"{word_count(first[0])} words: {first[0][:80]}")
    else:
        yield from _long_sentences(file, line, text)
    yield from _banned(file, line, text)


def _messages(file: str, tree: ast.Module, skipped: set[int]) -> Iterator[Violation]:
    """Check help and the texts of messages, f-strings as a whole."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in ("help", "epilog", "description"):
            text = _literal(node.value)
            if text and (word := opening(text, "help")):
                yield Violation(file, node.value.lineno, word, text[:80])
            if text:
                yield from _long_sentences(file, node.value.lineno, text)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "_set":
            inner |= {id(part) for part in node.args}
        text = _literal(node) or ""
        if isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in node.values}
        elif id(node) in skipped | inner or text.count(" ") < 2:
            continue
        if not _PATTERN.search(text):
            yield from _banned(file, getattr(node, "lineno", 1), text)


def _literal(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) or "VALUE" for part in node.values)
    return None


def check_python(file: str, source: str) -> Iterator[Violation]:
    """Check the docstrings, class names, messages and comments of a module."""
    tree = ast.parse(source)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            parts = set(re.findall(r"[A-Z][a-z0-9]+", node.name))
            if parts & METAPHORS or node.name.lstrip("_") in EMPTY_NAMES:
                yield Violation(file, node.lineno, "class name", node.name)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(node):
                kinds = {ast.Module: "module", ast.ClassDef: "class"}
                yield from _docstring(file, node, text, kinds.get(type(node), "function"))
            for part in node.body:
                if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
                    docstrings.add(id(part.value))
                    if part is not node.body[0] and isinstance(part.value.value, str):
                        attribute = part.value.value
                        if opening(attribute, "attribute"):
                            yield Violation(file, part.lineno, "opening", attribute[:80])
                        yield from _long_sentences(file, part.lineno, attribute)
                        yield from _banned(file, part.lineno, attribute)
    if not file.startswith(DATA_FOLDERS) and not file.endswith(VOCABULARY_MODULE):
        yield from _messages(file, tree, docstrings)
    yield from _comments(file, source)


def _comments(file: str, source: str) -> Iterator[Violation]:
    blocks: list[tuple[int, tuple[int, int], str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            text = token.string.lstrip("#: ")
            line, column = token.start
            whole_line = token.line.lstrip().startswith("#")
            if blocks and blocks[-1][1] == (line - 1, column) and whole_line:
                blocks[-1] = (blocks[-1][0], token.start, blocks[-1][2] + " " + text)
            else:
                blocks.append((line, token.start, text))
            first = token.string.startswith("#:") and blocks[-1][2] == text
            if first and opening(text, "attribute"):
                yield Violation(file, line, "opening", text[:80])
    for line, _, text in blocks:
        yield from _long_sentences(file, line, text)
        yield from _banned(file, line, text)


def check_page(file: str, text: str) -> Iterator[Violation]:
    """Check the sentences and words of a Markdown page."""
    yield from _long_sentences(file, 1, text)
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.strip().startswith("```")
        if line.startswith("#") and not fenced and opening(line.lstrip("# "), "title"):
            yield Violation(file, number, "opening", line)
        if not fenced:
            yield from _banned(file, number, line)


def check_file(path: Path) -> list[Violation]:
    """Check one file, by its kind."""
    path = path.resolve()
    file = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
    text = path.read_text(encoding="utf-8")
    return list(check_python(file, text) if path.suffix == ".py" else check_page(file, text))


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the Python files and pages of folders, and files as they are."""
    for path in paths:
        if path.is_dir():
            found = (p for end in ("*.py", "*.md") for p in path.rglob(end))
            yield from sorted(p for p in found if "build" not in p.parts)
        elif path.exists():
            yield path


def package(file: str) -> str:
    """Name the part of the repository whose allowance covers a file."""
    parts = file.split("/")
    depth = {"src": 3, "packages": 5, "docs": 2}.get(parts[0], 1)
    return "/".join(parts[:depth] if len(parts) > depth else parts[:-1] or parts)


def counts() -> dict[str, int]:
    """Count the violations of each part of the repository."""
    found = Counter(
        package(v.file) for path in files(ROOT / c for c in CHECKED) for v in check_file(path)
    )
    return dict(sorted(found.items()))


def long_subjects(first: str = FIRST_COMMIT) -> list[str] | None:
    """List subjects over the limit since ``first``; None without that part of the history."""
    git = ["git", "-C", str(ROOT)]
    known = subprocess.run([*git, "merge-base", "--is-ancestor", first, "HEAD"],
                           capture_output=True, check=False)  # fmt: skip
    if known.returncode:
        return None
    log = [*git, "log", "--no-merges", "--format=%s", f"{first}..HEAD"]
    subjects = subprocess.run(log, capture_output=True, text=True, check=True).stdout
    return [s for s in subjects.splitlines() if len(s) > MAX_SUBJECT_CHARACTERS]


def lower() -> dict[str, int]:
    """Write the lower of allowed and present counts, and return them."""
    allowed = json.loads(ALLOWED.read_text("utf-8")) if ALLOWED.exists() else None
    found = counts()
    new = found if allowed is None else {
        name: min(found.get(name, 0), limit) for name, limit in allowed.items()
    }  # fmt: skip
    ALLOWED.write_text(json.dumps({n: c for n, c in new.items() if c}, indent=1) + "\n", "utf-8")
    return new


if __name__ == "__main__":
    if sys.argv[1:] == ["--lower"]:
        print(sum(lower().values()))
    else:
        paths = [Path(argument) for argument in sys.argv[1:]] or [ROOT / c for c in CHECKED]
        violations = [v for path in files(paths) for v in check_file(path)]
        print(*violations, sep="\n")
        print(dict(Counter(v.rule for v in violations)), file=sys.stderr)
        sys.exit(bool(violations))
