"""Word classes of an English sentence, one character per word.

A sentence becomes a string of these characters, which the rules of
:mod:`veridical.claims.extractors.clause_rules` match. Only words that are almost always verbs are
classified as verbs; the rest is ``x``, which few rules use.
"""

from __future__ import annotations

import re
from typing import NamedTuple


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: class -> its words, in lower case.
_CLASSES = {
    "P": "he she they we i",
    "p": "it you",
    "h": "this these those",
    "a": "a an",
    "D": "the his her its their my our your some many several all most another such both each",
    "n": "no none neither nobody nothing few little only hardly rarely either nor any every not "
    "never cannot",
    "B": "is was are were isn't wasn't aren't weren't",
    "H": "has had have hasn't hadn't haven't",
    "M": "can could will would may might must shall should can't couldn't won't wouldn't mustn't "
    "shouldn't mightn't needn't",
    "d": "does did do doesn't didn't don't",
    "b": "be been being",
    "q": "said says say claimed claims claim believed believes believe thinks thought think argued "
    "argues argue states stated suggested suggests suggest reported reports alleged alleges denied "
    "denies hoped hopes wants wanted insists insisted mentions mentioned mention indicates "
    "indicate indicated notes noted note feels felt seems seem seemed imply implies implied "
    "assume assumes assumed pretended doubts doubt reportedly allegedly supposedly rumored "
    "rumoured wish wishes told tells announced explains explained revealed reveals admitted admits "
    "confirmed",
    "V": "became began took went came gave wrote saw knew drew fell grew sang rose flew spoke "
    "include contain "
    "chose drove broke threw forgot ate wore underwent became stole swam rang hid shook withdrew "
    "contains includes becomes consists provides serves remains refers requires begins tells "
    "produces operates sells describes owns represents reflects receives focuses competes "
    "specializes resides depicts comprises develops explores revolves involves creates depends "
    "varies allows makes takes gets goes comes meets brings knows writes sings performs belongs "
    "explains discusses portrays carries joins wins loses gives finds keeps seeks performs grows",
    "z": "plays stars features works lives uses offers supports runs holds covers hosts leads "
    "follows moves opens starts ends returns airs",
    "e": "led held made won built taught left lost met sold found got kept spent brought bought "
    "fought sent born known written given taken shown set hit put beat ran come shot cast drawn "
    "grown seen sung begun bred gotten become gone done chosen driven broken worn run paid laid "
    "read struck caught split heard",
    "E": "died used tied lied fled owned",
    "I": "of in on at by for from with about against among between during into over through under "
    "within without across along around behind beyond despite near off onto out per than toward "
    "towards upon via like unlike including throughout alongside above below outside inside "
    "following as",
    "J": "after before since until till once when while whereas",
    "S": "if unless whether although though because lest except provided",
    "o": "to",
    "C": "and",
    "K": "but",
    "O": "or",
    "W": "who",
    "w": "which",
    "T": "that",
    "U": "whose whom where why how what whoever whatever wherever whichever",
    "t": "there here",
    "N": "de von van der den del della di da du bin ibn al el la le",
    "R": "also later then now currently still subsequently eventually soon finally originally "
    "initially previously again often usually always sometimes once recently formerly best widely "
    "primarily mainly mostly largely generally first previously already just even instead "
    "so therefore thus however additionally moreover furthermore meanwhile",
    "x": "indeed hundred need speed seed breed feed exceed sacred naked wicked embed aged king "
    "thing something anything everything spring string ring wing evening morning ceiling building "
    "family early daily weekly monthly friendly he's she's it's that's what's who's there's let's",
}  # fmt: skip
_TAGS = {word: tag for tag, words in _CLASSES.items() for word in words.split()}

#: Verbs that after "was ... and" almost never continue the passive.
ACTIVE = _set(
    "died served moved attended worked appeared graduated studied joined received earned starred "
    "competed scored reached retired continued lived returned resigned remained gained finished "
    "participated contributed collaborated emigrated immigrated migrated enrolled debuted peaked "
    "started helped suffered survived failed enjoyed aired premiered lasted played achieved won "
    "fought lost left spent led"
)
#: Verbs that are almost never active without an object.
PASSIVE = _set(
    "raised educated buried interred nominated inducted cremated baptized baptised christened "
    "imprisoned executed arrested convicted sentenced released filmed published located based "
    "directed written produced composed built born known given taken shown named knighted killed "
    "designed developed introduced established founded used held"
)
#: Verbs whose passive takes a noun: "was elected mayor".
COMPLEMENT = _set(
    "elected appointed named called considered awarded given made ranked known voted declared "
    "crowned deemed granted offered rated dubbed titled nicknamed labeled labelled ordained shown "
    "taught paid sent told asked knighted"
)
#: Participles after a comma whose subject is that of the sentence.
OWN_PARTICIPLES = _set(
    "becoming winning earning receiving serving playing scoring finishing appearing starring "
    "representing competing graduating studying reaching peaking recording releasing writing "
    "publishing retiring collecting defeating leading running working coaching commanding hosting "
    "managing teaching living"
)
#: Words after "which" that refer to the whole clause, not to the noun before it.
CLAUSAL = _set(
    "makes allows means gives helps requires made led surprise shock reason result why mistake "
    "success failure time helped allowed meant caused given"
)
#: Participles that introduce a sentence without being part of its claim: "based on the context".
LEADS = _set("based given compared asked told used provided")
#: Words that apply to a list as a whole, not to each item.
COLLECTIVE = _set(
    "between among together respectively consists consist consisting comprises comprised composed "
    "combined combination both either jointly total versus or merger merged"
)
#: Endings of names of occupations.
CALLING = re.compile(
    r"(?:er|or|ist|ian|man|woman|ess|eur|poet|chef|critic|coach|judge|model|advocate|activist)$"
)

_TOKEN = re.compile(
    r"(?P<quoted>“[^“”]*”|\"[^\"]*\"|«[^«»]*»|(?<!\w)['‘][^'‘’]*['’](?!\w))"
    r"|(?P<bracketed>\([^()]*\)|\[[^\[\]]*\])"
    r"|(?:[A-Z]\.)+(?=[\s,])|[^\W_]+(?:['’.\-‐/&][^\W_]+)*|[^\w\s]|_"
)
_MARKER = re.compile(r"(?:[-*+•‣▪–—]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+")
_MARKS: dict[str, str] = {
    ",": ",", ";": ";", ":": ":", "-": "-", "–": "-", "—": "-", "&": "N", "%": "0", "$": "0",
    "£": "0", "€": "0", "?": "!", "!": "!", ".": ".",
} | dict.fromkeys('"“”«»()[]{}\'‘’', "!")  # fmt: skip
_APOSTROPHES = ("'", "’")
_POSSESSIVE = ("'s", "’s")

#: (pattern, class): class of a word by its neighbours.
_CONTEXT = (
    (re.compile(r"h(?=[xN0gGEQ])"), "D"),
    (re.compile(r"h"), "p"),
    (re.compile(r"(?<=[aDg])[EeGVzq]|(?<=[aD]R)[Ee]|(?<=[I0])[EeVzq]"), "x"),
    (re.compile(r"(?<=[PWwT])z|(?<=[PWwT]R)z|(?<=N)z(?=I)"), "V"),
    (re.compile(r"(?<=[NPpRWwTC,xQ])z(?=[aDNQ])"), "V"),
    (re.compile(r"z"), "x"),
    (re.compile(r"(?<=N)\.(?=.)"), "N"),
    (re.compile(r"\.(?=.)"), "x"),
)  # fmt: skip

#: After a pronoun a word in "s" is a verb: "who paints".
_THIRD_PERSON = re.compile(r"[PW]R{0,2}x")
_INFLECTED = re.compile(r"[^su']s$")


class TaggedSentence(NamedTuple):
    """A sentence's tokens: their classes as one string, lower-case words, and places.

    A quotation is one token of class ``Q``. Text in brackets is not tokenized: ``brackets`` has the
    index of the following token and the place of each. ``begin`` is the first token after a list
    marker.
    """

    tags: str
    lower: list[str]
    spans: list[tuple[int, int]]
    brackets: dict[int, tuple[int, int]]
    begin: int


def read(sentence: str) -> TaggedSentence:
    """Tokenize the sentence and classify its words."""
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    brackets: dict[int, tuple[int, int]] = {}
    classes: list[str] = []
    marker = _MARKER.match(sentence)
    begin = 0
    for match in _TOKEN.finditer(sentence):
        kind = match.lastgroup
        if kind == "bracketed":
            brackets[len(spans)] = match.span()
            continue
        word = match.group()
        words.append(word)
        spans.append(match.span())
        begin += marker is not None and match.start() < marker.end()
        if word in _APOSTROPHES and sentence[match.start() - 1 : match.start()] == "s":
            classes.append("g")
        else:
            classes.append("Q" if kind else _inner[word])
    if begin < len(words) and words[begin][0].isupper():
        classes[begin] = _first(words[begin], words[begin + 1] if begin + 1 < len(words) else "")
    tags = "".join(classes)
    for pattern, tag in _CONTEXT:
        tags = pattern.sub(tag, tags)
    for match in _THIRD_PERSON.finditer(tags):
        if _INFLECTED.search(words[match.end() - 1]):
            tags = tags[: match.end() - 1] + "V" + tags[match.end() :]
    return TaggedSentence(tags, [w.lower() for w in words], spans, brackets, begin)


def _first(word: str, following: str) -> str:
    """Return the class of the first word, which is capitalised by position."""
    low = word.lower()
    if low in _TAGS:
        return _TAGS[low]
    if low.endswith(("ed", "ing")) and _TAGS.get(following) == "I":
        return _form(low)  # "Founded in", but "Fred was"
    return "R" if low.endswith("ly") and following == "," else _inner[word]


def _form(low: str) -> str:
    if len(low) > 4 and "-" not in low:
        if low.endswith("ed"):
            return "E"
        if low.endswith("ing"):
            return "G"
        if low.endswith("ly"):
            return "R"
    return "x"


class _Memo(dict[str, str]):
    """Cached classes of words inside a sentence, where a capital letter marks a name."""

    def __missing__(self, word: str) -> str:
        low = word.lower()
        if word in _MARKS:
            tag = _MARKS[word]
        elif word[0].isdecimal():
            tag = "0"
        elif word.endswith(_POSSESSIVE) and low not in _TAGS:
            tag = "g"
        elif word[0].isupper():
            tag = "P" if word == "I" else "N"
        else:
            tag = _TAGS.get(low) or _form(low)
        if len(self) > _MEMO_SIZE:
            self.clear()
        self[word] = tag
        return tag


_MEMO_SIZE = 1 << 15
_inner = _Memo()
