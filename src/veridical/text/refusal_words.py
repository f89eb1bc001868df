"""Patterns of refusals and of sources without an answer, by language."""

from __future__ import annotations

import re

# Nouns for what an answer is written from. The first are hardly ever anything else.
_PLAIN_SOURCE = (
    r"(?:context|passage|text|document|documentation|article|information|knowledge|"
    r"knowledge base|source|paragraph|conversation|transcript|reference|material|data|excerpt|"
    r"extract|snippet|search result|result|page|section|file|doc|resource|content)s?"
)
_SOURCE = (
    rf"(?:{_PLAIN_SOURCE}|(?:report|rule|condition|notice|leaflet|brochure|manual|guide|"
    r"handbook|list|table|chart|menu|schedule|timetable|recipe|instruction|note|email|e-mail|mail|"
    r"letter|message|faq|site|website|webpage|description|review|summary|statement|sheet|"
    r"programme|program|announcement|post|blog|abstract|paper|study|entry|catalogue|"
    r"catalog|flyer|newsletter|regulation|guideline|term|contract|agreement|form|overview|plan|"
    r"profile|record|ticket|posting|ad|chapter|news|log|readme|spec|"
    r"specification|label|minute|bulletin|memo|booklet|pamphlet|listing|script|code|product|"
    r"clause|offer)s?|polic(?:y|ies)|summaries|entries|studies)"
)
_WORD = r"[\w'/\"“”.&-]+"
_DETERMINER = (
    r"(?:the|your|this|these|those|that|any|my|our|its|their|both|all|each|either|neither|none|"
    r"no|nothing|nowhere|what)"
)
GIVEN = (
    rf"(?:(?:{_DETERMINER} )?(?:of |in |from |among )?(?:(?:the|your|these|those|my|our|this) )?"
    rf"(?:{_WORD} ){{0,4}}?{_PLAIN_SOURCE})"
)
#: The source as a subject: "the rules for guests", "the price list [2]".
_SUBJECT = (
    rf"(?:^|\b)(?:{_DETERMINER} )(?:(?:of|in|from|on) )?(?:(?:the|your|these|those|my|our) )?"
    rf"(?:{_WORD} ){{0,4}}?{_SOURCE}\b,?(?: (?:\[\w{{1,4}}\]|\(\w{{1,9}}\)|{_WORD})){{0,6}}?,?"
)
_PLAIN_SUBJECT = (
    rf"(?:^|\b)(?:{_DETERMINER} )?(?:(?:of|in) )?(?:(?:the|your|these|those|my|our) )?"
    rf"(?:{_WORD} ){{0,4}}?{_PLAIN_SOURCE}\b,?(?: (?:\[\w{{1,4}}\]|{_WORD})){{0,4}}?,?"
)
_SOFTLY = (
    r"(?: (?:explicitly|specifically|actually|directly|really|clearly|itself|themselves|also|even|"
    r"ever|anywhere|yet|further|exactly|precisely|definitively|seem to|appear to|seems to|go on to|"
    r"in any way|at any point|however|unfortunately|either|fully|(?:\w+ )?or))*"
)
_NOT = (
    r"(?:does not|doesn't|do not|don't|did not|didn't|never|nowhere|fails? to|failed to|cannot|"
    r"can't|omits? to|neglects? to)"
)
#: Verbs that only say that something is stated.
_TELL = (
    r"(?:mention|say|state|specif(?:y|ie)|tell|explain|discuss|address|clarif(?:y|ie)|indicate|"
    r"elaborate|describe|detail|touch(?:e)? (?:on|upon)|refer to|go(?:e)? into|speak (?:of|about|"
    r"to)|"
    r"talk about|comment on|deal with|reveal|disclose|note|report|make clear|spell out|bring up|"
    r"shed (?:any )?light|answer|give (?:any|an?|the exact)|list any|"
    r"(?:contain|provide|include|give|offer|have|present|hold|show|supply|list)(?: \w+){0,3}? "
    r"(?:information|info|details?|mention|answers?|data|indication|explanation|description|"
    r"reference|guidance|statement|specifics|clue|hint|entry|evidence|insight)s?)"
)
_WEAK_TELL = (
    r"(?:cover|include|contain|provide|give|offer|list|name|show|confirm|define|present|"
    r"have(?! to)|identify|suggest|establish|support|outline|allow|enable|help)"
)
_MATTER = (
    r"(?:mention|reference|information|info|details?|indication|statement|answers?|explanation|"
    r"data|word|guidance|clue|hint|discussion|specifics|context)s?"
)
#: Parts of a source; also things of their own: "no section of the road is closed".
_PART = (
    r"(?:entry|entries|figure|description|record|instruction|content|passage|section|part|text|"
    r"rule)s?"
)
_FOUND = (
    r"(?:find|see|locate|identify|spot|detect|discover|come across|tell|determine|say|answer|"
    r"confirm|verify|establish|work out|figure out|make out|derive|infer|deduce)"
)

SOURCE_SILENT = (
    # "the recipe does not go into freezing", "it never says whether"
    rf"{_SUBJECT} {_NOT}{_SOFTLY} {_TELL}"
    rf"|{_PLAIN_SUBJECT} {_NOT}{_SOFTLY} {_WEAK_TELL}\b"
    rf"|^(?:it|they|this|these|he|she|the author|the speaker) {_NOT}{_SOFTLY} "
    r"(?:mention|say|state|specify|tell|explain|discuss|address|clarify|indicate|elaborate|"
    r"describe|go into|touch (?:on|upon)|refer to|spell out|make clear)\b"
    rf"|^(?:it|they|this|these) {_NOT}{_SOFTLY} (?:provide|give|contain|include|have|offer|list)"
    rf"(?: \w+){{0,3}}? (?:{_MATTER}|{_PART})\b"
    # "neither the rules nor the page says anything about", "none of the documents describes"
    rf"|^(?:neither|none|no|nothing|nowhere)\b.{{0,60}}\b{_SOURCE}\b.{{0,60}}?\b{_TELL}(?:s|es)?\b"
    rf"|^(?:neither|none|no|nothing)\b.{{0,60}}\b{_PLAIN_SOURCE}\b.{{0,60}}?\b{_WEAK_TELL}(?:s|"
    rf"es)?\b"
    r"|^(?:nothing|no more)(?: (?:more|else|further|specific))? (?:is|was) (?:said|mentioned|"
    r"stated|specified|given|written|indicated|known|told)\b"
    # "the text says nothing about", "the page is silent on", "it makes no mention of"
    rf"|(?:{_SUBJECT}|^(?:it|they|this)) (?:\w+ )?(?:say|tell|state|mention|reveal|disclose|have|"
    rf"ha|"
    r"contain|offer|give|provide)s?(?: \w+)? (?:nothing|not a word|not anything)\b"
    rf"|(?:{_SUBJECT}|^(?:it|they|this)) (?:\w+ )?(?:make|contain|ha|have|give|provide|offer|"
    rf"include|"
    rf"hold|show|carr(?:y|ie))(?:s|es)? no (?:\w+ ){{0,2}}?(?:{_MATTER}|{_PART})\b"
    rf"|{_PLAIN_SUBJECT} (?:contain|ha|have|give|provide|offer|include|hold|mention|list)s? no\b"
    rf"|(?:{_SUBJECT}|^(?:it|they|this)) (?:is|are|remains?|stays?|keeps?)(?: \w+)? "
    r"(?:silent|mute|quiet|vague|unclear)\b"
    rf"|{_SUBJECT} (?:lacks?|omits?|leaves? out|stops? short of|leaves? (?:it|this|that|"
    rf"the question)"
    r"? ?open)\b"
    rf"|^{_PLAIN_SUBJECT} (?:is|are) (?:insufficient|unclear|silent|incomplete|not (?:\w+ ){{0,2}}?"
    r"(?:clear|enough|sufficient|specific|explicit|helpful|about|related|relevant|conclusive|"
    r"complete|detailed|able|available|accessible|provided|there|given|included|present|found|"
    r"mentioned|stated|known|listed|contained|shown|specified))\b"
    rf"|^{_PLAIN_SUBJECT} (?:isn't|aren't) (?:enough|sufficient|clear)\b"
)
_ANY_GIVEN = rf"(?:{GIVEN}|{_DETERMINER} (?:\w+ ){{0,3}}?{_SOURCE}|(?:it|them|there|here)\b)"
#: Words after "no information" that leave it the matter: "no information on prices".
_OF_MATTER = (
    r"of|on|about|as to|for|regarding|concerning|whether|how|when|where|who|what|why|which|to|in|"
    r"from|within|with|that|relating|related|specifying|indicating|available|provided|given|"
    r"describing|explaining|at"
)
THERE_IS_NO = (
    rf"^(?:there(?:'s| is| are| was| were| seems to be| appears to be) )?(?:also )?"
    rf"(?:no|not enough|insufficient|too little|not any|never any|little) (?:\w+ ){{0,3}}?{_MATTER}"
    r"(?: (?:is|was|are|were) (?:\w+ )?(?:given|provided|available|made|found|mentioned|included|"
    r"present|listed|stated))?(?: (?:here|there|anywhere|at all|available|provided|given|found))*"
    rf"(?:[.!]?$|,? (?:{_OF_MATTER})\b)"
    rf"|^(?:there(?:'s| is| are| was| were) )?(?:no|not any|little) (?:\w+ ){{0,3}}?{_PART}"
    rf"(?: (?:is|was|are|were) (?:given|provided|available|found|mentioned|listed|stated))?"
    r"(?: (?:here|anywhere|at all|available|provided|given|found))*(?:[.!]?$|,? (?:about|as to|for "
    r"this|regarding|concerning|whether|how|when|where|who|what|why|which|relating|related|"
    r"specifying|indicating|describing|explaining|on (?:this|that|it)|"
    rf"that (?:mention|sa[iy]|stat|tell|cover|address|describ|explain|specif)\w*)\b|"
    rf" (?:in|within|from|(?:on|of) [^.;]{{1,60}} in) {_ANY_GIVEN})"
    r"|^there(?:'s| is| are|) (?:isn't |aren't |not )?(?:nothing|anything|"
    r"not a word)\b.*\b(?:about|on|in|"
    r"regarding|concerning|to)\b"
    r"|^there (?:isn't|aren't|wasn't|weren't|is not|are not) (?:any|a|an|enough|sufficient|much) "
    rf"(?:\w+ ){{0,3}}?{_MATTER}\b"
    r"|^(?:nothing|not a word|no word) (?:(?:is|was) (?:said|mentioned) )?(?:on|about|regarding|"
    r"concerning|as to|in (?:there|it|them|here))\b"
)
_UNTOLD = (
    r"(?:mentioned|specified|stated|said|spelled out|spelt out|discussed|described|addressed|"
    r"explained|detailed|touched (?:on|upon)|brought up|referenced|referred to|dealt with|"
    r"made clear|elaborated on|elaborated upon|written|disclosed|indicated|clarified|gone into)"
)
_UNFOUND = (
    r"(?:covered|contained|included|provided|given|listed|found|available|part of|present|known|"
    r"clear|evident|shown|reported|named|answered|recorded|noted|documented|outlined|supported|"
    r"confirmed|determinable)"
)
_BE_NOT = (
    r"(?:(?:is|are|was|were|has been|have been|'s|it's) not|isn't|aren't|wasn't|weren't|"
    r"hasn't been|"
    r"haven't been|(?:is|are|was|were) (?:never|nowhere)|'s never|cannot be|can't be|could not be)"
)
_LEARN = (
    r"(?:tell|told|say|said|see|seen|know|known|determine|answer|judge|conclude|confirm|verify|"
    r"verified|establish|infer|derive|deduce|find|found|identify|identified|make out|work out)"
)
IMPERSONAL = (
    rf"^(?:it |that |this )?(?:(?:is|was) )?not (?:\w+ )?(?:{_UNTOLD}|{_UNFOUND}) (?:anywhere )?"
    rf"(?:in|by|from|within|on) {_ANY_GIVEN}"
    r"|^no (?:[\w'-]+ ){1,6}?(?:is|are) (?:\w+ )?(?:mentioned|stated|specified)\b"
    rf"|^no (?:[\w'-]+ ){{1,6}}?(?:is|are) (?:\w+ )?(?:{_UNTOLD}|{_UNFOUND})\b.*\b(?:in|by|on|"
    rf"from) "
    rf"{_ANY_GIVEN}"
    rf"|^(?:the |that |this )?(?:answer|information|detail|figure|it|this|that|question)s?"
    rf"(?: (?:to|on|about) [^,;]{{1,60}})? (?:(?:is|are) not|isn't|aren't) (?:\w+ )?(?:there\W*$|"
    rf"(?:in|among|within|part of) {_ANY_GIVEN})"
    rf"|\b(?:from|by|in) {_ANY_GIVEN},? (?:it|one|we|i) (?:(?:is|can|could)(?:n't| not)|cannot|"
    r"can't|can hardly) (?:\w+ )?(?:clear|tell|evident|obvious|known|say|see|"
    rf"possible to {_LEARN})\b"
    rf"|\b(?:from|by|in) {_ANY_GIVEN},? it (?:is|remains) (?:\w+ )?(?:unclear|unknown|"
    rf"impossible to {_LEARN})\b"
    rf"|\b(?:from|by|in) {_ANY_GIVEN},? (?:one|we|i) can {_LEARN} (?:nothing|little)\b"
    # "a churn figure is not given", "that isn't something the extract covers"
    r"|^(?:(?:an?|the|any|its|their) )?(?:[\w'-]+ ){0,3}?(?:figure|number|value|date|price|amount|"
    r"reason|name|rate|percentage|explanation|address|cause|author|detail)s? (?:(?:is|are|was|were)"
    r" not|isn't|aren't|wasn't|weren't) (?:\w+ly )?(?:given|stated|provided|listed|shown|included|"
    r"named|reported|specified|mentioned)\W*$"
    rf"|^(?:that|this|it)(?:'s not| is not| isn't) something (?:that )?{_SUBJECT}"
    r"(?: (?:tell|sa[iy]|cover|mention|address|state|explain|discuss)\w*)"
    r"|^(?:could not|couldn't|cannot|can't|didn't|did not|was unable to|was not able to) (?:find|"
    r"see|"
    r"locate|tell|say|determine)\b"
    # "how many is not said": of now, and of verbs that only tell
    r"|(?:(?:is|are|'s|it's) not|isn't|aren't|(?:is|are) (?:never|nowhere))"
    r"(?: (?:\w+ly|further|even|anywhere|actually|itself))* "
    r"(?:mentioned|specified|stated|said|spelled out|spelt out|discussed|described|addressed|"
    r"explained|touched (?:on|upon)|brought up)\b"
    rf"|{_BE_NOT}(?: (?:\w+ly|further|even|anywhere|actually|itself|explicitly|any|of))* "
    rf"(?:{_UNTOLD}|{_UNFOUND})\b.*\b(?:in|from|by|within|on|to|here|among|based on)\b (?:{GIVEN}|"
    rf"{_DETERMINER} (?:\w+ ){{0,3}}?{_SOURCE}|(?:it|them|either|any|there)\b)"
    r"|^(?:it|this|that)(?:'s| is) not (?:\w+ )?(?:known|clear|indicated|given) (?:from|in|by) "
    r"|(?:do|does)(?:n't| not)(?: even)? (?:come up|appear|feature|figure|occur|show up|get "
    r"(?:a )?mention(?:ed)?|turn up)(?: at all| anywhere)? (?:in|on|among|there|here)\b"
    r"|\b(?:goes|go|remains?|is|are|left|stays?) (?:unmentioned|unstated|unsaid|unspecified|"
    r"unaddressed|unanswered)\b"
    rf"|\b(?:remains?|is|are|left) (?:unclear|open|unknown)\b.*\b(?:in|from|by|based on) {GIVEN}"
    r"|\b(?:outside|beyond)(?: of)? the scope\b|\bout of scope\b"
    rf"|^{GIVEN}? ?(?:is|are)? ?(?:about|on) (?:other|different) (?:things|topics|matters)\b"
    rf"|\b(?:based on|according to|from|given|with|judging by|going by) {GIVEN}\b.*\b(?:unclear|"
    r"not clear|unknown|insufficient|not enough|"
    r"(?:impossible to|not possible to|cannot|can't|can not)(?: be)?(?: \w+ly)? "
    rf"{_LEARN}(?:ed|d)?\b|"
    r"no (?:\w+ ){0,2}(?:information|answer|mention)|not (?:\w+ )?(?:mentioned|specified|stated|"
    r"provided|known))"
    r"|\b(?:unclear|unknown|impossible|not possible|insufficient|not enough)\b.*"
    rf"\b(?:based on|according to|from|given|with|in) {GIVEN}"
    rf"|\b(?:cannot|can't|can not|could not) be (?:\w+ )?(?:determined|answered|found|verified|"
    r"established|inferred|derived|confirmed|deduced|concluded)\b"
    r"(?:[.!]?$| (?:here|with certainty)|.*\b(?:from|based|by|with|in|on)\b)"
    r"|^(?:the|this|your|that) (?:\w+ )?(?:question|answer|request|query|"
    r"prompt)\b.{0,80}\b(?:cannot|"
    r"can't|can not|could not|unclear|unknown|unanswerable|impossible|unanswered|open|not (?:\w+ )?"
    r"(?:clear|known|available|provided|possible|answerable|specified|covered|addressed|answered))"
    r"|^(?:it is|it's|that is|that's) (?:not possible|impossible|difficult|hard) (?:for me )?to "
    r"(?:answer|determine|say|tell|provide|give)"
    r"|^(?:more|additional|further) (?:information|context|details?)\b.*\b(?:needed|required|"
    r"necessary)"
    r"|^(?:not enough|insufficient) (?:\w+ )?(?:information|context|data|answer|details)\b"
    # not "no data was lost"
    rf"|^no (?:\w+ )?(?:information|context|data|answer|details)(?=\W*$|[,;:.!?(] ?|"
    rf" (?:{_OF_MATTER})\b| (?:is|are|was|were|has been|have been|can be|could be)(?: \w+ly)?"
    rf" (?:{_UNTOLD}|{_UNFOUND}|made|retrieved|located|possible|there|here|on|about)\b"
    r"| (?:exist|appear|seem)s?\b| (?:relevant|necessary|needed|required|here|there|anywhere)\b)"
    r"|^(?:no|not enough) (?:information|answer|details|results?|matches)(?: (?:was|were))? found\b"
    rf"|^{GIVEN} (?:does|do) not (?:tell|say)\b"
)
_KNOWLEDGE = (
    r"(?:information|knowledge|data|details?|context|answer|access|clue|idea|ability|"
    r"capability|capacity|opinions?|preferences?|feelings?|beliefs?|experiences?|emotions?|"
    r"body|means|evidence)"
)
_DO = (
    r"(?:answer|provide|help|assist|determine|give|find|respond|say|tell|verify|confirm|comment|"
    r"discuss|generate|fulfil|comply|share|identify|offer|complete|know|guess|predict|speculate|"
    r"access|browse|create|produce|make|write|perform|evaluate|do (?:that|this|so)|proceed|"
    r"engage|recommend|advise|process|see|view|translate|locate|infer|derive|be (?:of|able to|"
    r"sure|certain))"
)
FIRST_PERSON = (
    r"(?:^|[,;:–—-] ?|\b(?:sorry|afraid|that|unfortunately|so|and|model|therefore|currently|here|"
    r"provided|given|sources?|documents?|context) )"
    r"(?:i|we)(?: (?:really|simply|honestly|just|still|also|currently|actually|personally))*"
    r"(?:"
    rf" (?:cannot|can't|can not|could not|couldn't|won't|will not|would not|"
    rf"wouldn't)(?: \w+)? {_DO}\b"
    r"| (?:must|have to) (?:decline|refuse)| (?:decline|refuse) to"
    r"|(?:'m| am|'re| are| was| were) (?:unable|not able|not capable|incapable|not allowed|"
    r"not permitted|not in a position|not programmed|not equipped|not qualified)"
    r"| (?:wasn't|weren't|aren't) able to"
    r"|(?:'m| am|'re| are) (?:not (?:really |entirely |quite |too |so |completely )?(?:sure|"
    r"certain|aware|familiar)|unsure|uncertain|unaware|unfamiliar)"
    r"| (?:do not|don't|do n't|did not|didn't)(?: \w+)? (?:know|recall|remember)\b"
    rf"| (?:do not|don't|do n't)(?: \w+)? have (?:\w+ ){{0,4}}{_KNOWLEDGE}\b"
    rf"| (?:have|had|was given|found|find|see|lack) (?:no|insufficient|nothing|any|the)"
    rf"(?: (?:\w+ ){{0,3}}{_KNOWLEDGE}\b| (?:mention|reference|on|about|in|to)\b|$)"
    rf"| (?:could not|couldn't|cannot|can't|did not|didn't|do not|don't)(?: \w+)? {_FOUND}\b"
    r" (?:any|anything|nothing|much|an? (?:answer|mention|reference|statement|entry|passage)|"
    r"that|this|it|where|whether|"
    r"how|when|who|what|why|which|if|the (?:answer|information)|information|details|mention|for|"
    r"from)\b"
    rf"| (?:could not|couldn't|cannot|can't) (?:tell|say|answer|find)\b"
    r"| (?:'d |would )need (?:more|additional)"
    r")"
)
AS_MODEL = re.compile(
    r"\bas an? (?:ai|artificial intelligence|large language|language|chat)\b.{0,60}\bi"
    r"(?: (?:cannot|can't|can not|do not|don't|won't|will not|am not|am unable|lack|have no)|"
    r"'m not|'m unable)\b"
)

_DE_SOURCE = (
    r"(?:text|kontext|dokument|unterlage|quelle|artikel|abschnitt|auszug|seite|passage|"
    r"beschreibung|anleitung|broschüre|information)(?:e|en|n|s|es)?"
)
#: Sources that also grant something: "the contract gives no right".
_DE_TERMS = r"(?:regel|bedingung|angabe|vertrag|hausordnung|preisliste|liste)(?:e|en|n|s|es)?"
_DE_SAYS = (
    r"(?:erwähn|sag|nenn|äußer|beantwort|verrat|verrät|schweig|beschreib|erklär|behandel|"
    r"spezifizier|thematisier)\w*"
)
_DE_NOT = r"(?:nicht|nichts|kein\w*|weder|nirgends|nirgendwo)"
_DE_TOLD = (
    r"(?:information|angabe|daten|antwort|kenntnis|hinweis|auskunft|erwähnung|aussage|details|"
    r"einzelheit|aufschluss)"
)
_DE = (
    r"\bich (?:weiß|weiss|kenne)\b[^.]{0,40}\bnicht\b|\bweiß ich\b[^.]{0,20}\bnicht\b"
    r"|\b(?:ich|wir) (?:kann|können|konnte|konnten)\b[^.]{0,80}\b(?:nicht|nichts|keine\w*)"
    r"(?: \w+){0,4}? (?:beantworten|helfen|sagen|antworten|angeben|geben|finden|bestimmen|"
    r"beurteilen|entnehmen)"
    r"|\b(?:kann|konnte) ich\b[^.]{0,80}\b(?:nicht|nichts|keine\w*)(?: \w+){0,4}? (?:beantworten|"
    r"helfen|sagen|geben|finden|beurteilen|entnehmen)"
    r"|\b(?:ich habe|habe ich|wir haben|haben wir)\b[^.]{0,60}\b(?:nichts|nicht) "
    r"(?:gefunden|finden)\b"
    r"|\b(?:habe|liegen|liegt|gibt es|enthält|enthalten|finde[nt]?|fehlen|stehen|"
    rf"steht)\b[^.]{{0,60}}\bkeine\w*\b[^.]{{0,30}}\b{_DE_TOLD}"
    # "der Text erwähnt das nicht", "das Dokument enthält kein Datum"
    rf"|\b(?:{_DE_SOURCE}|{_DE_TERMS})\b[^.]{{0,60}}\b{_DE_SAYS}[^.]{{0,80}}\b{_DE_NOT}\b"
    rf"|\b{_DE_SOURCE}\b[^.]{{0,60}}\b(?:enthält|enthalten)\b[^.]{{0,80}}\b{_DE_NOT}\b"
    rf"|\b(?:{_DE_SOURCE}|{_DE_TERMS})\b[^.]{{0,60}}\b(?:gib|geb|mach|liefer|enthalt|enthält)\w*"
    rf"[^.]{{0,60}}\b{_DE_NOT}\b[^.]{{0,30}}\b{_DE_TOLD}"
    rf"|\b(?:{_DE_SOURCE}|{_DE_TERMS})\b[^.]{{0,60}}\bgeh\w*[^.]{{0,60}}\b{_DE_NOT}\b[^.]{{0,60}}"
    r"\b(?:ein|hervor)\b(?! \w)"
    # "dazu sagt der Text nichts": the verb precedes its subject
    r"|^(?:(?:dazu|darüber|hierzu|hierüber|davon|hiervon|darauf|das|dies|dieses|den \w+|"
    rf"diese \w+|(?:zu|zum|zur|über) \w+(?: \w+)?) )?{_DE_SAYS}(?: \w+)? "
    r"(?:der|die|das|dieser|dieses|diese|ihre?|unsere?|meine?) (?:\w+ ){0,2}"
    rf"(?:{_DE_SOURCE}|{_DE_TERMS})\b[^.]{{0,60}}\b{_DE_NOT}\b"
    rf"|^(?:die|das) \w+ {_DE_SAYS} (?:der|dieser) "
    rf"(?:text|kontext|artikel|abschnitt|auszug|vertrag)\b[^.]{{0,40}}\b{_DE_NOT}\b"
    r"|^(?:\w+ )?(?:enthält|enthalten|geben|gibt|macht|machen|geht|gehen|liefert|liefern) "
    rf"(?:der|die|das|diese\w?) (?:\w+ ){{0,2}}{_DE_SOURCE}\b[^.]{{0,60}}\b{_DE_NOT}\b[^.]{{0,40}}"
    rf"\b(?:{_DE_TOLD}|(?:ein|hervor)\b(?! \w))"
    r"|\b(?:weder|in kein\w+|kein\w*|nichts)\b[^.]{0,80}\b(?:text|kontext|dokument|unterlage|"
    r"quelle|"
    r"artikel|abschnitt|auszug|seite|regel|bedingung)\w*\b[^.]{0,80}\b(?:erwähn|sag|nenn|geh|"
    r"enthält|enthalten|beschreib|erklär|steht|hervor|findet)\w*"
    r"|\b(?:text|kontext|dokument|unterlage|quelle)\w*[^.]{0,20}\bschweig\w*"
    rf"|\bschweig(?:t|en) (?:\w+ )?(?:der|die|das|diese\w?) (?:\w+ )?{_DE_SOURCE}\b"
    r"|\bgeht (?:\w+ ){0,6}?(?:nicht|nirgends) hervor\b|\bnicht (?:\w+ )?(?:hervor|ersichtlich|"
    r"zu entnehmen)\b"
    r"|\b(?:wird|werden|ist|sind)\b[^.]{0,50}\b(?:nicht|nirgends)(?: \w+)? (?:erwähnt|genannt|"
    r"angegeben|beschrieben|erklärt|gesagt|thematisiert|aufgeführt|behandelt)\b"
    r"|\b(?:wird|werden|ist|sind) kein\w* (?:\w+ ){1,3}?(?:erwähnt|genannt|angegeben|beschrieben|"
    r"aufgeführt)\b"
    r"|\b(?:information|angabe|antwort)(?:en)?\b[^.]{0,40}\b(?:(?:ist|sind)\b[^.]{0,40}\bnicht "
    r"(?:\w+ )?(?:enthalten|vorhanden|verfügbar)|fehl(?:t|en))\b"
    r"|\bnicht (?:erwähnt|genannt|angegeben)(?: (?:wird|ist|sind|werden))?$"
    r"|\b(?:steht|stehen|findet sich|finden sich|finde ich|ich finde) (?:\w+ ){0,5}?"
    rf"(?:nichts|nicht|nirgends)\b[^.]{{0,30}}\b(?:in|im|auf) (?:\w+ ){{0,3}}?{_DE_SOURCE}\b"
    rf"|\b(?:in|im|auf) (?:\w+ ){{0,3}}?{_DE_SOURCE}\b[^.]{{0,30}}\b(?:steht|stehen|findet|finde)\b"
    r"[^.]{0,30}\b(?:nichts|nicht|nirgends)\b"
    rf"|\b(?:steht|stehen|findet sich|finde ich) (?:\w+ )?(?:in|im|auf) (?:\w+ ){{0,3}}?"
    rf"{_DE_SOURCE}\b[^.]{{0,30}}\b(?:nichts|nicht|nirgends)\b"
    r"|\b(?:steht|findet sich|finde ich|ich finde) (?:dazu|darüber|davon|hierzu|hierüber) "
    r"(?:\w+ )?(?:nichts|nirgends)\b"
    r"|\bnichts (?:zu|über|darüber|dazu)\b[^.]{0,60}\b(?:gefunden|finden|text|kontext|unterlagen|"
    r"dokument)\w*"
)
_FR_SOURCE = r"(?:texte|contexte|document|passage|source|article|extrait|page|informations?)s?"
_FR = (
    r"\bje ne (?:le )?(?:sais|connais) pas\b|\bje ne (?:peux|suis|dispose|trouve|parviens|vois)\b"
    r"[^.]{0,20}\b(?:pas|rien|aucune?)\b|\bje n'ai (?:pas|aucune?|"
    r"rien)\b[^.]{0,40}\b(?:information|"
    r"réponse|donnée|accès|trouv)|\bje n'ai (?:pas |rien )(?:pu )?trouv"
    r"|\baucune? (?:information|mention|précision|indication|réponse|donnée)\b"
    rf"|\b(?:{_FR_SOURCE}|(?:règlement|conditions|notice|recette|liste|contrat)s?)\b[^.]{{0,60}}"
    r"\b(?:ne|n')\s?(?:\w+ ){0,3}?(?:(?:mentionne|dit|disent|précise|indique|parle|évoque|aborde|"
    r"explique|répond|spécifie|décri|cite|traite|figure)\w*"
    r"|fait (?:pas |aucune? |jamais )?(?:mention|état|référence|allusion)"
    r"|permet(?:tent)? (?:\w+ )?de (?:le )?(?:savoir|répondre|dire|déterminer|connaître|conclure))"
    rf"|\b{_FR_SOURCE}\b[^.]{{0,60}}\b(?:ne|n')\s?(?:\w+ ){{0,3}}?(?:contien|fourni|donne|"
    r"comporte)\w*"
    rf"|\b(?:ne|n') ?(?:figure|trouve|apparaît|apparaissent)\w* (?:pas|nulle part) (?:dans|sur) "
    rf"(?:\w+ ){{1,2}}?{_FR_SOURCE}\b"
    r"|\b(?:information|réponse|détail|donnée|cela|ça)s?\b[^.]{0,20}\bn'(?:est|sont) pas (?:\w+ )?"
    rf"(?:dans|sur) (?:\w+ ){{1,2}}?{_FR_SOURCE}\b"
    r"|\bn'(?:est|a|ont|sont|était)\b[^.]{0,15}\b(?:pas|jamais|nulle part)\b[^.]{0,15}"
    r"(?:mentionné|précisé|indiqué|"
    r"spécifié|évoqué|abordé|dit|expliqué)\w*"
    r"|\b(?:rien|ni)\b[^.]{0,80}\b(?:texte|contexte|document|passage|source|"
    r"article)s?\b[^.]{0,60}\b"
    r"(?:ne|n')\b|\brien n'est (?:dit|précisé|indiqué)|\bil n'y a (?:pas|aucune?|rien)\b[^.]{0,60}"
    r"(?:information|mention|précision|indication|contexte|texte|document)"
    r"|\b(?:texte|contexte|document)s?\b[^.]{0,20}\b(?:muet|silencieux)"
)
_ES_SOURCE = (
    r"(?:texto|contexto|documento|pasaje|fuente|artículo|página|fragmento|información)(?:s|es)?"
)
_ES_SAYS = (
    r"(?:(?:menciona|dice|indica|especifica|habla|explica|aborda|responde|trata|aclara|detalla|"
    r"describe|precisa|señala)\w*|hace (?:\w+ )?(?:mención|referencia|alusión)"
    r"|permite (?:\w+ )?(?:saber|responder|decir|determinar|conocer|concluir))"
)
_ES = (
    r"\bno (?:lo )?sé\b|\bno (?:puedo|podemos|pude) (?:\w+ )?(?:responder|ayudar|proporcionar|dar|"
    r"determinar|decir|contestar|encontrar|saber)|\bno (?:he (?:podido )?|pude |logré )(?:encontr|"
    r"hall)\w*|\bno (?:encuentro|veo|encontré|hallo)\b"
    r"|\bno (?:tengo|dispongo|hay|cuento|existe|aparece|figura)\w*\b[^.]{0,60}\b(?:información|"
    r"datos|"
    r"respuesta|acceso|mención|detalle|indicación|contexto|texto|documento|referencia)"
    rf"|\b(?:{_ES_SOURCE}|(?:norma|condicion|condición|receta|lista|póliza|contrato)(?:s|es)?)\b"
    rf"[^.]{{0,60}}\b(?:no|tampoco|nunca|nada)\b(?: \w+){{0,2}}? {_ES_SAYS}"
    rf"|\b{_ES_SOURCE}\b[^.]{{0,60}}\b(?:no|tampoco|nunca)\b(?: \w+){{0,2}}? "
    r"(?:(?:contiene|proporciona|ofrece|incluye)\w*|da|dan)\b"
    # "no lo menciona el texto": the verb precedes its subject
    rf"|^(?:\w+ )?no (?:nos |se )?(?:lo|la|los|las) (?:\w+ )?{_ES_SAYS} (?:el|la|los|las|est\w+) "
    rf"(?:\w+ )?{_ES_SOURCE}\b"
    r"|\b(?:información|respuesta|dato|detalle|eso|esto)s?\b[^.]{0,20}\bno (?:está|se encuentra|"
    rf"consta)n? (?:\w+ )?en (?:\w+ ){{1,2}}?{_ES_SOURCE}\b"
    rf"|\ben (?:\w+ ){{1,2}}?{_ES_SOURCE} no (?:aparece|figura|consta|se encuentra|viene)n?\b"
    r"|\bno se (?:menciona|dice|indica|especifica|habla|explica|aborda|aclara|detalla|precisa)\w*"
    r"|\b(?:ni|ningun[oa]?|ningún|nada)\b[^.]{0,80}\b(?:texto|contexto|documento|pasaje|fuente|"
    r"página|artículo)s?\b[^.]{0,60}\b(?:menciona|dice|indica|habla|especifica|explica)\w*"
    r"|\bno está\w* (?:mencionad|indicad|especificad)\w+|\bno dice\w* nada\b|\bno (?:queda|"
    r"está) claro"
)
_IT_SOURCE = (
    r"(?:testo|contesto|documento|documenti|brano|fonte|fonti|articolo|pagina|pagine|passaggio|"
    r"passo|informazioni|estratto|testi)"
)
_IT_SAYS = (
    r"(?:(?:menziona|dic|indica|specifica|parla|spiega|affronta|rispond|tratta|chiarisc|precisa|"
    r"accenna|descriv|riporta)\w*|fa(?:nno)? (?:\w+ )?(?:menzione|cenno|riferimento))"
)
_IT = (
    r"\bnon (?:lo )?so\b|\bnon (?:posso|sono in grado|sono riuscit\w)\b|\bnon riesco a (?:trovare|"
    r"rispondere|dire|determinare|capire)|\bnon (?:ho|dispongo|ci "
    r"sono|c'è|vi è|vi sono)\b[^.]{0,60}\b(?:informazion|dati|risposta|accesso|menzione|trovat|"
    r"indicazion|dettagl|riferiment|nulla|niente)\w*|\bnon (?:trovo|vedo|ho trovato)\b"
    rf"|\b(?:{_IT_SOURCE}|regolamento|contratto|ricetta|lista|condizioni|regole)\b[^.]{{0,60}}"
    rf"\b(?:non|nulla)\b(?: \w+){{0,2}}? {_IT_SAYS}"
    rf"|\b{_IT_SOURCE}\b[^.]{{0,60}}\bnon\b(?: \w+){{0,2}}? "
    r"(?:contien\w*|contengono|fornisc\w*|offr\w*|dà|danno)\b"
    # "non lo dice il testo": the verb precedes its subject
    rf"|^(?:\w+ )?non (?:ce |ci )?(?:lo|la|li|le|ne) (?:\w+ )?{_IT_SAYS} (?:il |lo |la |i |gli |"
    rf"le |l'|quest\w+ )(?:\w+ )?{_IT_SOURCE}\b"
    r"|\bnon (?:compare|compaiono|appare|figura\w*|si trova\w*|risulta\w*) (?:\w+ )?(?:ne\w+ |"
    rf"nell')(?:\w+ )?{_IT_SOURCE}\b"
    r"|\b(?:informazion[ei]|risposta|dato|dettagli\w?|questo|ciò)\b[^.]{0,20}\bnon (?:è|sono|c'è) "
    rf"(?:\w+ )?(?:ne\w+ |nell')(?:\w+ )?{_IT_SOURCE}\b"
    rf"|\bne(?:l|i|gli|lla|lle|ll') ?(?:\w+ )?{_IT_SOURCE} non (?:compare|compaiono|"
    r"appare|figura\w*|risulta\w*)\b"
    r"|\bnon (?:è|sono|viene|vengono)\b[^.]{0,30}\b(?:menzionat|indicat|specificat|dett|riportat|"
    r"precisat|spiegat|trattat)\w|\bnon si (?:menziona|dice|parla|specifica|indica)\w*"
    r"|\b(?:né|nessun\w?|nulla|niente)\b[^.]{0,80}\b(?:testo|contesto|document|font|pagin|articol|"
    r"regol)\w*\b[^.]{0,60}\b(?:menziona|dic|indica|parla|specifica|spiega)\w*"
)
_PT_SOURCE = r"(?:texto|contexto|documento|trecho|fonte|artigo|página|passagem|informações)s?"
_PT_SAYS = (
    r"(?:(?:menciona|diz|dizem|indica|especifica|fala|explica|aborda|responde|trata|esclarece|"
    r"detalha|refere|informa|descreve|precisa)\w*|faz(?:em)? (?:\w+ )?(?:menção|referência|"
    r"alusão))"
)
_PT = (
    r"\b(?:eu )?não (?:o )?sei\b|\bnão (?:posso|consigo|consegui|pude) (?:\w+ )?(?:responder|"
    r"ajudar|"
    r"fornecer|dizer|determinar|encontrar|achar|saber)|\bnão (?:tenho|há|disponho|existe|consta|"
    r"encontrei|achei|vejo|encontro)\w*\b(?:[^.]{0,60}\b(?:informaç|dados|resposta|acesso|menção|"
    r"indicaç|referência|detalhe|contexto|texto|documento|nada)|$)"
    rf"|\b(?:{_PT_SOURCE}|(?:regra|condiç\w+|receita|lista|apólice|contrato|regulamento)s?)\b"
    rf"[^.]{{0,60}}\b(?:não|nunca|tampouco|nada)\b(?: \w+){{0,2}}? {_PT_SAYS}"
    rf"|\b{_PT_SOURCE}\b[^.]{{0,60}}\b(?:não|nunca|tampouco)\b(?: \w+){{0,2}}? "
    r"(?:contém|contêm|fornece\w*|oferece\w*|inclu\w*|dá|dão|traz|trazem)\b"
    # "não o diz o texto": the verb precedes its subject
    rf"|^(?:\w+ )?não (?:o|a|os|as) (?:\w+ )?{_PT_SAYS} (?:[oa]s?|est\w+|ess\w+) (?:\w+ )?"
    rf"{_PT_SOURCE}\b"
    r"|\b(?:informação|informações|resposta|dado|detalhe|isso|isto)s?\b[^.]{0,20}\bnão (?:está|"
    rf"estão|aparece\w*|figura\w*|se encontra\w*) (?:\w+ )?(?:n[oa]s?|nest\w+) (?:\w+ )?"
    rf"{_PT_SOURCE}\b"
    rf"|\bnão (?:aparece|figura)\w* (?:\w+ )?(?:n[oa]s?|nest\w+) (?:\w+ )?{_PT_SOURCE}\b"
    rf"|\bn[oa]s? (?:\w+ )?{_PT_SOURCE} não (?:aparece|figura|consta)\w*"
    r"|\bnão (?:é|são|está|estão|foi) (?:\w+ )?(?:mencionad|indicad|especificad|dit|referid|"
    r"informad|explicad)\w*|\bnão se (?:menciona|diz|fala|indica|especifica)\w*"
    r"|\b(?:nem|nenhum\w?|nada)\b[^.]{0,80}\b(?:texto|contexto|documento|fonte|página|artigo)s?\b"
    r"[^.]{0,60}\b(?:menciona|diz|indica|fala|especifica|explica)\w*"
)
_NL_SOURCE = r"(?:tekst|context|document|bron|bronn|artikel|passage|pagina|fragment)(?:en|s|'s)?"
_NL_PLACE = rf"(?:in|op|uit) (?:\w+ ){{1,2}}?{_NL_SOURCE}\b"
_NL_SAYS = (
    r"(?:vermeld|zeg|noem|beantwoord|beschrijf|beschrijv|bespreek|besprek|meld|leg|spreek|rept|vertel|"
    r"verklaa?r|specificeer|behandel)\w*"
)
_NL_NOT = r"(?:niet|niets|geen|nergens)"
_NL_TOLD = r"(?:informatie|gegevens|antwoord|vermelding|uitsluitsel|details|aanwijzing)"
_NL = (
    r"\bik weet (?:het |dat )?niet\b|\b(?:ik|wij|we) (?:kan|kon|kunnen|konden)\b[^.]{0,60}\b"
    r"(?:niet|niets|geen)(?: \w+){0,3}? (?:beantwoorden|helpen|zeggen|geven|vinden|terugvinden)"
    r"|\b(?:kan|kon) ik\b[^.]{0,40}\b(?:niet|niets)\b[^.]{0,20}\b(?:vinden|zeggen|beantwoorden)"
    r"|\b(?:ik heb|heb ik|wij hebben|we hebben)\b[^.]{0,60}\b(?:niet|niets|geen)(?: \w+){0,3}? "
    r"(?:gevonden|vinden|teruggevonden|terugvinden)\b"
    r"|\b(?:heb|is er|zijn er|bevat\w*|geeft|geven|staat|vind)\b[^.]{0,30}\bgeen "
    rf"(?:\w+ )?{_NL_TOLD}"
    rf"|\b(?:{_NL_SOURCE}|(?:regel|voorwaarde)\w*)\b[^.]{{0,60}}\b{_NL_SAYS}[^.]{{0,60}}\b{_NL_NOT}\b"
    rf"|\b{_NL_SOURCE}\b[^.]{{0,60}}\b(?:bevat|bevatten|geeft|geven)\b[^.]{{0,60}}\b{_NL_NOT}\b"
    rf"|\b(?:{_NL_SOURCE}|(?:regel|voorwaarde)\w*)\b[^.]{{0,60}}\bgaa[nt]\b[^.]{{0,60}}\b{_NL_NOT}\b"
    r"[^.]{0,40}\b(?:in op|op in|over)\b"
    # "daarover zegt de tekst niets": the verb precedes its subject
    r"|^(?:(?:daarover|hierover|hier|daar|dit|dat|deze \w+|over \w+(?: \w+)?) )?"
    rf"(?:{_NL_SAYS}|bevat(?:ten)?|geeft|geven)(?: \w+)? (?:de|het|dit|deze|uw|je|mijn) "
    rf"(?:\w+ ){{0,2}}{_NL_SOURCE}\b[^.]{{0,60}}\b{_NL_NOT}\b"
    # "dit staat niet in de tekst", "in de tekst staat hierover niets"
    rf"|\bstaa[nt]\b[^.]{{0,30}}\b{_NL_NOT} (?:\w+ ){{0,3}}?{_NL_PLACE}"
    rf"|\b{_NL_PLACE}[^.]{{0,30}}\bstaa[nt]\b[^.]{{0,40}}\b{_NL_NOT}\b"
    rf"|\bstaa[nt] (?:\w+ )?{_NL_PLACE}[^.]{{0,40}}\b{_NL_NOT}\b"
    r"|\b(?:wordt|worden|is|staat)\b[^.]{0,40}\b(?:niet|nergens)(?: \w+)? (?:vermeld|genoemd|"
    r"beschreven|gezegd|aangegeven|uitgelegd)"
    r"|\b(?:informatie|gegevens|antwoord)\b[^.]{0,30}\b(?:ontbreekt|ontbreken)\b"
    r"|\bgeen van de (?:documenten|bronnen|teksten)\b"
)
_PL = (
    r"\bnie wiem\b|\bnie (?:mogę|jestem w stanie|udało mi się|znalazł\w*|znajduję|widzę)\b"
    r"|\bnie (?:mam|ma|posiadam)\b[^.]{0,60}\b(?:informacj|danych|odpowiedzi|wzmian)\w*"
    r"|\b(?:tekst|kontekst|dokument|źródł|artykuł|fragment|stron|regulamin|"
    r"materiał)\w*\b[^.]{0,60}\b"
    r"nie (?:\w+ )?(?:wspomina|mówi|podaj|zawiera|określa|wyjaśnia|opisuj|precyzuj|odnos|informuj|"
    r"porusza)\w*|\bnie (?:jest|są|został\w*) (?:\w+ )?(?:podan|wspomnian|określon|opisan)\w*"
    r"|\b(?:brak|żad\w+)\b[^.]{0,60}\b(?:informacj|wzmian|dokument|źród|danych)\w*"
)
_RU = (
    r"\b(?:я )?не (?:знаю|располагаю|нашел|нашёл|нашла|вижу|удалось найти)\b|\bне могу (?:\w+ )?"
    r"(?:ответить|помочь|предоставить|сказать|определить|найти)|\bнет (?:\w+ )?(?:информации|"
    r"сведений|данных|упоминани|ответа)\w*"
    r"|\b(?:текст|контекст|документ|источник|стать|отрыв|страниц)\w*\b[^.]{0,60}\bне (?:\w+ )?"
    r"(?:упомина|говор|сказан|указ|содерж|сообща|описыва|объясня)\w*"
)
_JA_SOURCE = (
    r"(?:文書|書類|本文|資料|テキスト|文脈|コンテキスト|文章|ページ|記事|規約|ドキュメント|出典|"
    r"情報源)"
)
_JA_ABSENT = (
    r"(?<!では)(?:あり|ござい)ません|(?:存在|見つか|見当た)[りし]ません|見つからな|"
    r"含まれて(?:いませ|いな|おりませ)"
)
_EAST = (
    r"我?不知道|(?:无法|無法|不能)(?:回答|提供|确定|確定|帮助|幫助|判断|判斷|给出|找到|得知)"
    r"|(?:没有|沒有|未|并未|並未|没|找不到)(?:在.{0,12})?(?:明确|明確|具体|具體)?(?:提到|提及|说明|說明|"
    r"指出|提供|包含|涉及|写明|介绍|任何|足够|相关|找到|說|说|关于|關於)"
    r"|(?:没有|沒有)(?:足够的?|相关的?|任何)?(?:关于.{0,20}的?)?(?:信息|資訊|资料|資料|内容)|不清楚"
    r"|(?:わか|分か|知)りません|お?答え(?:する(?:こと)?は?|は)?できません|お答えでき(?:ません|かねます)"
    # nouns of telling with "is not there"; verbs of telling in the passive with "not"
    rf"|(?:記載|言及|説明|記述|明記|情報|回答)(?:が|は|も)?(?:な[いくし]|"
    rf"(?:{_JA_ABSENT}))|(?:記載|情報|説明)(?:が|は|も).{{0,8}}?(?:{_JA_ABSENT})"
    r"|(?:情報|記載)(?:が|は)不足"
    r"|(?:(?:記載|言及|説明|記述|明記|掲載)され|書かれ|述べられ|触れられ|示され)"
    r"(?:て(?:は|も)?(?:い|おり)?(?:ませ|な)|ませ|な)"
    # verbs of telling that have a source as their subject or place
    rf"|{_JA_SOURCE}.{{0,30}}(?:触れ|述べ|言及し|説明し|記載し|載っ|書い|示し|含まれ)て(?:は|も)?"
    r"(?:いませ|いな|おりませ|ありませ|ませ|な)"
    rf"|(?:その|この)?(?:情報|答え|回答)は.{{0,12}}{_JA_SOURCE}.{{0,8}}(?:{_JA_ABSENT}|な[いくし])"
    r"|見つかりません|見つけられません|見当たりません|不明です"
    r"|(?:모르|알 수 없|찾을 수 없|언급되지 않|나와 있지 않|언급하지 않|정보가 없)"
)
FOREIGN = "|".join((_DE, _FR, _ES, _IT, _PT, _NL, _PL, _RU, _EAST))
#: "im Dokument": a part of a clause that only names its source.
IN_SOURCE_ABROAD = (
    rf"(?:(?:im|in) (?:\w+ ){{0,3}}?(?:{_DE_SOURCE}|{_NL_SOURCE})|"
    rf"dans (?:\w+ ){{1,3}}?{_FR_SOURCE}|en (?:\w+ ){{1,3}}?{_ES_SOURCE}|"
    rf"ne(?:l|i|gli|lla|lle|ll') ?(?:\w+ )?{_IT_SOURCE}|"
    rf"n[oa]s? (?:\w+ )?{_PT_SOURCE})(?: \w{{4,}})?"
)
