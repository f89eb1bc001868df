"""Whether a response declines to answer."""

from __future__ import annotations

import re

from veridical.text.sentences import split_sentences

_LONGEST = 1000  # characters: whoever writes more than that says something

_GIVEN = (
    r"(?:the|your|this|these|any|my) (?:(?:provided|given|above|available|supplied|retrieved|"
    r"following) )*(?:context|passage|text|document|article|information|knowledge|source|"
    r"paragraph|conversation|reference|material|data|excerpt|question|search result)s?"
)
_TELL = (
    r"(?:answer|provide|help|assist|determine|give|find|respond|say|tell|verify|confirm|comment|"
    r"discuss|generate|fulfil|comply|share|identify|offer|complete|know|guess|predict|speculate|"
    r"access|browse|create|produce|make|write|perform|evaluate|do (?:that|this|so)|proceed|"
    r"engage|recommend|advise|process|see|view|translate|be (?:of|able to))"
)
_KNOWLEDGE = (
    r"(?:information|knowledge|data|details?|context|answer|access|clue|idea|ability|"
    r"capability|capacity|opinions?|preferences?|feelings?|beliefs?|experiences?|emotions?|"
    r"body|means|evidence)"
)
#: A person who does not answer, in the main clause of a sentence in lower case.
_FIRST_PERSON = (
    r"(?:^|[,;:–—-] ?|\b(?:sorry|afraid|that|unfortunately|so|and|model|therefore|currently) )"
    r"(?:i|we)(?: (?:really|simply|honestly|just|still|also|currently|actually|personally))*"
    r"(?:"
    rf" (?:cannot|can't|can not|could not|couldn't|won't|will not|would not)(?: \w+)? {_TELL}\b"
    r"| (?:must|have to) (?:decline|refuse)| (?:decline|refuse) to"
    r"|(?:'m| am|'re| are) (?:unable|not able|not capable|incapable|not allowed|not permitted|"
    r"not in a position|not programmed|not equipped|not qualified)"
    r"|(?:'m| am|'re| are) (?:not (?:really |entirely |quite |too |so |completely )?(?:sure|"
    r"certain|aware|familiar)|unsure|uncertain|unaware|unfamiliar)"
    r"| (?:do not|don't|do n't|did not|didn't)(?: \w+)? (?:know|recall|remember)\b"
    rf"| (?:do not|don't|do n't)(?: \w+)? have (?:\w+ ){{0,4}}{_KNOWLEDGE}\b"
    rf"| (?:have|had|was given|found|find|see) (?:no|insufficient) (?:\w+ ){{0,2}}{_KNOWLEDGE}\b"
    r"| (?:could not|couldn't|cannot|can't|did not|didn't) find (?:any|an answer|that|this|it)\b"
    r"| would need (?:more|additional)"
    r")"
)
#: What was asked or given does not do for an answer.
_IMPERSONAL = (
    r"there (?:is|are|was|were|isn't|aren't) (?:no|not|insufficient|n't)?\s?(?:\w+ ){0,3}"
    r"(?:information|context|details|data|mention|answer)\b.*(?:"
    rf"{_GIVEN}|\bprovided\b|\bgiven\b|\bavailable\b|\bto (?:answer|determine|say|tell|provide)\b|"
    r"\babout\b|\bregarding\b|\bon\b)"
    rf"|^{_GIVEN} (?:does not|doesn't|do not|don't|did not|contains? no|provides? no|gives? no|"
    r"has no|have no|is not|isn't|are not|is insufficient|are insufficient|cannot|can't|lacks?|"
    r"makes? no)\b"
    rf"|\b(?:not|n't|neither|never) (?:\w+ ){{0,2}}(?:mentioned|specified|provided|stated|given|"
    rf"available|clear|included|found|contained|discussed|addressed|indicated|known)\b.*"
    rf"\b(?:in|from|by|within|on|to) {_GIVEN}"
    rf"|\b(?:based on|according to|from|given|with) {_GIVEN}.*\b(?:unclear|not clear|unknown|"
    r"impossible|not possible|cannot|can't|can not|insufficient|not enough|no (?:\w+ ){0,2}"
    r"(?:information|answer|mention)|not (?:\w+ )?(?:mentioned|specified|stated|provided|known))"
    rf"|\b(?:unclear|unknown|impossible|not possible|insufficient|cannot be|can't be|can not be|"
    rf"could not be|not enough)\b.*\b(?:based on|according to|from|given|with|in) {_GIVEN}"
    r"|^(?:the|this|your|that) (?:question|answer|request|query|prompt)\b.{0,80}\b(?:cannot|can't|"
    r"can not|could not|unclear|unknown|unanswerable|impossible|not (?:\w+ )?(?:clear|known|"
    r"available|provided|possible|answerable|specified))"
    r"|^(?:it is|it's|that is|that's) (?:not possible|impossible|difficult|hard) (?:for me )?to "
    r"(?:answer|determine|say|tell|provide|give)"
    r"|^(?:more|additional|further) (?:information|context|details?)\b.*\b(?:needed|required|"
    r"necessary)"
    r"|^(?:no|not enough|insufficient) (?:\w+ )?(?:information|context|data|answer|details)\b"
    r"|^(?:sorry|unfortunately|apologies)\W+(?:\w+ ){0,3}(?:no|not enough) (?:information|answer)"
)
#: Other languages: refusals that a sentence holds anywhere.
_FOREIGN = (
    r"\bich (?:weiß|weiss|kenne)\b[^.]{0,40}\bnicht\b|\bweiß ich\b[^.]{0,20}\bnicht\b"
    r"|\bich kann\b[^.]{0,80}\bnicht (?:\w+ )?(?:beantworten|helfen|sagen|antworten|angeben|geben|"
    r"finden|bestimmen)|\bkann ich\b[^.]{0,80}\bnicht (?:\w+ )?(?:beantworten|helfen|sagen|geben)"
    r"|\b(?:habe|liegen|gibt es)\b[^.]{0,30}\bkeine\b[^.]{0,30}\b(?:informationen|angaben|daten|"
    r"antwort|kenntnis)"
    r"|\bje ne (?:le )?(?:sais|connais) pas\b|\bje ne (?:peux|suis|dispose|trouve|parviens)\b[^.]"
    r"{0,20}\bpas\b|\bje n'ai (?:pas|aucune?)\b[^.]{0,40}\b(?:information|réponse|donnée|accès)"
    r"|\baucune information\b"
    r"|\bno (?:lo )?sé\b|\bno puedo (?:\w+ )?(?:responder|ayudar|proporcionar|dar|determinar|decir|"
    r"contestar)|\bno (?:tengo|dispongo|hay|cuento)\b[^.]{0,40}\b(?:información|datos|respuesta|"
    r"acceso)"
    r"|\bnon (?:lo )?so\b|\bnon (?:posso|sono in grado)\b|\bnon (?:ho|dispongo|ci sono)\b[^.]{0,40}"
    r"\b(?:informazioni|dati|risposta|accesso)"
    r"|\b(?:eu )?não (?:o )?sei\b|\bnão (?:posso|consigo) (?:\w+ )?(?:responder|ajudar|fornecer|"
    r"dizer|determinar)|\bnão (?:tenho|há|disponho)\b[^.]{0,40}\b(?:informaç|dados|resposta|acesso)"
    r"|\bik weet (?:het |dat )?niet\b|\bik kan\b[^.]{0,60}\bniet (?:\w+ )?(?:beantwoorden|helpen|"
    r"zeggen|geven)|\b(?:heb|is er|zijn er)\b[^.]{0,20}\bgeen (?:\w+ )?(?:informatie|gegevens)"
    r"|\b(?:я )?не (?:знаю|располагаю)\b|\bне могу (?:\w+ )?(?:ответить|помочь|предоставить|"
    r"сказать|определить)|\bнет (?:\w+ )?информации\b"
    r"|我?不知道|(?:无法|無法|不能)(?:回答|提供|确定|確定|帮助|幫助|判断|判斷|给出)|没有(?:足够的?|相关的?)?信息|不清楚"
    r"|(?:わか|分か|知)りません|お?答え(?:する(?:こと)?は?|は)?できません|お答えでき(?:ません|かねます)|情報が(?:あり|不足|ない)"
)
_REFUSAL = re.compile(f"{_FIRST_PERSON}|{_IMPERSONAL}|{_FOREIGN}")
_AS_MODEL = re.compile(
    r"\bas an? (?:ai|artificial intelligence|large language|language|chat)\b.{0,60}\bi"
    r"(?: (?:cannot|can't|can not|do not|don't|won't|will not|am not|am unable|lack|have no)|"
    r"'m not|'m unable)\b"
)
#: The whole of an answer, or of a sentence in it.
_BARE = re.compile(
    r"(?:n/?a|none|unknown|unanswerable|not available|not applicable|no answer|no idea|no clue|"
    r"idk|unsure|not sure|no comment|abstain|not (?:stated|specified|mentioned|provided|known)|"
    r"cannot (?:answer|say|tell|be determined)|can't (?:answer|say|tell)|insufficient "
    r"(?:information|context|data)|not enough (?:information|context|data)|unbekannt|inconnu|"
    r"desconocido|sconosciuto|desconhecido|onbekend|неизвестно|未知|不明)\W*"
)
#: Sentences that claim nothing: apologies, offers, requests, thanks.
_FILLER = re.compile(
    r"\W*(?:(?:(?:i'm|i am|we're|we are) (?:so |very |really |truly |deeply )?sorry|sorry|"
    r"(?:my |i |we )?apolog(?:y|ies|ise|ize)|unfortunately|regrettably|i(?:'m| am) afraid|"
    r"i (?:understand|appreciate|hope|recommend|suggest)|i(?:'d| would) (?:be|need|recommend|"
    r"suggest|love)|i(?:'m| am) (?:an? (?:ai|large|language)|just|only|here|happy)|please|"
    r"if you (?:have|need|would|could|can|provide|give|tell|let|share|want)|let me know|feel free|"
    r"thank|you (?:may|might|can|could|should) (?:want|wish|need|try|check|consult|contact|refer|"
    r"find|search|look|visit|ask)|it (?:is|would be|might be|may be) (?:best|better|helpful|"
    r"advisable|recommended) to|is there anything|my (?:knowledge|training|purpose)|hope|okay|ok|"
    r"hello|hi|dear|es tut mir leid|tut mir leid|leider|entschuldigung|(?:je suis )?désolée?|"
    r"malheureusement|lo siento|lamentablemente|mi dispiace|purtroppo|desculpe|lamento|"
    r"infelizmente|het spijt me|helaas|извините|к сожалению)(?!\w)"
    r"|抱歉|对不起|對不起|很遗憾|申し訳|すみません|すいません)"
)
#: Questions that tell nothing themselves, unlike "wasn't he in Porto?".
_QUESTION = re.compile(
    r"\W*(?:\w+,? )?(?:is|are|was|were|do|does|did|have|has|can|could|would|will|what|which|who|"
    r"when|where|why|how|kann|können|was|wie|puis|comment|qué|cómo|puedo|posso|come|что|как|чем)\b"
    r"(?! you know)"
)
#: Where another statement begins in a sentence.
_TURN = re.compile(
    r"[,;]?\s*\b(?:but|however|although|though|nevertheless)\b,?\s*|;\s*"
    r"|\s?,\s+(?=(?:i|he|she|they|we)(?:'s|'m| (?:just|only|do|am|was|is|think|believe|guess|"
    r"assume|know|heard|like|love))\b)|\s+and\s+(?=i\b)"
)
#: Without one of these there is no refusal: what most sentences are told by.
_HINT = re.compile(
    r"\b(?:i|we|no|not|none|unknown|unclear|cannot|insufficient|impossible|unanswerable|more|"
    r"ich|keine|je|aucune|non|não|ik|geen|не|нет|sé|lacks?|n/?a|idk|un\w+|abstain|additional|"
    r"further|difficult|hard|incon\w+|desc\w+|sconosc\w+|onbek\w+|неизв\w+)\b"
    r"|n't|['’]t\b|[不无無没未]|ません|情報"
)


def abstains(response: str) -> bool:
    """Whether the whole response declines to answer, or says only that it does not know.

    Every sentence must be a refusal, or claim nothing (an apology, an offer, a question), and one
    at least a refusal: "I'm not sure, but it was in 1912" is an answer, and so is "its age is not
    known". That the given context does not tell is a refusal. English, German, French, Spanish,
    Italian, Portuguese, Dutch, Russian, Chinese and Japanese; linear time.
    """
    if len(response) > _LONGEST:
        return False
    text = " ".join(response.replace("’", "'").lower().split())
    if not _HINT.search(text):
        return False
    refused = False
    for sentence in split_sentences(text):
        for piece in _TURN.split(sentence.text):
            piece = piece.strip(" \"'“”*-")
            if _HINT.search(piece) and _refuses(piece):
                refused = True
            elif not _claims_nothing(piece):
                return False
    return refused


def _refuses(piece: str) -> bool:
    return bool(_BARE.fullmatch(piece) or _AS_MODEL.search(piece) or _REFUSAL.search(piece))


def _claims_nothing(piece: str) -> bool:
    if not any(map(str.isalnum, piece)) or _FILLER.match(piece):
        return True
    return piece.endswith(("?", "？")) and (not piece.isascii() or bool(_QUESTION.match(piece)))
