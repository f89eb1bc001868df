"""Word tables of English for :mod:`veridical.text.statement_rules`. All in lower case."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: base, past, participle
_IRREGULAR = """
arise arose arisen|awake awoke awoken|bear bore born|beat beat beaten|become became become
begin began begun|bend bent bent|bet bet bet|bind bound bound|bite bit bitten|bleed bled bled
blow blew blown|break broke broken|breed bred bred|bring brought brought|build built built
burn burnt burnt|burst burst burst|buy bought bought|cast cast cast|catch caught caught
choose chose chosen|cling clung clung|come came come|cost cost cost|cut cut cut|deal dealt dealt
dig dug dug|do did done|draw drew drawn|dream dreamt dreamt|drink drank drunk|drive drove driven
eat ate eaten|fall fell fallen|feed fed fed|feel felt felt|fight fought fought|find found found
flee fled fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten
forgive forgave forgiven|freeze froze frozen|get got got|give gave given|go went gone
grow grew grown|hang hung hung|have had had|hear heard heard|hide hid hidden|hit hit hit
hold held held|hurt hurt hurt|keep kept kept|know knew known|lay laid laid|lead led led
leave left left|lend lent lent|let let let|lie lay lain|light lit lit|lose lost lost
make made made|mean meant meant|meet met met|overcome overcame overcome|overtake overtook overtaken
pay paid paid|put put put|quit quit quit|read read read|ride rode ridden|ring rang rung
rise rose risen|run ran run|say said said|see saw seen|seek sought sought|sell sold sold
send sent sent|set set set|shake shook shaken|shine shone shone|shoot shot shot|show showed shown
shrink shrank shrunk|shut shut shut|sing sang sung|sink sank sunk|sit sat sat|sleep slept slept
slide slid slid|speak spoke spoken|spend spent spent|split split split|spread spread spread
stand stood stood|steal stole stolen|stick stuck stuck|strike struck struck|swear swore sworn
sweep swept swept|swim swam swum|take took taken|teach taught taught|tear tore torn|tell told told
think thought thought|throw threw thrown|undergo underwent undergone
understand understood understood|wake woke woken|wear wore worn|weave wove woven|win won won
wind wound wound|withdraw withdrew withdrawn|write wrote written
"""
_ROWS = [row.split() for row in _IRREGULAR.replace("\n", "|").split("|") if row.strip()]
PAST = {base: past for base, past, _ in _ROWS}
#: Regular verbs that are almost never nouns, and those that often are.
_REGULAR = _set(
    "abandon abdicate accept achieve acquire add adopt agree allow announce appear apply "
    "appoint approve argue arrive ask attend avoid ban belong borrow bury carry celebrate "
    "choose close collapse collect compete compose conquer consist contain continue "
    "contribute convert convict cook create cross cultivate declare decide defeat define "
    "deliver depend derive describe destroy develop die direct disappear discover divide "
    "donate earn elect employ enable end enjoy enter establish evolve examine exist expand "
    "explain export express face fail feature follow form found function gain gather graduate "
    "happen host identify import improve include increase inform inhabit inherit introduce "
    "invade invent involve issue join keep kill last launch learn like listen live locate "
    "love marry mine mention mix need observe obtain occupy occur offer open operate oppose "
    "organize originate own paint participate perform permit pioneer portray possess praise "
    "prefer premiere prepare prevent produce amount depart prohibit propose protect prove "
    "provide publish qualify reach receive recommend refer refuse regain relate rely remain "
    "remember remove rename replace represent require resemble reside resign retire retreat "
    "return reveal save seem separate serve settle share specialize start starve stay stop "
    "suffer suggest supply surrender survive teach tend train miss yield ferment divert "
    "postpone award lower raise weaken flow transfer translate travel treat try use vary "
    "visit want weigh work worship produce precede succeed belong consume absorb bloom erupt "
    "migrate hibernate "
)
_NOUN_TOO = _set(
    "attack base bear block book border break call cast cause change charge claim command "
    "compare contract control cost count cover crash cut date deal debut design draw drink deal "
    "dream drive edit fall feature feed fight film finish flower fly form function grow head hit "
    "help hold honor host house hunt influence interview issue land lead leave light link look "
    "mark market master mean measure measurement model move murder name note number order paint "
    "park pass pay peak phone pilot plan plant play point produce promise race rank rate read "
    "record reign release reply report rescue result ride ring rise rule run sail school score "
    "season set share shoot show sign sleep smoke sound split spread stage stand star start state "
    "stay stop store strike study support sync talk tax taste test tie tour trade train travel "
    "turn view voice vote walk wash watch water wear weigh win wish work write rebel last mine "
    "lie light like love visit use grant address attempt benefit campaign dance escape exchange "
    "rest exercise experience found increase signal smell time touch trust value end need supply "
    "transfer open close face cross act act cook own retreat return purchase import export praise"
)
BASES = frozenset(PAST) | _REGULAR | _NOUN_TOO
#: Verbs that are almost never nouns or adjectives.
CLEAR = BASES - _NOUN_TOO
#: Regular verbs that double their last letter.
_DOUBLED = _set("stop plan ban refer occur permit star admit commit prefer drop rob ship step wrap")


def past_of(base: str) -> str:
    """Return the past tense of a verb, such as ``founded`` for ``found``.

    >>> [past_of(v) for v in ("write", "found", "carry", "die", "stop")]
    ['wrote', 'founded', 'carried', 'died', 'stopped']
    """
    if base in PAST:
        return PAST[base]
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}{base[-1]}ed" if base in _DOUBLED else f"{base}ed"


def third_person_of(base: str) -> str:
    """Return the form for he, she and it.

    >>> [third_person_of(v) for v in ("have", "go", "carry", "play", "reach")]
    ['has', 'goes', 'carries', 'plays', 'reaches']
    """
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{base}s"


_PASTS = frozenset(past_of(v) for v in BASES)
_THIRDS = frozenset(third_person_of(v) for v in BASES)

BE = _set("is are was were am")
HAVE = _set("has have had")
DO = _set("do does did")
MODALS = _set("can could will would may might must shall should")
AUXILIARIES = BE | HAVE | DO | MODALS
NEGATED = {
    **{f"{a}n't": a for a in AUXILIARIES},
    **{f"{a}n’t": a for a in AUXILIARIES},
    "can't": "can", "can’t": "can", "won't": "will", "won’t": "will",
}  # fmt: skip
PRONOUNS = _set("i you he she it we they there this that these those one anyone someone everyone")
#: Those that are not a determiner of a following noun.
SUBJECT_PRONOUNS = _set("i you he she it we they there")
DETERMINERS = _set(
    "the a an his her its their my our your this these those some any each every no several many "
    "most both all another"
)
PREPOSITIONS = _set(
    "in on at by for from with about against among between during into over through under within "
    "without across along around behind beyond near off onto of to toward towards upon via inside "
    "outside throughout above below per than as like after before since until till beside besides "
    "despite"
)
#: Subordinators that are almost never prepositions.
CLAUSE_OPENERS = _set("when while if because although though unless whereas once so whether")
CONJUNCTIONS = _set("and or but nor")
SUBORDINATORS = _set(
    "when while if because although though unless after before since until once whereas so"
)
RELATIVES = _set("who whom whose which that where")
ADVERBS = _set(
    "also always ever never often usually originally first last just still now already currently "
    "mainly mostly finally generally really actually not only even once normally sometimes later "
    "recently typically primarily initially officially formerly soon both all there longest best "
    "most together alone away back out up down home abroad here now today yet long far fast "
)
_ADJECTIVES = _set(
    "able alive available big black blue brown cheap closed cold correct dead deep different "
    "difficult dry due easy empty equal expensive extinct false famous fast flat free full good "
    "green guilty happy hard high hollow hot ill illegal important large late legal long low "
    "married near new old open out poisonous popular possible present public ready real red "
    "responsible rich safe short sick similar single small strong sure sweet tall thick true "
    "warm wet white wide wild wrong yellow young older younger taller bigger larger longer "
    "shorter higher lower better worse older earlier later more less further closer heavier faster "
    "worth located native mandatory compulsory necessary required allowed refundable edible"
)
_ADJECTIVE_ENDS = ("able", "ible", "ful", "ous", "less")
_NO_PARTICIPLE = _set(
    "red hundred need speed seed breed feed naked sacred wicked bed shed sled embed united king "
    "thing something anything nothing everything spring string ring wing evening morning ceiling "
    "building during wedding beijing viking pudding being painting meeting string clothing "
    "run hit cut bet cost states"
)


def is_participle(word: str) -> bool:
    """Return True if a word may be a past or present participle."""
    if word in _NO_PARTICIPLE:
        return False
    return word in _PARTICIPLES or (len(word) > 4 and word.endswith(("ed", "ing")))


_PARTICIPLES = frozenset(row[2] for row in _ROWS) | frozenset(
    past_of(v) for v in BASES if v not in PAST
)


def is_finite(word: str) -> bool:
    """Return True if a word may be a finite verb other than an auxiliary."""
    return (word in _PASTS or word in _THIRDS) and word not in _NO_PARTICIPLE


def is_clearly_finite(word: str) -> bool:
    """Return True if a word is almost always a finite verb, such as an irregular past."""
    return word in _CLEARLY_FINITE


_CLEARLY_FINITE = (
    frozenset(past_of(v) for v in PAST)
    | frozenset(past_of(v) for v in BASES if v not in PAST)
    | frozenset(third_person_of(v) for v in CLEAR)
) - _set("found born left read set cut put cost lay hit split spread cast light set run lit")


def is_adjective(word: str) -> bool:
    """Return True if a word is a common adjective, or ends like one."""
    return word in _ADJECTIVES or (len(word) > 5 and word.endswith(_ADJECTIVE_ENDS))


def is_adverb(word: str) -> bool:
    """Return True if a word is a common adverb, or ends like one."""
    return word in ADVERBS or (len(word) > 4 and word.endswith("ly") and word not in _LY | BASES)


_LY = _set("family july italy early daily weekly monthly friendly reply supply assembly fly belly")
MONTHS = _set(
    "january february march april may june july august september october november december jan "
    "feb mar apr jun jul aug sep sept oct nov dec"
)
DAYS = _set("monday tuesday wednesday thursday friday saturday sunday")
SEASONS = _set("spring summer autumn fall winter")
NUMBERS = _set(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty "
    "ninety hundred thousand million billion trillion dozen half and about around approximately "
    "nearly almost over roughly exactly only at least most more than less fewer up to some"
)
#: Adjectives after "how" whose measure precedes them: "41 metres tall".
MEASURES = _set("tall high long wide deep old thick heavy far big large strong fast")
YES = _set("yes yeah yep yup correct true indeed sure certainly absolutely definitely")
NO = _set("no nope false incorrect wrong never")
