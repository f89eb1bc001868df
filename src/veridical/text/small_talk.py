"""Small talk: sentences around an answer that state nothing.

No source could support them; claim detection calls them not check-worthy. Examples: "Sure!",
"That's a good question.", "I hope this helps.", "Here is a summary of the text:". The rules are for
English and narrow: a sentence is small talk as a whole or not at all. A sentence with a digit never
is, nor one with other content: "I'm happy to share that dogs are allowed." All patterns and the
text they read are bounded.
"""

from __future__ import annotations

import re
from typing import Literal

from veridical.text.assertions import asserts
from veridical.text.fact_words import NUMBER_WORDS

#: ``reply``: refers to earlier text; after a statement it may belong to that ("It was."), and alone
#: it may be the answer ("Yes."). ``courtesy``: about the conversation, at any place.
SmallTalk = Literal["reply", "courtesy"]

_LONGEST = 200  # characters
_EDGES = re.compile(r"^[^\w]+|[^\w?:]+$")
_SPLIT_OFF = re.compile(r" (?=['?:,]|n't\b)")  # tokenized text: "it 's", "did n't"

_WILLING = (
    r"sure(?: thing)?|of course|certainly|absolutely|definitely|gladly|okay|ok|alright|all right|"
    r"oh|ah|aha|aw|wow|whoa|yay|hm+|um+|well|haha|lol|(?:hi|hello|hey)(?: there)?|i see|got it|"
    r"(?:(?:what a|that's a|that is a) )?(?:very )?(?:good|great|excellent|interesting|wonderful|"
    r"fantastic) question|good (?:one|point|idea|choice|thinking)|no worries|oh my(?: god| gosh)?"
)
_AGREED = (
    r"yes|yeah|yep|yup|yea|yah|ya|no|nope|nah|exactly|precisely|indeed|"
    r"i (?:totally |completely )?agree(?: with you)?|agreed|i know(?: right)?|"
    r"you(?:'re| are) (?:absolutely )?(?:right|correct)|that(?:'s| is) (?:right|true|correct)"
)
_THANKS = (
    r"(?:many )?thanks(?: again| a lot)?|thank you(?: (?:so|very) much)?|welcome|my pleasure|"
    r"you(?:'re| are) (?:very |most )?welcome|(?:good)?bye|cheers|congratulations|enjoy|"
    r"same to you|you too|good (?:luck|morning|afternoon|evening|night)|no problem|anytime|"
    r"take care|safe (?:travels?|journey|trip|flight)|have fun|all the best|"
    r"(?:best|kind|warm) (?:wishes|regards)|happy (?:travels|cooking|baking|coding|reading|hiking)"
)
_EXCLAMATION = (
    r"totally|right|correct|(?:so )?true|ooh|ha|cool|nice|great|good|perfect|excellent|wonderful|"
    r"awesome|amazing|interesting|fascinating|really|please|sorry|fair enough|same(?: here)?|"
    r"me (?:too|either|neither)|lucky you|not (?:really|at all)|(?:kind|sort) of|"
    r"probably(?: not)?|maybe|perhaps|for sure"
)
_PAUSE = r"(?:[ ,;.!–—-]{1,9}|$)"
_OPENED = rf"(?:(?:{_WILLING}|{_AGREED}|{_THANKS}|{_EXCLAMATION}){_PAUSE})*"
_HOW = r"(?:really|so|very|quite|pretty|absolutely|totally|also|just|definitely|actually|too)"
_GOOD = (
    r"(?:right|true|correct|interesting|great|good|bad|cool|nice|awesome|amazing|fascinating|"
    r"fantastic|wonderful|funny|crazy|wild|neat|impressive|surprising|sad|fun|fair|fine|okay|ok|"
    r"understandable|helpful|incredible|insane|hilarious|terrible|awful|lovely|sweet|perfect|"
    r"excellent|unfortunate|exciting|weird|strange|cute)"
)
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|should|might|may|"
    r"might be|may be|must be|could be|sure (?:is|are|was|were|do|does|did))(?:n't| not)?"
)
_TOLD = r"(?:it|that|this|them|those|these|him|her)"
#: Agreement, greetings and judgements of taste, without an object.
_REPLY = re.compile(
    rf"{_OPENED}(?:"
    rf"(?:i (?:think|believe|guess|suppose|hope|bet) )?(?:i|you|he|she|it|we|they|that|this|there)"
    rf"(?: {_HOW})* {_AUXILIARY}(?: (?:too|also|indeed|so|now))?"
    r"|i (?:think|believe|guess|suppose|hope|don't think) (?:so|not)"
    rf"|(?:that|this|it)(?:'s| is| was| sounds| seems| must be| would be)(?: {_HOW})*"
    rf"(?: (?:a|an))? {_GOOD}(?: (?:one|point|idea|thing|choice|news))?(?: to (?:know|hear|learn))?"
    rf"|(?:how|so|very) {_GOOD}"
    r"|i (?:totally |completely |definitely |do |also )*(?:agree|understand|see)"
    r"(?: with (?:you|that|this))?"
    rf"|i (?:really |also |just |do )*(?:love|like|enjoy|hate) {_TOLD}(?: too| as well| so much)?"
    r")?"
)
#: Willingness, greetings and thanks alone.
_WELCOMED = re.compile(rf"(?:(?:{_WILLING}|{_THANKS}){_PAUSE}){{1,9}}")
_NEED = r"(?:need|have|want|would like|'d like|wish|require|are (?:looking|interested|curious))"
_SELF = r"i(?:'d| would|'ll| will|'m| am)?(?: be| always)?"
_REST = r"[^.:;]{0,110}"
#: About the conversation itself.
_COURTESY = re.compile(
    rf"{_OPENED}(?:please |and |but |so |just )*(?:"
    r"(?:let me know|feel free to (?:ask|reach out|contact|share|let|provide|follow|message)|"
    rf"do(?:n't| not) hesitate to (?:ask|reach out|contact|let)|ask (?:me )?anytime)\b{_REST}"
    r"|(?:i )?hope (?:(?:this|that|it|these)(?: \w+)? (?:help|clarif|clear|answer|is help|is use|"
    rf"was help|was use|make|give)\w*|you (?:find|found|enjoy|have|like)\b){_REST}"
    rf"|if (?:you {_NEED}|there(?:'s| is) any)\b[^.:;]{{0,80}}(?:let me know|feel free|ask|"
    rf"i'm here|i am here|i'd be|i would be|i'll be|i can help|hesitate){_REST}"
    rf"|(?:{_SELF} )?(?:happy|glad|here|delighted|pleased|able) to (?:help|assist|answer|explain|"
    rf"hear|"
    rf"clarify|provide|share){_REST}"
    r"|i can (?:certainly |definitely |help |assist )*(?:help|assist)(?: you)?"
    r"(?: with (?:that|this))?"
    r"|i(?:'m| am) glad (?:you|i|that you|it|this)\b[^.:;]{0,40}"
    r"|(?:(?:i )?apologi[sz]e|(?:my |our )?apologies) for (?:the|any|my|our) [^.:;]{0,40}"
    r"|(?:i'm |i am )?sorry (?:for (?:the|any) (?:confusion|mistake|error|inconvenience|"
    r"misunderstanding)|to hear that)"
    r"|have a (?:great|nice|good|wonderful|lovely) (?:day|time|evening|weekend|one)"
    r"|thank(?:s| you)(?: so much| very much)? for (?:asking|your|the|reaching out|"
    r"getting in touch|writing|contacting|waiting|being)\b[^.:;]{0,40}"
    r"|let me (?:explain|clarify|elaborate|help|think|see|check|break (?:it|this|that) down|"
    r"walk you through (?:it|this|that))(?: (?:you|that|this|it|with that|further|more))?"
    r")"
)
#: Search for the answer by the speaker: "I had a look at the timetable".
_LOOKED = re.compile(
    rf"{_OPENED}i(?:'ve| have)? (?:just )?(?:had a (?:quick |good )?look|looked|checked|gone|"
    r"searched)\b(?:(?! (?:and|but|that) )[^.,:;]){0,60}"
)
_PART = (
    r"(?:answer|response|summary|list|explanation|overview|breakdown|points?|details|information|"
    r"steps?|examples?|facts?|translation|result|reasons?|solution|version|rewrite|conclusion)s?"
)
_GIVEN = (
    r"(?:the|your|this|that|these) (?:\w+ ){0,2}(?:question|text|passage|article|context|document|"
    r"source|information|conversation|data|request|topic|paragraph|report|content)s?"
)
#: Announcements, with a colon.
_ANNOUNCED = re.compile(
    rf"{_OPENED}(?:(?:based on|according to|from|given) {_GIVEN}[ ,]{{0,3}})?"
    rf"(?:(?:(?:here|below)(?:'s| is| are)|i (?:have|found|wrote))? ?(?:a|an|the|some|my|your)? ?"
    rf"(?:\w+ ){{0,2}}{_PART}(?: (?:is|are|that \w+ \w+|you asked for))?"
    rf"(?: (?:of|for|to|from|about|based on) (?:{_GIVEN}|it|this|that|you))?)?:"
)
#: A question to the reader.
_ASKS = re.compile(
    rf"{_OPENED}(?:and |but |so )*(?:"
    r"(?:would|do|are|were|have|can|could|will|did|what|how|which|who|where|when|why)\b[^.:;]*"
    r"\b(?:you|your|yourself)\b[^.:;]*"
    rf"|(?:is there )?anything else\b{_REST}|(?:is|was) (?:that|this|it)(?: {_GOOD})?"
    r"|really|right|why|how so|how come|what|(?:how|what) about (?:you|yourself)"
    r")\?"
)
#: Questions with "you" that may state something: "Did you know that ...?"
_TELLS = re.compile(
    r"\b(?:know|knew|heard?|aware|realiz\w+|realis\w+|remember\w*|believe|seen|see|mean|notice\w*|"
    r"read|that|because|since|told|tell)\b"
)
#: The object of a courtesy: up to here it concerns the conversation.
_ABOUT = re.compile(
    r"^.*?\b(?:help\w*|assist|answers?|explain|clarif\w+|clear\w*|provide|share|questions?|hear|"
    r"know|ask\w*|reach out|contact|follow|message|hesitate|hope (?:this|that|it|these) \w+|find|"
    r"found|"
    r"enjoy|glad|happy|sorry|apologi[sz]e|for|free|use|make|give|anything else)\b"
)
_CONDITION = re.compile(
    r"\b(?:if|should|whether|in case|whenever|when) (?:you|there|anything)\b[^,]*"
)
#: A clause with a statement: "... to share that dogs are allowed".
_CLAUSE = re.compile(
    r"\b(?:that|because|since|which|who|whose|where|as|so)\b,? "
    r"(?!(?:helps?|clarif\w+|clears?|answers?|makes?|way|matter|topic|question|well|you(?:'ve|"
    r" have)? "
    r"(?:ask|like|enjoy|found|find|reach|need|want)\w*|i can|we can)\b)\w+'?\w* \w"
)
#: Possible start of another clause, with its conjunction: "..., and dogs travel free".
_PARTS = re.compile(r",(?: (?:and|but|so|since|because|as|while)\b)?|\b(?:and|but|so)\b(?! that)")
_OF_SPEAKER = re.compile(r"\W*(?:please|and|so|just|or|but)? ?(?:i|we|let|feel|do|don't|you)\b")
_COUNTED = frozenset(NUMBER_WORDS) - {"second"}
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b(?!I\b)[A-Z]")
#: Introduction of a statement: "Yes, it is in Paris."
_LEAD_IN = re.compile(
    rf"[^\w]{{0,9}}(?:(?:{_WILLING}|{_AGREED})(?: (?:{_WILLING}|{_AGREED}))?"
    r" ?(?:[,;!–—]|\.{1,3}|- ) ?){1,3}(?=\w+ \w)",
    re.IGNORECASE,
)


def small_talk(sentence: str) -> SmallTalk | None:
    """Return the kind of small talk of a whole sentence; None if it may state something.

    >>> small_talk("Sure!"), small_talk("I hope this helps."), small_talk("Sure, it is in Paris.")
    ('courtesy', 'courtesy', None)
    """
    if len(sentence) > _LONGEST or any(map(str.isdigit, sentence)):
        return None
    plain = " ".join(sentence.replace("’", "'").split())
    plain = _EDGES.sub("", plain)
    text = _SPLIT_OFF.sub("", plain).lower()
    if not text:
        return None
    if text.endswith("?"):
        tells = _TELLS.search(text) or _NAME.search(plain)
        return "courtesy" if not tells and _ASKS.fullmatch(text) else None
    if text.endswith(":"):
        return "courtesy" if _ANNOUNCED.fullmatch(text) else None
    if _WELCOMED.fullmatch(text) or _LOOKED.fullmatch(text):
        return "courtesy"
    if _COURTESY.fullmatch(text) and not _informs(text):
        return "courtesy"
    return "reply" if _REPLY.fullmatch(text) else None


def _informs(courtesy: str) -> bool:
    """Return True if a sentence in the form of a courtesy also states something."""
    first, *rest = _PARTS.split(courtesy)
    if any(asserts(part) and not _OF_SPEAKER.match(part) for part in rest):
        return True
    for part in (first, *rest):
        if _WELCOMED.fullmatch(part.strip()):
            continue
        tail = _CONDITION.sub("", _ABOUT.sub("", _CONDITION.sub("", part), count=1))
        words = tail.split()
        if words and words[0] == "you":
            words = words[2:]
        if asserts(" ".join(words)) or _CLAUSE.search(tail) or not _COUNTED.isdisjoint(words):
            return True
    return False


_ADVICE = re.compile(
    r"(?:please |always |also |and |but |so |finally,? |still,? |however,? )*"
    r"(?:(?:it(?:'s| is) (?:always |still )?(?:best|advisable|recommended|a good idea|important|"
    r"wise|better|worth) (?:to )?|make sure (?:to |you )|be sure to |"
    r"(?:we|i)(?:'d| would)? (?:strongly )?(?:recommend|suggest|advise)(?: that you| you| to)? |"
    r"you (?:should|may want to|might want to|"
    r"may wish to)(?: always| also)? |remember to |don't forget to |consider |never hesitate to ))?"
    r"(?:always |also |please )?"
    r"(?:double[ -]?)?(?:check|consult|contact|verify|speak|talk|ask|confirm|reach|refer|seek|see)"
    r"(?:ing)?\b[^,.:;()@]{0,110}\b(?:doctor|physician|pharmacist|professional|specialist|expert|"
    r"lawyer|attorney|advis[eo]r|operator|provider|manufacturer|authority|authorities|airline|"
    r"store|staff|support|customer service|service team|website|venue|organi[sz]er|"
    r"documentation|manual|label|sources?|manager|insurer|landlord|agent|technician|dealer|vet|"
    r"veterinarian|accountant|embassy|consulate|office|company|advice|help)s?"
    r"(?: (?:directly|first|before|for|if|to|about|on|when|in case)\b[^,.:;()@]{0,80})?"
)
_TELLS_MORE = re.compile(r"\b(?:because|since|as|that|which|who|is|are|was|were|will|costs?)\b")


def is_advice(sentence: str) -> bool:
    """Return True if a sentence only refers its reader to an expert.

    >>> is_advice("Always check with your doctor."), is_advice("Your doctor is in Leeds.")
    (True, False)
    """
    if len(sentence) > _LONGEST or any(map(str.isdigit, sentence)):
        return False
    text = _EDGES.sub("", " ".join(sentence.replace("’", "'").split())).lower()
    found = _ADVICE.fullmatch(text)
    bare = re.sub(r"^(?:\w+ )?it(?:'s| is) |^(?:i|we)\b.{0,30}? that ", "", text)
    return found is not None and not _TELLS_MORE.search(bare)


def lead_in(sentence: str) -> int:
    """Return the number of characters of agreement or greeting at a statement's start.

    >>> "Yes, it is in Paris."[lead_in("Yes, it is in Paris.") :]
    'it is in Paris.'
    """
    found = _LEAD_IN.match(sentence)
    return found.end() if found else 0
