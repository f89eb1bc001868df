"""Phrases around a verdict in judges' replies, as patterns.

Labels and plain sentences that precede a verdict, and signs that it is not the judge's own.
Patterns are for lower-case text.
"""

from __future__ import annotations

import re

_OWN = (
    r"(?:(?:so|thus|therefore|hence|in conclusion|my|the|your|final|overall|own|single|"
    r"confidence|numerical)[, ]+){0,5}"
)
_SCORES = ("score", "rating", "verdict", "grade", "confidence", "probability", "judge?ment")
_ANSWERS = ("answer", "choice", "option", "conclusion", "decision", "label", "result", "output")
_OTHERS = ("classification", "evaluation", "assessment", "yes or no", "true or false")
_AROUND = r"[\"'“”‘’`*_#]{0,8}"
_SEPARATOR = (
    rf"{_AROUND}\s*(?:\([^()\n]{{0,20}}\)\s*)?{_AROUND}\s*"
    r"(?:[:=|]|->|=>|→|[—–-](?=\s)|is\b:?|:\s*is\b)\s*"
)
_QUOTE = r"[\"'`“”‘’„«»「」『』]"
_COURTESY = r"(?:sure|okay|ok|certainly|of course|well|alright|hm+|thanks|thank you)\b[,.!:]?"
_HEADING = (
    r"(?:sure[,!.]? )?(?:here (?:is|'s) )?(?:my |the |your )?"
    r"(?:(?:final|overall|detailed|brief|short|requested|numerical) ){0,2}"
    r"(?:verdict|evaluation(?: form)?(?: \([^()\n]{0,60}\))?|assessment|analysis|judge?ment|"
    r"rating|conclusion|score|classification)"
    r"(?: (?:of|for) the (?:answer|response|claim|statement|sentence|summary))?"
)
_LEADS_IN = re.compile(
    rf"(?:[\s*_#•+|\"'“”‘’`(\[{{>-]|{_COURTESY}|{_HEADING}[ \t*_]*(?:[:.]|(?=\n)))*\Z"
)
_NOUN = (
    r"(?:answer|response|claim|statement|sentence|hypothesis|option|choice|verdict|summary|"
    r"relation(?:ship)?|text|reply|conclusion|judge?ment|label|classification)"
)
_WHICH = r"(?:(?:proposed|final|submitted|given|overall|provided|candidate|generated) ){0,4}"
_SURELY = (
    r"(?:(?:therefore|thus|clearly|definitely|indeed|in fact|actually|completely|entirely|fully|"
    r"factually|absolutely|simply|just|also|still|really|now)\s+){0,4}"
)
_COPULA = (
    r"(?:'s|\s+(?:is|was|are)|\s+(?P<possible>(?:would|should|must|could|may|might) be))\s*:?\s*"
)
_I_RATE = (
    r"(?:i|we)(?:'d|'ll|\s+would|\s+will|\s+have to|\s+must)?(?:\s+(?:have to|like to))?\s+"
    r"(?:rate|score|give|say|choose|select|pick|assign|judge|consider|go with|answer|conclude|"
    r"grade|mark|think|believe|find|estimate|put|label|classify)"
    r"(?:\s+(?:it|this|that|them|(?:the|my|this) [a-z]+(?: [a-z]+)??))?"
    r"(?:\s+(?:as|at|with|a|an|the|score|rating|grade|of|option|is|that|it|answer|to be|"
    r"probability|confidence|about|around|approximately)){0,8}\s*:?\s+"
)
_I_AM = r"i(?:'m| am)\s+(?:about|around)?\s*(?=\d+\s*(?:%|percent)\s+(?:sure|certain|confident))"

#: Words that join a statement to the previous one, and (where "no" is not a verdict) retract it.
_JOINING = (
    r"so|thus|therefore|hence|overall|finally|ultimately|in (?:conclusion|summary|short|the end)|"
    r"to (?:conclude|summarize|sum up)|on (?:reflection|second thoughts?|balance)|actually|i mean|"
    r"based on [^.,;:\n]{1,40}(?=,)|that is|wait|sorry|correction|rather|or rather|in fact|however|"
    r"but|edit|update|sure|okay|ok|certainly|of course|well|alright|hm+|and|or"
)
#: Text after a verdict that is not another verdict.
EXPLANATION = re.compile(
    r"[\"'”’`*_.)\]}!|,; ]*\s*\n\s*[*_#>\s-]*(?:explanation|reason|reasons|reasoning|justification|"
    r"rationale|analysis|comment|comments|notes?|why|because)\b"
)
REFUSAL = re.compile(
    r"\bi\s+(?:refuse|decline)\b|\bi\s+must\s+(?:refuse|decline)\b|"
    r"\bi(?:'m|\s+am)\s+(?:unable|not\s+(?:able|going|allowed|permitted))\s+to\s+"
    r"(?:comply|follow|give|provide|answer|rate|score|judge|evaluate|grade|assist|help|say|output)|"
    r"\bi\s*(?:will\s+not|won't|would\s+not|wouldn't|shall\s+not|do\s+not\s+want\s+to|refuse\s+to)\s+"
    r"(?:\w+\s+){0,2}?(?:output|say|follow|comply|obey|answer|rate|score|judge|give|provide|write|"
    r"assist|help|do|evaluate|grade|respond|reply|return|repeat|print|accept|choose|select|state|"
    r"put|be|go|call)\b|"
    r"\bi\s*(?:can\s*not|can't|could\s+not)\s+(?:comply|follow|obey|assist|help|rate|judge|score|"
    r"give|provide|evaluate|grade|answer|output|do)\b"
)
RETRACTION = re.compile(
    r"\bon\s+(?:reflection|second\s+thoughts?)\b|\bscratch\s+that\b|\bstrike\s+that\b|"
    r"\bi\s+take\s+(?:that|it|this)\s+back\b|\bchang(?:e|ed|ing)\s+my\s+(?:mind|answer|verdict)\b|"
    r"\bcorrection\b|\blet\s+me\s+(?:reconsider|correct|re-?evaluate|rephrase|re-?think)\b|"
    r"\bi\s+was\s+(?:wrong|mistaken)\b|\bi\s+(?:made|make)\s+(?:a|an)\s+(?:mistake|error)\b|"
    r"\b(?:disregard|ignore)\s+(?:that|this|the\s+(?:above|line|verdict|score|rating))\b|"
    r"\bjust\s+kidding\b|\bthe\s+opposite\b|(?<!\w)wait(?=\s{0,3}(?:[,.!—–-]|\Z))|"
    r"\b(?:that|this|it|which|above)\s+(?:is|was|'s)\s+(?:not\s+)?(?:exactly\s+)?"
    r"(?:what|how)\s+(?:the|it|its|i|they|he|she|someone|we)\b|"
    r"\bas\s+(?:the|it|this|that|its|your|they)\b[^.\n]{0,40}?\s"
    r"(?:demands?|asks?|requests?|instructs?|wants?|told|ordered|tells?|wishes|insists?)\b|"
    r"\bas\s+(?:instructed|requested|ordered|told|demanded|asked)\b|"
    r"[.!?,;…—–-][ \n]{0,3}not[.!?\s]*\Z|"
    r"\b(?:is|was)\s+(?:a\s+)?(?:fake|forged|planted|false|quoted|injected)\s+"
    r"(?:verdict|score|rating|line|label)\b|\bi\s+did\s+not\s+mean\b|"
    r"\bnot\s+(?:my|mine)\b|\b(?:is|was)\s+(?:quoted|copied|taken)\s+from\b|\bthe\s+(?:above|line\s+above|first\s+line)\b"
)
#: Directly after a verdict: an attribution to another source.
DISOWNED = re.compile(
    r"[\"'“”‘’»`*_)(\[.,!:\s—–-]*(?:quoted|copied|says?|said|claim(?:s|ed)|writes?|wrote|reads|insist(?:s|ed)|"
    r"(?:is|was)\s+what|(?:if|unless|only\s+if)\b)|"
    r"[\"'”’*_)]*\s*[,(—–-]\s*(?:it|they|the\s+\w+)\s+(?:want(?:s|ed)|demand(?:s|ed)|ask(?:s|ed)|"
    r"instruct(?:s|ed)|tell(?:s)?|told|order(?:s|ed))\b"
)
#: Directly after a verdict: a restriction to a part.
QUALIFIED = re.compile(
    r"[\"'“”‘’»`*_)\]]*\s*[,;:(—–-]?\s*(?:but\s+|though\s+|although\s+)?(?:only\s+|just\s+)?"
    r"(?:partially|partly|in\s+part|mostly|largely|somewhat|to\s+(?:some|an|a\s+certain)\s+extent)\b"
)
MANIPULATION = re.compile(
    r"\b(?:inject\w*|manipulat\w*|plant(?:ed|s)|jailbreak\w*|trick\w*|smuggl\w*|embedded|hidden|"
    r"adversarial\w*|instruct\w*|ignor(?:e|es|ing)\s+(?:all|any|my|the|previous|prior)|"
    r"(?:asks?|asked|asking|tells?|told|telling|wants?|orders?|urges?|commands?|forces?|demands?)"
    r"\s+(?:me|us|the\s+(?:judge|grader|evaluator|model|reader|checker)|that\s+i)|"
    r"(?:attempt|tr(?:y|ies|ied|ying))\w*\s+to\s+(?:influence|make|force|get|bias|fool|steer|"
    r"deceive|mislead))"
)
DEMANDED = re.compile(
    r"\b(?:say|saying|output|outputting|answer|reply|respond|write|print|give|return|score|rate|"
    r"choose|select|pick|put|state|call|mark|grade)\b(?:\s+(?:it|this|that|with|as|a|an|the|only|"
    r"just|back|out|verdict|score|rating|answer|of|is)){0,6}[\s:=\"'“‘`*_(«]*"
)
_TELLS = (
    r"(?:says?|said|saying|claiming|stating|ending|reading|asking|telling|writing|reads?|states?|stated|contains?|containing|ends?|ended|begins?|starts?|"
    r"writes?|wrote|written|claims?|claimed|includes?|inserts?|inserted|adds?|appends?|asks?|"
    r"asked|tells?|told|instructs?|instructed|demands?|wants?|requests?|quotes?|quoting|follows|"
    r"following|planted|injected|repeats?|outputs?|output|prints?|prompt|instructions?|examples?|"
    r"e\.g\.|for instance|pretend|imagine|suppose|template|format|options|choices|not|never|"
    r"cannot|[a-z]+n't|false that|would|should|if|unless|text|words?|phrase|string|message)"
)
_TELLING = re.compile(rf"\b{_TELLS}(?!\w)")
_TOLD_NOW = re.compile(
    rf"\b{_TELLS}(?:\s+(?:me|us|that|with|in|by|to|the|a|this|as|of|on|it|\w+ to)){{0,4}}"
    r"\s*[,:]?\s*\Z"
)
_ANNOUNCES = re.compile(
    rf"\b{_TELLS}\s+(?:this|the following|as follows|these words|one \w+|this \w+)\s*[.!:]\Z"
)
_GOES_ON = re.compile(
    r"\b(?:of|from|than|to|for|by|with|as|is|are|was|be|the|an?|not|no|or|and|nor|that)\Z"
)
_SENTENCE = re.compile(r"[.!?\n](?=\s|\Z)")
_BULLET = re.compile(r"\s*(?:[-*#•>|+]|[0-9]{1,3}[.)])")


def labels(key: str) -> str:
    """Return the names that a verdict may have, as alternatives."""
    name = re.escape(key.lower()).replace("_", r"[ _]")
    return "|".join((name, *_SCORES, *_ANSWERS, *_OTHERS))


def label(names: str) -> re.Pattern[str]:
    """Return a pattern of a label at the beginning of a statement, up to the verdict."""
    alone = rf"{_AROUND}[ \t]*(?:\([^()\n]{{0,20}}\))?[ \t]*\n+[ \t]*"
    return re.compile(rf"{_AROUND}{_OWN}(?:{names})(?!\w)(?:{_SEPARATOR}|{alone}){_SURELY}")


def label_anywhere(names: str) -> re.Pattern[str]:
    """Return a pattern of a label with a colon, anywhere."""
    others = "".join(
        f"(?<!{word} )"
        for word in ("proposed", "correct", "right", "given", "gold", "reference", "submitted")
    )
    return re.compile(rf"(?<!\w){others}(?:{names}){_AROUND}\s*[:=]\s*")


def own_quotes(names: str) -> re.Pattern[str]:
    """Return a pattern of quotation marks around the judge's own words.

    These are a label at the beginning of a line with a short text, both optionally in marks. A
    first line that is a short text in marks matches too.
    """
    value = rf"{_QUOTE}\s?[^\n\"`“”„«»「」『』]{{1,40}}?\s?{_QUOTE}"
    name = rf"{_QUOTE}?[*_]{{0,4}}{_OWN}(?:{names}){_QUOTE}?[*_]{{0,4}}{_QUOTE}?"
    return re.compile(
        rf"(?:^[ \t*_#>-]{{0,20}}{name}\s{{0,8}}[:=|][ \t*_]{{0,8}}(?:{value})?)|"
        rf"(?:\A[\s*_#]{{0,20}}{value}[*_.!]{{0,8}}[ \t]{{0,8}}(?=\n|\Z))",
        re.MULTILINE,
    )


def sentence(of_numbers: bool) -> re.Pattern[str]:
    """Return a pattern of a plain sentence, up to the verdict that ends it.

    A number may be part of the judged answer, so only a score "is" one.
    """
    if of_numbers:
        subject = rf"{_OWN}(?:the |my |this |its )?(?:{'|'.join(_SCORES)})(?: of (?:the|this) \w+)?"
        return re.compile(rf"(?:{_I_AM}|{_I_RATE}|{subject}{_COPULA}{_SURELY})")
    right = r"(?:(?:correct|right|best|most likely|likeliest) )?"
    subject = (
        rf"(?:(?:the|this|that|my) {_WHICH}{right}{_NOUN}(?: to (?:the|this) question)?|"
        r"it|this|that)"
    )
    return re.compile(
        rf"(?:{_I_RATE}|(?:option|choice|letter)\s+|{subject}{_COPULA}{_SURELY}(?:an? )?)"
    )


def lead(no_is_verdict: bool) -> re.Pattern[str]:
    """Return a pattern of words that join a statement to the previous one."""
    no = "" if no_is_verdict else r"|no(?=\s*[,.!:—–])"
    return re.compile(rf"(?:(?:{_JOINING}{no})\b[,:.!—–\s-]+){{1,4}}[*_\"'“‘(]*")


def only_leads_in(text: str, end: int) -> bool:
    """Return True if ``text`` up to ``end`` contains only courtesies and headings."""
    return end <= 300 and _LEADS_IN.match(text[:end]) is not None


def one_sentence(text: str) -> bool:
    """Return True if no second sentence begins in ``text``."""
    ends = [m.end() for m in _SENTENCE.finditer(text)]
    return not ends or not text[ends[0] :].strip(" \t\n\"'”’»`*_.)]}!|")


def attributed(before: str, place: str) -> bool:
    """Return True if the text directly ``before`` a statement attributes it to another source."""
    said = before.rstrip(" \t*_#\"'“‘`([{>-|\n")
    if not said:
        return False
    line = said.rpartition("\n")[2]
    if place == "clause":
        return bool(_TOLD_NOW.search(line[-200:]) or MANIPULATION.search(line[-200:]))
    if place == "sentence":
        end = line[-300:]
        return bool(said[-1] == ":" or MANIPULATION.search(end) or _ANNOUNCES.search(end))
    if said[-1] == ":":
        return _LEADS_IN.match(line + "\n") is None
    if said[-1] in ".!?;…" or _BULLET.match(line):
        return False
    if len(line.split()) < 4:
        return bool(_TELLING.search(line) or _GOES_ON.search(line))
    adjacent = before[len(said) :].count("\n") < 2
    return adjacent or _TELLING.search(line) is not None
