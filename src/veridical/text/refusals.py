"""Clauses of an answer that decline, state nothing, or state something."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple

from veridical.text import refusal_words as w
from veridical.text.assertions import asserts
from veridical.text.citations import without_markers
from veridical.text.memo import kept
from veridical.text.sentences import split_sentences
from veridical.text.small_talk import small_talk

_MAX_ANSWER_CHARACTERS = 2_000  # a longer text states something
_MAX_SENTENCE_CHARACTERS = 1_000
_MAX_CLAUSE_CHARACTERS = 400
_MAX_CLAUSES = 16  # of a sentence; one with more states something

#: ``abstains``: declines, or reports that the sources have no answer. ``covers``: names a source's
#: topic. ``filler``: courtesies, advice, offers. ``states``: everything else.
Kind = Literal["abstains", "covers", "filler", "states"]


class RefusalClause(NamedTuple):
    """A part of a sentence, ``sentence[start:end]``."""

    start: int
    end: int
    kind: Kind


@cache
def _refusal() -> re.Pattern[str]:
    """Compile the pattern of refusals in English on first use, as it is large."""
    return re.compile("|".join((w.FIRST_PERSON, w.SOURCE_SILENT, w.THERE_IS_NO, w.IMPERSONAL)))


@cache
def _refusal_abroad() -> re.Pattern[str]:
    return re.compile(w.FOREIGN)


#: A complete answer or clause.
_BARE = re.compile(
    r"(?:n/?a|none|unknown|unanswerable|not available|not applicable|no answer|no idea|no clue|"
    r"idk|unsure|not sure|no comment|abstain|not (?:stated|specified|mentioned|provided|known|"
    r"given|found|in (?:the )?(?:context|text|documents?|sources?|passage))|"
    r"(?:no|not) (?:answer|information|mention)(?: found| available| given)?|"
    r"cannot (?:answer|say|tell|be determined)|can't (?:answer|say|tell)|insufficient "
    r"(?:information|context|data)|not enough (?:information|context|data)|unbekannt|inconnu|"
    r"keine angabe|k\. ?a\.|desconocido|sconosciuto|desconhecido|onbekend|nieznane|неизвестно|"
    r"未知|不明)\W*"
)
#: Text allowed before a clause's content.
_HEAD = re.compile(
    r"(?:[\s\"'“”„«»*_–—,;:.!)(-]|(?:(?:i'm|i am|we're|we are) (?:so |very |really |truly |"
    r"deeply )?"
    r"(?:sorry|afraid)(?: to (?:say|report))?|sorry|unfortunately|regrettably|sadly|alas|"
    r"(?:my |our |i |we )?apolog(?:y|ies|i[sz]e)|hello|hi|dear \w+|okay|ok|well|hmm+|sure|"
    r"but|however|although|though|nevertheless|yet|still|so|therefore|thus|hence|instead|because|"
    r"since|as|and|while|whereas|meanwhile|moreover|also|additionally|furthermore|in addition|"
    r"which means(?: that)?|meaning(?: that)?|consequently|accordingly|for this reason|even|then|"
    r"given that|seeing that|as a result|that said|in short|to be honest|honestly|from what i can "
    r"(?:see|tell)|as far as i (?:can|could) (?:see|tell|find)|that|"
    r"(?:based on|according to|judging by|going by|from|in|having (?:read|checked|reviewed|"
    rf"searched|looked (?:at|through))) {w.GIVEN}(?: (?:\[\w{{1,4}}\]|provided|given|above|"
    rf"supplied|"
    r"you (?:provided|gave|shared)|at hand|available))*(?=,)|"
    r"es tut mir (?:sehr )?leid|tut mir leid|leider|bedauerlicherweise|entschuldigung|verzeihung|"
    r"aber|jedoch|allerdings|daher|deshalb|also|doch|denn|weil|da|und|dass|somit|"
    r"(?:je suis )?(?:désolée?|navrée?)|malheureusement|hélas|pardon|excusez-moi|mais|donc|"
    r"cependant|car|et|que|lo siento|lo lamento|perdón|disculpe|por desgracia|lamentablemente|"
    r"desafortunadamente|desgraciadamente|pero|sin "
    r"embargo|porque|así que|por lo que|por tanto|y|mi (?:dispiace|spiace)|(?:sono )?spiacente|"
    r"spiacenti|scusi|scusa|purtroppo|sfortunatamente|ma|però|quindi|perché|e|"
    r"desculpe|desculpa|lamento|sinto muito|infelizmente|lamentavelmente|mas|porém|"
    r"contudo|portanto|então|het spijt me|helaas|jammer genoeg|spijtig genoeg|excuses|maar|dus|"
    r"echter|omdat|niestety|przepraszam|ale|jednak|więc|извините|к сожалению|но|поэтому|однако)"
    r"(?=[\s,.;:!–—-]|$)"
    r"|(?:抱歉|很抱歉|对不起|對不起|很遗憾|遗憾的是|不好意思|但是|但|所以|因此|不过|然而|申し訳(?:ありません|ございません)"
    r"(?:が)?|すみません(?:が)?|残念(?:ながら|ですが)|恐れ入りますが|죄송합니다만?)[,，、。！!\s]*)+"
)
_CONJUNCTION = (
    r"but|however|although|though|nevertheless|yet|so|therefore|thus|hence|instead|because|since|"
    r"as|and|while|whereas|only that|except that|still"
)
#: Introductions of a conclusion: "..., meaning that".
_CONCLUDES = (
    r"(?:(?:and |but )?(?:this|that|which) (?:means?|impl(?:y|ies)|suggests?|indicates?|shows?)|"
    r"meaning|implying|suggesting|indicating|so that|from which it follows|i\.? ?e\.?,?|"
    r"in other words,?)"
)
#: Clause borders, one group per kind.
_BORDER = re.compile(
    r"(?P<hard>,?\s+(?:(?:more|other|else|rather)\s+than|than|except(?:\s+for)?|but|beyond|besides|"
    r"apart\s+from|aside\s+from|save|to(?=\s+the\s+fact)|just)(?:\s+the\s+fact)?\s+that\s+"
    r"(?!(?:in|on|at|of|for|from|about|to|with|by|as|which|who|or|and)\s)(?=\w+\s+\w)"
    r"|[;；]\s*|\s+[–—-]{1,2}\s+|—|:\s+|[()（）]|\s?,\s+but\s+|,?\s+but\s+|,\s*however,?\s+|"
    r"\s+because\s+|\s+however,?\s+|\s+although\s+|\s+though\s+"
    r"|,\s*(?:aber|jedoch|allerdings|doch|sondern|daher|deshalb|weshalb|also|sodass|so dass|denn|"
    r"mais|donc|car|pero|así que|por lo que|porque|sino|ma|però|quindi|perché|mas|porém|portanto|"
    r"por isso|então|maar|dus|want|ale|więc|jednak|но|поэтому|однако|а)\s+"
    r"|,\s*(?:(?:was (?:bedeutet|heißt)|das (?:bedeutet|heißt))(?:, dass)?|wat betekent(?: dat)?|"
    r"(?:ce qui|cela|ça) (?:signifie|veut dire)(?: que)?|(?:lo que|esto|eso) (?:significa|implica)"
    r"(?: que)?|(?:il che|ciò) (?:significa|implica)(?: che)?|(?:o que|isso) (?:significa|implica)"
    r"(?: que)?|es decir,?|ou seja,?|c'est-à-dire|d\. ?h\.|cioè|sprich)\s+"
    r"|[，,]\s*(?:这意味着|這意味著|也就是说)|、つまり"
    r"|[，,]\s*(?:但是?|所以|因此|不过|不過|然而|可是|而)|(?:が|けれども|ので|ため)、)"
    rf"|(?P<comma>\s?,\s+(?:{_CONCLUDES}(?:\s+that)?\s+|(?:{_CONJUNCTION})\s+)?|，|、|"
    rf"\s+{_CONCLUDES}\s+that\s+)"
    r"|(?P<weak>\s+(?:so|and|since|as|while|whereas|yet|und|et|y|e|"
    r"en(?! (?:el|l[ao]s?|una?|est[aeo]s?|es[aeo]s?|sus?|ning\w+|fait|ce)\b)|"
    # not the English pronoun, in lower case here: "the pages I was given"
    r"i(?! (?:am|was|have|had|can|could|do|did|would|will|found|got|see|think|know|received)\b)|и)"
    r"\s+)"
)
_SUBORDINATE = re.compile(
    r"\W*(?:as|since|because|although|though|while|whereas|given that|even though|whilst|if|when|"
    r"da|weil|obwohl|wenn|puisque|comme|bien que|quoique|como|aunque|ya que|dado que|poiché|"
    r"siccome|sebbene|dato que|embora|já que|omdat|aangezien|hoewel|ponieważ|chociaż|поскольку|"
    r"хотя)\b"
)
_CONTINUES = re.compile(
    r"(?:or|nor|and|whether|when|where|who|what|how|why|which|whose|that|as far as|at least|if|"
    r"und|oder|noch|ob|wann|wie|wo|wer|was|ou|ni|où|quand|comment|si|o|né|quando|dove|come|"
    r"nem|quando|onde|como|of|en|czy|ani|lub|или|и|ни|\w+ ли|когда|где|как|сколько|кто|что)\b"
)
_WORD_THAT_ASKS = re.compile(
    r"\b(?:whether|if|when|where|who|what|how|why|which|whose|quand|si|ob|wann|wie|wer)\b"
)
#: "..., which is 10 euros": a statement about the noun before it.
_RELATIVE = re.compile(
    r"(?:which|who|that)(?: (?:\w+ly|also|now))? (?!(?:may|might|could|should)\b)"
    r"(?P<verb>\w+(?:n't)?)(?= \w)(?! (?:why|what|how|where|when|unfortunate\w*|regrettable|"
    r"(?:an?|the) (?:pity|shame|limitation|problem|information|detail|answer|question|reason)|"
    r"beyond|outside|needed|required|necessary|"
    r".{0,60}\b(?:open|unclear|unanswered|impossible|hard|difficult)\b)\b)"
    r"|(?:where|whose|when) (?P<clause>.{0,200})"
    r"|(?:namely|that is),? \D{0,3}(?P<number>\d)"
)
#: "..., or who runs it": the list of missing facts continues.
_QUESTION_FOLLOWS = re.compile(
    r"[^.;:]{0,200}?,? (?:or|nor|and) (?:when|where|who|what|how|why|which|whether)\b"
)
_ENDS_IN_SOURCE = re.compile(rf"\b{w._PLAIN_SOURCE}\W*$")
#: The noun that a relative clause after it belongs to.
_LAST_NOUN = re.compile(
    r"\b(?:the|an?|any|its|their|your|our|my|his|her|this|that|these|those) (?:[\w'-]+ ){0,4}"
    r"[\w'-]+ ?$"
)
#: "..., making the trip free"
_RESULTS = re.compile(
    r"(?:thus |thereby |hence )?(?:making|allowing|letting|enabling|causing) (?!.{0,80}\b(?:"
    r"impossible|unclear|uncertain|unknown|hard|difficult|answer\w*|tell|say|know|determine)\b)"
)
#: Openings such as "Whether dogs are allowed, the text does not say."
_ASKED_FIRST = re.compile(
    r"\W*(?:whether|how|who|what|why|where|which|ob|wann|wie|wo|wer|warum|was|welche\w*|of|hoe|"
    r"wanneer|waar|hoeveel|si|se|combien|quand|cuánto|cuándo|dónde|quanto|quando|dove|onde)\b"
)
#: "..., not of a game that is moved": after a source's topic.
_ELLIPSIS = re.compile(
    r"(?:just |only )?not (?:on|about|of|for|to|in (?:which|what)|with|how|when|where|whether|who|"
    r"what|why|which|if|from|anything|a word)\b(?! only)"
    r"|(?:nothing|no word|not a word)\b(?: (?:is )?(?:said|more|else))?(?: (?:on|about|regarding|"
    r"of|"
    r"concerning|as to)\b|$)|nicht (?:aber )?(?:auf|über|von|ob|wann|wie|wo|wer|was)\b|pas (?:de|"
    r"sur|"
    r"du|si|quand)\b|no (?:sobre|de si|cuándo)\b"
    r"|it (?:is|remains|'s) (?:therefore |thus |also )?(?:unclear|unknown|uncertain|not (?:clear|"
    r"known|certain))(?: (?:whether|if|when|where|who|what|how|why|which)\b|\W*$)"
)
_COVERS = re.compile(
    rf"(?:(?:the|your|this|these|those|my|our|both|all) (?:of (?:the|"
    rf"these) )?(?:{w._WORD} ){{0,4}}?"
    rf"{w._SOURCE}\b(?: (?:\[\w{{1,4}}\]|{w._WORD})){{0,5}}?|it|they|about [^,]{{1,40}}, (?:it|"
    rf"they))"
    r"(?: (?:only|just|merely|mainly|mostly|also|do|does|briefly|instead|simply))*"
    r" (?P<verb>cover|describe|discuss|discusse|list|mention|talk about|speak of|deal with|"
    r"is about|"
    r"are about|is on|are on|is only (?:on|about)|are only (?:on|about)|focus(?:es|e)? on|explain|"
    r"name|addresse|address|concern|concentrate on|refer to|contain|include|provide|give|say|tell|"
    r"talks about|speaks of|deals with|refers to|concentrates on)(?:s)?\b"
    r"(?P<rest>.*)"
)
_ONLY_ASKS = re.compile(
    r"(?: \w+){0,2} (?:only |just |merely )?(?:how|when|where|who|what|why|which|whether)\b"
)
_DETAIL = re.compile(r"\bin (?:some |great |more |much |full )?detail\b|\bat length\b|\btopics?\b")
_NUMBER = re.compile(r"\d")
_ADVICE = re.compile(
    r"(?:please |kindly |perhaps |maybe |it (?:is|would be|might be|may be) (?:best|better|helpful|"
    r"advisable|recommended|worth) (?:to )?|it's (?:best|worth|better) (?:to )?|"
    r"(?:you|one) (?:may|might|can|could|should|will|would)(?: (?:also|always|still|want|wish|need|"
    r"have|like|try)(?: to)?){0,3} |you(?:'ll| will)? (?:need|have) to |i(?:'d| would)?(?: also)? "
    r"(?:recommend|suggest|advise|encourage)(?: you)?(?: to)? |try |feel free to |do(?:n't| not) "
    r"hesitate to |i would need |i(?:'d| would) (?:love|like|be happy) to |i hope |if you "
    r"(?:could|can|would|have|provide|give|share|tell|let|want|need|like)\b[^,.;:]{0,80},? ?"
    r"(?:please |then |i can |i(?:'d| would| will|'ll) (?:gladly )?(?:be (?:happy|glad|able) to |"
    r"try to "
    r")?)?|for (?:more |further |exact |specific |that |this |details|"
    r"help)[^,;:.]{0,50}, ?(?:please )?|"
    r"let me know if you(?:'d like| want| need) ?)*"
    r"(?:check(?:ing)?|consult(?:ing)?|contact(?:ing)?|ask(?:ing)?|refer(?:ring)? to|see|"
    r"visit(?:ing)?|look(?:ing)? (?:at|up|for|into|elsewhere)|reach(?:ing)? out|get(?:ting)? in "
    r"touch|speak(?:ing)? (?:to|with)|talk(?:ing)? (?:to|with)|search(?:ing)?|provide|share|give "
    r"me|send|let (?:me|us) know|rephrase|clarify|specify|upload|paste|try again|call(?:ing)?|"
    r"e-?mail|write to|turn to|review(?:ing)?|verify(?:ing)?|(?:i can |i'll )?help|assist|answer|"
    r"(?:a )?(?:more|additional|further) (?:information|context|details?)|the details)\b"
    r"(?P<rest>[^.;:]{0,160})"
)
_NOT_MEANT = re.compile(
    r"\b(?:that|because|since|which|who|whose|where|as|so|means|free|note)\b(?= \w+ \w)"
)
_OFFER = re.compile(r"\b(?:if|whether|should|in case|so (?:that )?i can|what|with any)\b.*")
_SELF = re.compile(
    r"(?:as an? (?:ai|artificial intelligence|large language|language|chat)\b[\w ,]{0,40}|"
    r"i(?:'m| am) (?:just |only )?an? (?:ai|large language|language|virtual|chat)\b[\w ]{0,40}|"
    r"i only have access to (?:the )?[\w ]{0,60}|my (?:knowledge|training|purpose|"
    r"data)\b[\w ]{0,80}|"
    r"(?:see )?(?:source|document|doc|passage|context|page|quelle|fuente|fonte|bron|seite)s?:? ?"
    r"[\w.\[\]-]{0,30}|as far as i (?:can|could) (?:see|tell|find)|"
    r"to (?:the best of )?my knowledge|at least|"
    r"i (?:understand|appreciate) (?:that )?(?:your|you|this|the) [\w ]{0,40}|"
    r"i(?:'ve| have)? (?:looked|searched|checked|read|gone|went|reviewed|scanned)(?: carefully)?"
    r"(?: (?:through|in|at|for|over|into|all))*[\w ]{0,60}|"
    r"thank(?:s| you)\b[\w ]{0,40}|(?:bitte )?wenden sie sich [\w äöüß]{0,80}|bitte (?:wenden|"
    r"fragen|"
    r"kontaktieren|prüfen|schauen)\b[\w äöüß]{0,80}|(?:veuillez|merci de) (?:contacter|consulter|"
    r"vous|vérifier|préciser)\b[^.;:\d]{0,80}|(?:por favor,? )?(?:consulte|contacte|póngase|"
    r"pregunte|comuníquese)\b[^.;:\d]{0,80}|(?:la prego di |si prega di |ti consiglio di |"
    r"le consiglio"
    r" di )(?:contattare|consultare|rivolger\w+|verificare)[^.;:\d]{0,80}|"
    r"(?:por favor,? )?(?:entre em "
    r"contato|contacte|consulte|verifique)\b[^.;:\d]{0,80}|neem (?:alstublieft )?contact op[^.;:\d]"
    r"{0,60}|(?:gibt es sonst|kann ich ihnen sonst|puis-je vous aider)[^.;:\d]{0,60}|"
    rf"{w.IN_SOURCE_ABROAD}|"
    r"(?:请|請)(?:联系|聯繫|咨询|查阅|提供)[^，。\d]{0,30}|(?:詳しくは|お手数ですが)[^。\d]{0,50})\W*"
)
#: Questions that state nothing themselves, unlike "wasn't he in Porto?".
_QUESTION = re.compile(
    r"\W*(?:\w+,? )?(?:is|are|was|were|do|does|did|have|has|can|could|would|will|what|which|who|"
    r"when|where|why|how|kann|können|was|wie|puis|comment|qué|cómo|puedo|posso|come|что|как|чем)\b"
    r"(?! you know)"
)
_ENGLISH_HINT = (
    r"\b(?:not|none|nothing|nowhere|never|neither|unknown|unclear|unable|unsure|uncertain|unaware|"
    r"unfamiliar|unanswerable|unmentioned|unstated|unsaid|unspecified|unaddressed|unanswered|"
    r"cannot|insufficient|fails?|failed|declin\w+|silent|vague|scope|omits?|neglects?|lacks?|"
    r"leaves?|left|too little|n/?a|idk|abstain|needed|required|necessary|would need|difficult|hard|"
    r"other (?:things|topics|matters)|different (?:things|topics|matters))\b|n't|['’]t\b"
)
#: Those of other languages, some of which are also English.
_HINT_ABROAD = re.compile(
    r"\b(?:no|impossible|incapable|refuse|mute|kein\w*|nicht\w*|nirgend\w*|weder|schweig\w*|"
    r"k\. ?a\.|pas|aucune?|rien|ne|ni|non|nulla|niente|nessun\w?|né|não|nem|nada|ningun\w?|ningún|"
    r"tampoco|geen|niet|niets|nergens|nie|brak|żad\w+|не|нет|muet|silencieux|incon\w+|descon\w+|"
    r"sconosc\w+|unbekannt|onbek\w+|nieznane|неизв\w+|fehlt|fehlen|ontbre\w+)\b"
    r"|なし|n['’]|[不无無没沒未]|ません|せん|ない|ねます|情報|모르|없|않"
)
#: Required words of a refusal, which most sentences lack.
_HINT = re.compile(f"{_ENGLISH_HINT}|{_HINT_ABROAD.pattern}")


def abstains(response: str, known: Callable[[str], bool] | None = None) -> bool:
    """Return True if the whole response declines to answer or reports no knowledge.

    Each clause must decline, or state nothing (a courtesy, an offer, a source's topic), and at
    least one must decline. "I'm not sure, but it was in 1912" is an answer, and so is "its age is
    not known". Reporting that the given context has no answer is a refusal. Languages: English,
    German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Chinese and Japanese.

    Args:
        known: returns True if the sources have the words of a clause that names their topic;
            without it such a clause is trusted.

    >>> abstains("Unfortunately, the text does not mention a fee.")
    True
    >>> abstains("The text does not mention a fee for pets, so dogs travel for free.")
    False
    """
    if len(response) > _MAX_ANSWER_CHARACTERS:
        return False
    if not _may_refuse(response):
        return False
    kinds = [
        c.kind
        for s in split_sentences(without_markers(response))
        for c in checked_clauses(s.text, known)
    ]
    return "abstains" in kinds and "states" not in kinds


def abstention(sentence: str) -> bool:
    """Return True if a sentence has a clause that declines."""
    return _may_refuse(sentence) and any(c.kind == "abstains" for c in clauses(sentence))


def checked_clauses(
    sentence: str, known: Callable[[str], bool] | None = None
) -> tuple[RefusalClause, ...]:
    """Return :func:`clauses`, where a source's topic must be ``known`` to state nothing."""
    found = clauses(sentence)
    if known is None:
        return found
    return tuple(
        c._replace(kind="states")
        if c.kind == "covers" and not known(_matter(sentence[c.start : c.end]))
        else c
        for c in found
    )


def _matter(clause: str) -> str:
    """Return the topic that a clause assigns to a source."""
    low = "".join(_fold(c) for c in clause)
    head = _HEAD.match(low)
    found = _COVERS.match(low, head.end() if head else 0)
    return clause[found.start("rest") :] if found else clause


def stated_part(sentence: str, known: Callable[[str], bool] | None = None) -> tuple[int, int]:
    """Return the offsets of the statement in a sentence with a refusal; empty if none.

    Without a refusal it is the whole sentence.

    >>> text = "The text gives no year, but it was in May."
    >>> text[slice(*stated_part(text))]
    'it was in May.'
    """
    if not _may_refuse(sentence):
        return 0, len(sentence)
    found = checked_clauses(sentence, known)
    if all(c.kind != "abstains" for c in found):
        return 0, len(sentence)
    said = [c for c in found if c.kind == "states"]
    if not said:
        return 0, 0
    start, end = said[0].start, said[-1].end
    if found[-1].kind == "states":
        end = len(sentence)
    return start, end


@kept
def clauses(sentence: str) -> tuple[RefusalClause, ...]:
    """Split one sentence into clauses, in order, each with its kind."""
    if len(sentence) > _MAX_SENTENCE_CHARACTERS:
        return (RefusalClause(0, len(sentence), "states"),)
    text = "".join(_fold(c) for c in sentence)
    text = _ASIDE.sub(lambda m: " " * len(m.group()), text)
    if not _HINT.search(text):
        only: Kind = _kind(text, False, may_refuse=False) or "states"
        return (RefusalClause(0, len(sentence), only),)
    found: list[RefusalClause] = []
    english = text.isascii() or not _refusal_abroad().search(text)
    last_is_main = bool(_SUBORDINATE.match(text))
    pieces = _pieces(text)
    if len(pieces) > _MAX_CLAUSES:
        return (RefusalClause(0, len(sentence), "states"),)
    for place, (start, end, border) in enumerate(pieces):
        piece = text[start:end]
        kind = _kind(piece, any(c.kind in ("covers", "abstains") for c in found))
        before = found[-1] if found else None
        main = last_is_main and place == len(pieces) - 1 and place > 0
        if kind == "abstains" and border == "comma" and before and _asks_first(text, before):
            found[-1] = RefusalClause(before.start, end, kind)
            continue
        listed = _QUESTION_FOLLOWS.match(text, end)
        if (
            kind is None
            and border == "comma"
            and before
            and not listed
            and _says_of(text[before.start : before.end], piece)
        ):
            kind = "states"
            noun = _LAST_NOUN.search(text, before.start, before.end)
            if (
                before.kind == "abstains"
                and noun
                and noun.start() > before.start
                and _RELATIVE.match(piece)
            ):
                found[-1] = before._replace(end=noun.start())
                start = noun.start()
        if kind is None and before and not main and _goes_on(piece, border, before, english):
            both = _kind(text[before.start : end], len(found) > 1)
            still = "states" if before.kind == "covers" and both != "covers" else before.kind
            kind = "covers" if both == "covers" and still == "states" else still
            found[-1] = RefusalClause(before.start, end, kind)
            continue
        if kind == "covers" and before and before.kind == "states":
            kind = None
        head = _HEAD.match(piece)
        lead = head.end() if head and head.end() < len(piece) and kind is None else 0
        found.append(RefusalClause(start + lead, end, kind or "states"))
    if all(c.kind != "abstains" for c in found):
        only_filler = bool(found) and all(c.kind == "filler" for c in found)
        whole = _kind(text, False) if len(found) > 1 else None
        filler = only_filler or whole == "filler"
        covers = bool(found) and all(c.kind in ("covers", "filler") for c in found)
        if covers and not filler:
            return (RefusalClause(0, len(sentence), "covers"),)
        return (RefusalClause(0, len(sentence), "filler" if filler else "states"),)
    return tuple(found)


#: Softening words, which state nothing.
_ASIDE = re.compile(
    r",? ?\b(?:as far as (?:i|we) (?:can|could) (?:see|tell|judge|find)|from what i can (?:see|"
    r"tell)|"
    r"at least not explicitly|i'm afraid(?= *[.,;!]|$)|soweit ich (?:sehe|sehen kann)|"
    r"que je sache)\b,?"
)


def _may_refuse(sentence: str) -> bool:
    """Return False quickly for most sentences without a refusal."""
    return bool(_HINT.search(sentence.lower().replace("’", "'")))


def _fold(character: str) -> str:
    if character.isspace():
        return " "
    if character in "’‘`´":
        return "'"
    low = character.lower()
    return low if len(low) == 1 else character


def _pieces(text: str) -> list[tuple[int, int, str]]:
    """Split a sentence at clause borders; return each part with the border before it."""
    pieces = []
    start, border = 0, "hard"
    for match in _BORDER.finditer(text):
        before = text[start : match.start()]
        if match.lastgroup == "comma" and border == "hard" and _TOPIC.match(before):
            continue
        if any(map(str.isalnum, text[start : match.start()])):
            pieces.append((start, match.start(), border))
            border = match.lastgroup or "hard"
            word = match.group().strip(" ,")
            # "and" joins a list; other words begin a clause
            border = "and" if border == "weak" and word in _AND else border
        elif match.lastgroup == "hard":
            border = "hard"
        start = match.end()
    if any(map(str.isalnum, text[start:])):
        pieces.append((start, len(text), border))
    return pieces


#: "Based on the context, ..." belongs to the clause after it.
_TOPIC = re.compile(
    r"\W*(?:根据|根據|基于|在|从|從)[^，,、]{0,40}$"
    r"|\W*(?:unfortunately,? |sorry,? (?:but )?)?(?:based on|according to|from|in|within|given|"
    r"with|"
    r"as for|as to|regarding|concerning|about|for|on|among|judging by|at|to|by|throughout|across)\b"
    r"(?!.*\b(?:is|are|was|were|has|have|does|do|can|will|not|no|n't)\b)[^,;:]{0,120}$"
)
_AND = frozenset(["and", "und", "et", "y", "e", "en", "i", "и"])


def _asks_first(text: str, before: RefusalClause) -> bool:
    return before.kind == "states" and bool(_ASKED_FIRST.match(text, before.start, before.end))


def _says_of(before: str, piece: str) -> bool:
    """Return True if a piece describes what is named before it, or follows from it."""
    plain = " ".join(piece.split())
    found = _RELATIVE.match(plain)
    if _RESULTS.match(plain) or (found and found["number"]):
        return True
    if not found or _WORD_THAT_ASKS.search(before):
        return False
    of_source = f"they {plain.partition(' ')[2]}"
    if _ENDS_IN_SOURCE.search(before) and (_covers(of_source) or _refuses(of_source)):
        return False
    return asserts(f"it {found['verb']}" if found["verb"] else found["clause"])


def _goes_on(piece: str, border: str, before: RefusalClause, english: bool) -> bool:
    """Return True if a piece without its own meaning continues the previous clause."""
    plain = " ".join(piece.split()).strip(" \"'“”")
    if border == "hard":
        return False
    if before.kind == "states":
        return border in ("and", "weak", "comma")
    if before.kind == "filler":
        return False
    if _CONTINUES.match(plain) and border != "weak":
        return True
    if english:
        return not asserts(plain)
    return border == "and" or (len(plain.split()) < 4 and plain[:1].isascii())


def _kind(piece: str, after_source: bool, *, may_refuse: bool = True) -> Kind | None:
    """Return the kind of a piece; None if it states something or is part of another clause."""
    plain = " ".join(piece.split()).strip(" \"'“”*_-–—,")
    if len(plain) > _MAX_CLAUSE_CHARACTERS:
        return None
    head = _HEAD.match(plain)
    bare = plain[head.end() :] if head else plain
    if not any(map(str.isalnum, bare)):
        return "filler"
    if may_refuse and _declines(plain, bare, after_source):
        return "abstains"
    if _SELF.fullmatch(bare) or _SELF.fullmatch(plain):
        return "filler"
    if small_talk(piece) == "courtesy" or _advises(bare) or _advises(plain):
        return "filler"
    if plain.endswith(("?", "？")) and (not plain.isascii() or _QUESTION.match(plain)):
        return "filler"
    return "covers" if _covers(bare) else None


def _declines(plain: str, bare: str, after_source: bool) -> bool:
    if w.AS_MODEL.search(plain) or _BARE.fullmatch(bare):
        return True
    if after_source and _ELLIPSIS.match(bare):
        return True
    if bare.endswith("?"):
        return False
    return _refuses(bare) or (bare != plain and _refuses(plain))


def _refuses(text: str) -> bool:
    if _refusal().search(text):
        return True
    return bool(_HINT_ABROAD.search(text) and _refusal_abroad().search(text))


def _advises(plain: str) -> bool:
    found = _ADVICE.match(plain)
    if not found or _NUMBER.search(plain):
        return False
    rest = plain[found.end("rest") :].strip(" .!")
    said = _OFFER.sub("", found["rest"])
    return not rest and not _NOT_MEANT.search(said) and not asserts(f"it {said}"[3:])


def _covers(plain: str) -> bool:
    found = _COVERS.match(plain)
    if not found:
        return False
    rest = found["rest"]
    if found["verb"] in ("say", "tell"):
        return bool(_ONLY_ASKS.match(rest))
    if re.search(r"\bthat\b(?! (?:is|are)\b)", rest) or re.search(r":\s", rest):
        return False
    policy = re.search(
        r"\b(?:polic(?:y|ies)|contract|agreement|plan|terms|ticket|offer|product)\b", plain
    )
    return not (policy and found["verb"] in ("cover", "include", "contain", "give", "provide")) or (
        bool(_DETAIL.search(rest))
    )
