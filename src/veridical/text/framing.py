"""Courtesies, apologies and hedges around a statement.

For example: "I hope this helps you see that". They are matched word by word: each word must be in a
short vocabulary of conversation, without a negation, and a sentence must follow. The rules are for
English, and time is bounded.
"""

from __future__ import annotations

import re

from veridical.text.assertions import asserts
from veridical.text.small_talk import small_talk

_MAX_WORDS = 16
_MAX_TAILS = 2
_MAX_CHARACTERS = 160
_MAX_CLAUSE_CHARACTERS = 1_500
_MAX_FRAMES = 3  # nested in each other


def _asserts(text: str) -> bool:
    """Return True if a text has a main clause near its beginning."""
    return asserts(text[:_MAX_CLAUSE_CHARACTERS])


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Beginnings of a frame.
_BEGINS = re.compile(
    r"[\s*_#>\"'“`(]{0,8}(?:(?:and|but|so|well|oh|okay|ok)(?:,)? )?"
    r"(?P<frame>(?:(?:please|just|kindly) )?(?:"
    r"i(?:'m|'d|'ll|'ve)?|we(?:'re|'d|'ll|'ve)?|let (?:me|us)|let's|feel free|thanks?|sorry|"
    r"(?:my |our |many )?apologies|(?:so |very )?(?:happy|glad|pleased|delighted)|hope|hopefully|"
    r"(?:great|good|excellent|nice|interesting) question|sure|of course|certainly|absolutely|"
    r"definitely|"
    r"(?:don't|do not) (?:hesitate|forget|worry)|have an?|every(?:one|body) knows|believe|trust|"
    r"as (?:you|we|i|every(?:one|body))|"
    r"you(?:'ll|'d)? (?:should|may|might|can|will|must|see|know)|"
    r"it (?:was|is|'s|has been) (?:a|my|our) (?:pleasure|honou?r)|it's (?:a|my) pleasure|remember|"
    r"note|recall|all (?:i|we)|what (?:i|we) (?:can|know)|(?:my|a) pleasure|did you know|"
    r"if you have any (?:more |further |other )?questions|if anything(?: else)? is unclear"
    r")(?![\w']))",
    re.IGNORECASE,
)
_VOCABULARY = _set(
    "i i'm i'd i'll i've we we're we'd we'll we've am our my me us you you're you'd you'll your it "
    "it's this that's is was be been would will can could may might should must shall do did have "
    "has had to a an the for of in on with at any all some so very really just only also too again "
    "much more most further else here there now always please kindly what as and if whether let "
    "let's hope hopes hoped hopefully help helps helped helpful helping happy glad pleased "
    "delighted pleasure honour honor welcome thank thanks grateful appreciate sorry afraid "
    "apologize apologise apologies apology confusion mistake error delay inconvenience "
    "misunderstanding trouble patience waiting asking asked question questions great good nice "
    "excellent wonderful lovely interesting know knows known see sees understand learn realize "
    "realise remember recall note notice find found clear clarify clarifies explain explains share "
    "tell tells say said assist answer answers confirm report inform add mention show shows think "
    "believe trust feel free ask reach out useful anything something everything unclear need "
    "needed day evening certainly sure course absolutely definitely indeed everyone everybody "
    "anyone quick honest frank fair hesitate forget worry don't earlier previous any "
    "touch keep mind above provide chance"
)
_AFTER_NOT = _set("hesitate forget worry")
#: A frame without one of these may state something: "I have that in the house, ...".
_SIGNAL = re.compile(
    r"\b(?:hope\w*|help\w*|happy|glad|pleased|delighted|pleasure|honou?r|welcome|thank\w*|grateful|"
    r"appreciate|sorry|afraid|apolog\w+|questions?|know[ns]?|see|understand|learn|reali[sz]e|"
    r"remember|recall|note|clarif\w+|explain\w*|share|tell|say|said|assist|confirm|report|inform|"
    r"add|mention|think|believe|trust|free|hesitate|forget|worry|sure|course|certainly|absolutely|"
    r"definitely|day|evening)\b"
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*(?:-[^\W\d_]+)*")
_LINK = re.compile(
    r"\s{0,3}[,;:–—]\s{0,3}(?:(?:as|since|because|given that|seeing that|for|so|and|but|that|"
    r"though|although|it is true that)\s{1,3})?"
    r"|\s{1,3}(?:that|because|since|given that)\s{1,3}(?=\w)"
)
#: Explained clauses are asserted: "Let me explain why the shop is closed."
_EXPLAINED = re.compile(r"\s{1,3}why\s{1,3}(?=\w)")
_SPACE = re.compile(r"\s{1,3}")
_BARE = re.compile(
    r"[\s*_#>\"'“`(]{0,8}(?:i'm|i am|we're|we are) (?:(?:so|very|really) )?"
    r"(?:afraid|sorry|glad|happy|pleased)"
    r"(?: to (?:say|report|tell you|inform you)| (?:not|so) [–—-])? (?=\w)",
    re.IGNORECASE,
)


def frame_lead_in(sentence: str, *, frames: int = _MAX_FRAMES) -> int:
    """Return the number of characters of courtesy, apology or hedge at a statement's start.

    Args:
        frames: maximum nesting of frames.

    >>> text = "I hope this helps you see that the shop is open."
    >>> text[frame_lead_in(text) :]
    'the shop is open.'
    >>> frame_lead_in("I don't think that the shop is open.")
    0
    """
    text = sentence[:_MAX_CHARACTERS].replace("’", "'")
    begins = _BEGINS.match(text)
    if begins is None:
        return 0
    asked = begins["frame"].lower() == "did you know"
    if sentence.rstrip(" \"'”*_)").endswith("?") and not asked:
        return 0
    return _linked(sentence, text, begins.start("frame"), frames) or _bare(sentence, text)


#: Starts of a courtesy after a statement.
_TAIL = re.compile(r"\s{0,3}[,;–—]\s{1,3}|\s{1,3}[-–—]{1,2}\s{1,3}|\s?—\s?")
_HEDGE = re.compile(
    r"(?:as far as i (?:know|can (?:see|tell))|to (?:the best of )?my knowledge|"
    r"please note(?: that)?|"
    r"i(?:'m| am) (?:afraid|sorry|sure|happy to (?:say|report))|i (?:hope|think|believe|guess)|"
    r"if (?:that|this|it) helps(?: you)?(?: at all)?|(?:i )?hope (?:that|this|it) helps|"
    r"just so you know|for your information|fyi|"
    r"(?:so |very )?(?:sorry|apologies)(?: (?:for|about) (?:the|any|my) "
    r"(?:confusion|mistake|error|delay|inconvenience|misunderstanding|trouble))?)"
)
_STOPS = " \t\n.!…*_\"'”’)"


def frame_tail(sentence: str) -> int:
    """Return the start of the courtesy or hedge at a statement's end, else the length.

    >>> text = "The shop is open, I hope this helps."
    >>> text[: frame_tail(text)]
    'The shop is open'
    """
    end = len(sentence)
    for _ in range(_MAX_TAILS):
        borders = list(_TAIL.finditer(sentence, max(0, end - _MAX_CHARACTERS), end))
        for border in borders:
            said = sentence[border.end() : end].rstrip(_STOPS).replace("’", "'")
            courtesy = _HEDGE.fullmatch(said.lower()) or small_talk(said) == "courtesy"
            if courtesy and _asserts(sentence[: border.start()]):
                end = border.start()
                break
        else:
            break
    return end


def _bare(sentence: str, text: str) -> int:
    """Return the length of a frame without a conjunction: "I'm afraid the shop is closed."."""
    bare = _BARE.match(text)
    return bare.end() if bare is not None and _asserts(sentence[bare.end() :]) else 0


def _linked(sentence: str, text: str, start: int, frames: int) -> int:
    at = start
    negated = False
    for _ in range(_MAX_WORDS):
        word = _WORD.match(text, at)
        if word is None:
            return 0
        low = word[0].lower()
        if negated and low not in _AFTER_NOT:
            return 0
        if low == "not" and text[start:at].lower().endswith("do "):
            negated = True
        elif low not in _VOCABULARY:
            return 0
        else:
            negated = low == "don't"
        at = word.end()
        link = _LINK.match(text, at)
        if link is None and low in ("explain", "explains", "clarify", "show", "say", "tell"):
            link = _EXPLAINED.match(text, at)
        if link is not None and _SIGNAL.search(text[start:at].lower()):
            rest = sentence[link.end() :]
            if _asserts(rest) or (frames > 1 and frame_lead_in(rest, frames=frames - 1)):
                return link.end()
            if link[0].strip():
                return 0
        space = _SPACE.match(text, at)
        if space is None:
            return 0
        at = space.end()
    return 0
