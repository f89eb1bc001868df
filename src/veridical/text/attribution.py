"""Parts of a sentence that name its source or introduce its statement.

"Based on the provided context,", "The guide states that", "The answer is", "In summary,", "...
(source: guide.pdf)". They state nothing themselves. Naming a person or a publication is a
statement: "According to Dr. Wu,". The rules are for English, and all patterns are bounded.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from veridical.text.citations import marker_places
from veridical.text.fact_words import MONTHS
from veridical.text.statements import is_sentence

_LONGEST_LEAD, _MOST_LEADS = 220, 5
_ADJECTIVE = (
    r"(?:provided|given|above|available|supplied|retrieved|following|attached|same|first|second|"
    r"third|last|whole|original|official|relevant|source|input|reference|background|contextual|"
    r"user|product|help|supporting|enclosed|uploaded|linked|cited|quoted|aforementioned|"
    r"mentioned|present|underlying|shared)"
)
_NOUNS = (
    "context|passage|text|document|documentation|article|information|info|source|excerpt|"
    "extract|snippet|guide|guidebook|handbook|manual|report|policy|page|web ?page|website|site|"
    "paragraph|sentence|section|file|pdf|material|knowledge base|search result|result|transcript|"
    "data|dataset|database|record|content|reference|knowledge|faq|leaflet|brochure|letter|email|"
    "e-mail|notice|contract|agreement|minutes|table|list|chapter|statement|note|study|paper|"
    "conversation|chat|story|question|details|facts|evidence|description|summary|instructions|"
    "terms|rules|release|readme|ticket|spec|specification|datasheet|form"
)
_NOUN = f"(?:{_NOUNS})s?"
_NUMBER = r"(?:(?:no\. ?|number |#)?(?:\d{1,4}(?:\.\d{1,3}){0,3}|[A-Z])(?![\w.]\w))"
_ENDINGS = "pdf|docx|doc|txt|md|html|htm|csv|xlsx|xls|json|pptx|ppt|rst|xml|yaml|yml"
_FILE = (
    rf"(?:[\"'`*“]{{0,2}}[\w-]{{1,60}}(?:\.[\w-]{{1,30}}){{0,3}}\.(?:{_ENDINGS})[\"'`*”]{{0,2}})"
)
_GIVEN = (
    r"(?: (?:that )?(?:(?:you|we|i)(?:'ve| have| were| was| are| am)? )?(?:been )?(?:provided|"
    r"given|gave|shared|supplied|retrieved|have|above|below|sent|uploaded|at hand|available)"
    r"(?: (?:to me|to us|by you|by the user|above|below|here|with me))?)"
)
#: A given text, or a part of it.
_SOURCE = (
    rf"(?:{_FILE}"
    rf"|(?:\[|\()?(?:document|doc|source|passage|context|text|page|chunk|section|paragraph|article|"
    rf"excerpt|reference|result|chapter|item|clause|file)s? {_NUMBER}"
    rf"(?:(?:,|,? and| &) {_NUMBER}){{0,4}}(?:\]|\))?"
    r"|\[\^?\d{1,3}\]|【[^【】]{1,40}】"
    rf"|(?:all (?:of )?)?(?:the|this|that|these|those|your|our|my|its)(?: {_ADJECTIVE}){{0,3}}"
    rf"(?: (?-i:[a-z])[\w-]{{1,20}})?(?: {_ADJECTIVE})?[ -]{_NOUN}(?: {_NUMBER})?"
    rf"|(?:what (?:the|this) {_NOUN} says?|what (?:i|we) (?:was|were|am|are|have been) given)"
    rf"|provided {_NOUN}|available {_NOUN}"
    r")"
)
_PLACE = (
    rf"{_SOURCE}(?:{_GIVEN})?"
    rf"(?:,? (?:in|on|of|from|under|at) {_SOURCE}(?:{_GIVEN})?)?"
)
#: Last words of what a place must have; most sentences lack them.
_IN_PLACES = frozenset(
    part.split(" ")[-1].split("-")[-1].removeprefix("?") + plural
    for part in f"{_NOUNS}|{_ENDINGS}|doc|chunk|item|clause|given".split("|")
    for plural in ("", "s")
)
_ASCII_WORD = re.compile(r"[a-z]+")
_HOW = (
    r"(?:(?:also|clearly|explicitly|further|specifically|simply|only|then|directly|actually) ){0,2}"
)
_SAYS = (
    r"(?:states?|says?|mentions?|indicates?|notes?|explains?|shows?|specifies|specify|describes?|"
    r"reports?|reads?|tells (?:us|you|me)|tells?|confirms?|suggests?|makes? (?:it )?clear|"
    r"points? out|claims?|lists?|adds?|clarifies|outlines?|reveals?|highlights?|details?|"
    r"informs? (?:us|you)|provides?|stated|said|mentioned|indicated|noted|explained)"
)
_SAID = (
    r"(?:stated|mentioned|noted|described|explained|outlined|indicated|specified|shown|seen|"
    r"written|reported|discussed|set out|detailed|listed|given|found|said|described|summarized|"
    r"summarised|quoted|documented|presented|laid out|pointed out|provided|published|defined|"
    r"recorded|read)"
)
_BEFORE = (
    r"(?:based (?:up)?on|according to|as per|per|from|going by|judging (?:by|from)|given|in|"
    r"in accordance with|in line with|drawing on|referring to|looking at|reading|on the basis of|"
    r"by|as of|under|with reference to|per)"
)
_CONNECTIVE = (
    r"(?:in summary|in short|in conclusion|in brief|in essence|in a nutshell|in other words|"
    r"in total|in general|to summari[sz]e|to sum(?: it)?(?: all)? up|to conclude|to put it simply|"
    r"to recap|to be (?:clear|precise|specific|exact|brief|honest|more specific)|to clarify|"
    r"to answer (?:your|the|this) question(?: directly| briefly)?|"
    r"(?:in (?:answer|response|reply)|with regard|regarding|as|with respect)(?: to| for)? "
    r"(?:your|the|this) (?:question|query|request)|regarding your question|"
    r"summing up|summari[sz]ing|put simply|simply put|briefly(?: put)?|overall|"
    r"all in all|therefore|thus|hence|so|consequently|accordingly|additionally|furthermore|"
    r"moreover|in addition|also|however|essentially|basically|specifically|in fact|indeed|"
    r"for example|for instance|as a result|for clarity|tl;?dr|"
    r"as far as i (?:know|can tell|can see)|"
    r"as you can see|as an ai(?: language)?(?: model| assistant)?|"
    r"of note|notably|importantly|interestingly|unfortunately|fortunately)"
)
_THAT = (
    r"(?:(?:please |kindly )?note|(?:please )?(?:keep|bear) in mind|(?:please )?(?:remember|"
    r"be aware|be advised)|it (?:should|must) (?:also )?be (?:noted|mentioned|remembered|stressed|"
    r"emphasi[sz]ed|added|said)|"
    r"it(?:'s| is) (?:also )?(?:worth|important|useful|good|helpful)(?: to)? "
    r"(?:noting|note|mentioning|mention|remember|remembering|know|knowing|understand|point out|"
    r"pointing out)|it (?:appears|seems|looks like|follows|is clear|is stated|is said|is noted|"
    r"is mentioned|is written|says|states|reads)|i (?:can |could )?(?:think|believe|found|find|see|"
    r"understand|confirm|tell you|read|note|conclude|gather)|we (?:can )?(?:see|find|conclude|read|"
    r"learn|know)|you (?:can|will|should) (?:see|find|note|know)|rest assured|this means|"
    r"i(?:'m| am) (?:happy|glad|pleased|delighted|afraid|sorry) to (?:share|report|confirm|say|"
    r"tell you|let you know|inform you)|let me (?:tell|inform|remind) you|"
    r"(?:i|we) (?:would|'d) (?:like to )?(?:say|note|add))"
)
_ANSWER_IS = (
    r"(?:so |therefore |thus )?the (?:(?:final|short|quick|correct|direct|right|brief|simple) )?"
    r"answer(?: to (?:your|the|this) question)? (?:is|would be)"
)
_LABEL = (
    r"(?:(?:(?:the|my|your|a) )?(?:(?:final|short|quick|correct|direct|brief|long|full|simple|"
    r"concise|complete) )?(?:answer|response|reply|result|summary|conclusion|context|assistant|"
    r"explanation|ai|bot|agent|solution|output|note|reminder|tl;?dr)|a|answer \d{1,2}|fact|"
    r"key (?:point|takeaway|fact)s?|"
    r"here(?:'s| is| are) (?:the|my|your|a|an|what)(?: [\w']{1,20}){1,6}|"
    r"in the provided text|what (?:it|the \w{1,20}) says)"
)
_OPENING = r"[\s*_#>\"'“`(]{0,8}"
_MARKUP = r"[*_]{0,3}"
_AS_SAID = (
    rf"(?:as|like) (?:(?:is|was|has been|it is|it was) )?{_HOW}{_SAID}"
    r"(?: (?:above|earlier|before|below|here))?"
)
#: With a place, which makes them large.
_PLACED_LEADS = (
    rf"{_BEFORE} {_PLACE}{_MARKUP}\s{{0,9}}[,:;–—]{_MARKUP}\s?"  # after a marker
    rf"(?:{_HOW}(?:it (?:is|was) {_HOW}{_SAID} that|it {_HOW}{_SAYS} that)\s)?"
    rf"(?:i can (?:tell you|say|confirm|see) that\s)?",
    rf"{_AS_SAID} (?:in|by|on|under|at|from|within) {_PLACE}{_MARKUP}\s?[,:]\s?",
    rf"as {_PLACE} {_HOW}{_SAYS}\s?[,:]\s?",
    rf"(?:in |on )?{_PLACE},? (?:it (?:is|was) )?{_HOW}(?:{_SAYS}|{_SAID})"
    r"(?: that\s|\s?:\s?(?=\S))",
    rf"it (?:is|was) {_HOW}{_SAID} (?:in|by|on|under) {_PLACE} that\s",
)
_PLAIN_LEADS = (
    rf"{_AS_SAID}{_MARKUP}\s?[,:]\s?",
    rf"{_CONNECTIVE}{_MARKUP}\s?[,:;]{_MARKUP}\s?",
    rf"{_THAT}(?:,|:| that)\s",
    rf"{_ANSWER_IS}(?:\s?:| that\b)\s",
    rf"{_LABEL}{_MARKUP}\s?:{_MARKUP}\s?",
    r"(?:selon|d'après|d’après) (?:le|la|les|ce|ces|cette) (?:[\w-]{1,20} ){1,3}?(?:fourni|"
    r"donné|ci-dessus)?e?s?\s?,\s?",
    r"(?:según|de acuerdo con|secondo|stando a|segundo|de acordo com) (?:el|la|los|las|il|lo|"
    r"i|le|o|a|os|as) (?:[\w-]{1,20} ?){1,3}\s?,\s?",
)

#: These introduce only a sentence, or the answer to a question.
_TO_SENTENCE = rf"{_PLACE} {_HOW}(?:says?|said|states?|stated|notes?|noted|reads)\s"

_CITED = (
    r"(?:(?:source|sources|ref|reference|see|cf\.?|via|from|per|according to|as per|based on|"
    rf"as (?:{_SAID})(?: (?:in|by|on|under))?|{_SAID} (?:in|by|on|under)|in)\s?:?\s?)"
)
_CITES = r"(?:(?:source|sources|ref|reference|see|cf\.?|via)\s?:?\s)"
_TAIL_FORMS = (
    rf"[\s,]{{1,3}}[(\[]{_CITED}{_PLACE}[)\]]",
    r"[\s,]{1,3}[(\[](?:sources?|refs?|references?) ?: ?[^()\[\]]{1,80}[)\]]",
    rf"[\s,]{{1,3}}[(\[](?:{_FILE}|{_PLACE})"
    rf"(?:, (?:p|pp|page|pages|sec|section)\.? ?[\d–-]{{1,9}})?[)\]]",
    r"\s[(\[](?:p|pp|page|pages)\.? ?\d[\d–, -]{0,12}[)\]]",
    rf",? (?:according to|as per|per|based on) {_PLACE}",
    rf",? as (?:is |was )?{_HOW}{_SAID}(?: (?:in|by|on|under) {_PLACE}| above| earlier)",
    rf",? as {_PLACE} {_HOW}{_SAYS}",
)
_AUTHOR = rf"(?!{'|'.join(m.title() for m in MONTHS)})[A-Z][\w'’-]{{1,30}}"
_AUTHORS = (
    rf"\s\((?:{_AUTHOR}(?: et al\.?,?|(?: (?:and|&) {_AUTHOR})?,) (?:19|20)\d\d[a-z]?"
    r"(?:; )?){1,4}\)"
)
_TAIL_START = re.compile(r"[\s,]{0,3}[(\[]|,? (?:according|as|per|based)\b", re.IGNORECASE)
_STOPS = ".!?。 \t\n*_\"'”’"
_LONGEST_TAIL = 160

_THIS = (
    r"(?:this|that|it|the above|all (?:of )?this|"
    r"this (?:information|fact|answer|detail|data|statement|point)|"
    r"the (?:answer|information|above information|relevant information|details)|"
    r"these (?:details|facts|figures|points)|more (?:details|information))"
)
#: A sentence that only gives the place of the answer.
_FOUND = rf"(?:{_CITES}|(?:i|we) (?:found|took|got) (?:this|it) (?:in|from) )"
_WHOLE_PLACE = (
    # text before a place: a large pattern, used only once
    rf"(?:{_THIS} (?:is|are|was|were|can be|comes?|came)(?: all)? {_HOW}"
    rf"(?:(?:{_SAID}|taken|drawn|supported|confirmed|backed up|located|available) )?"
    rf"(?:in|by|on|under|from|at|within|directly from|based on|according to) "
    rf"|{_FOUND}|[(\[]{_CITED}|(?:based on|according to|as per) "
    rf"|as {_SAID} (?:in|by|on|under|above|earlier) ?){_PLACE}"
    rf"|(?:{_FOUND}|[(\[]){_FILE}|as {_SAID} (?:in|by|on|under|above|earlier) ?"
    rf"|{_PLACE} {_HOW}{_SAYS} (?:this|so|it|the following|that)"
    rf"|(?:in|on) {_PLACE},? it {_HOW}{_SAYS}"
)
_WHOLE_LABEL = rf"(?:{_LABEL}|{_CONNECTIVE})[*_]{{0,3}}\s?:"
_END = r"[)\]\"'*_]{0,4}\s?[.:!…]{0,3}[)\]\"'*_\s]{0,4}"
_LONGEST_WHOLE = 200


class _Patterns(NamedTuple):
    leads: tuple[re.Pattern[str], ...]
    to_sentence: re.Pattern[str]
    whole: re.Pattern[str]


@cache
def _placed() -> _Patterns:
    """Compile the patterns with a place on first use, as they are large."""
    return _Patterns(
        tuple(map(_opened, _PLACED_LEADS)),
        _opened(_TO_SENTENCE),
        _opened(f"(?:{_WHOLE_PLACE}){_END}"),
    )


def _opened(form: str) -> re.Pattern[str]:
    return re.compile(f"{_OPENING}{form}", re.IGNORECASE)


_LEADS = tuple(map(_opened, _PLAIN_LEADS))
_TO_ANSWER = _opened(rf"{_ANSWER_IS},?\s(?!not\b)")
_LABEL_ALONE = _opened(f"{_WHOLE_LABEL}{_END}")


@cache
def _tails() -> tuple[re.Pattern[str], ...]:
    """Compile the patterns of final attributions on first use."""
    return (*(re.compile(form, re.IGNORECASE) for form in _TAIL_FORMS), re.compile(_AUTHORS))


_IS_NUMBER = re.compile(r"\b(?:is|are|was|were)\s?[\[【]")


def attribution_lead_in(sentence: str, *, asked: bool = True) -> int:
    """Return the length of the attribution or introduction at a sentence's start.

    The rest has at least one word.

    Args:
        asked: True if a question is known, so that a short answer may follow "The answer is".

    >>> text = "According to the guide, the shop opens at 9."
    >>> text[attribution_lead_in(text) :]
    'the shop opens at 9.'
    """
    cut = 0
    for _ in range(_MOST_LEADS):
        rest = sentence[cut : cut + _LONGEST_LEAD]
        placed = _placed() if _may_have_place(rest) else None
        forms = (*_LEADS, *placed.leads) if placed else _LEADS
        ends = [m.end() for form in forms if (m := form.match(rest))]
        if (
            not ends
            and placed
            and (m := placed.to_sentence.match(rest))
            and is_sentence(sentence[cut + m.end() :])
        ):
            ends.append(m.end())
        if not ends and asked and (m := _TO_ANSWER.match(rest)):
            ends.append(m.end())
        if not ends or not any(map(str.isalnum, sentence[cut + max(ends) :])):
            break
        cut += max(ends)
    return cut


def attribution_tail(sentence: str) -> int:
    """Return the start of the attribution at a sentence's end, including its full stop.

    Without one it is the sentence's length.

    >>> text = "The shop opens at 9 (source: guide.pdf)."
    >>> text[: attribution_tail(text)]
    'The shop opens at 9'
    """
    end = len(sentence)
    for _ in range(_MOST_LEADS):
        bare = len(sentence[:end].rstrip(_STOPS))
        start = max(0, bare - _LONGEST_TAIL)
        at = _tail_at(sentence, start, bare)
        if at is None or not any(map(str.isalnum, sentence[:at])):
            break
        end = at
    return end


def _tail_at(sentence: str, start: int, end: int) -> int | None:
    for opening in _TAIL_START.finditer(sentence, start, end):
        if any(form.fullmatch(sentence, opening.start(), end) for form in _tails()):
            named = re.split(r"[:;]", sentence[opening.end() : end].strip(" )]"))[1:]
            return None if any(map(is_sentence, named)) else opening.start()
    return None


def attributes_alone(sentence: str) -> bool:
    """Return True if a sentence only gives a place, or announces what follows.

    >>> attributes_alone("This is stated in the document."), attributes_alone("It is hot.")
    (True, False)
    """
    if len(sentence) > _LONGEST_WHOLE:
        return False
    if _IS_NUMBER.search(sentence):
        return False
    places = marker_places(sentence)
    for start, end in reversed(places):
        sentence = sentence[:start] + sentence[end:]
    bare = " ".join(sentence.split())
    if _LABEL_ALONE.fullmatch(bare):
        return True
    return _may_have_place(bare) and _placed().whole.fullmatch(bare) is not None


def _may_have_place(text: str) -> bool:
    """Return False quickly for most texts without a place."""
    if "[" in text or "【" in text:
        return True
    return not _IN_PLACES.isdisjoint(_ASCII_WORD.findall(text.lower()))
