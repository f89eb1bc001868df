"""Word tables for :mod:`veridical.text.facts`. All in lower case."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _table(lines: str) -> dict[str, str]:
    """Return ``{word: first word of its line}``."""
    return {w: line.split()[0] for line in lines.strip().splitlines() for w in line.split()}


MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun",
            "july jul", "august aug", "september sep sept", "october oct", "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip


def _counted(words: str, start: int, step: int = 1) -> dict[str, int]:
    return {w: step * i for i, w in enumerate(words.split(), start)}


#: Without "one" and "zero": alone they are rarely figures. They count inside compounds.
NUMBER_WORDS = {
    **_counted(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen",
        start=2,
    ),
    **_counted("twenty thirty forty fifty sixty seventy eighty ninety", start=2, step=10),
    "hundred": 100,
    "dozen": 12,
}
SCALES = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "bn": 10**9,
}

CURRENCIES = _table(
    """
    $ usd dollar dollars
    € eur euro euros
    £ gbp pound pounds
    ¥ jpy yen yuan cny rmb
    ₹ inr rupee rupees
    """
)
UNITS = CURRENCIES | _table(
    """
    % ٪ ％ percent pct
    km kilometre kilometres kilometer kilometers kms
    m metre metres meter meters
    cm centimetre centimetres centimeter centimeters
    mm millimetre millimetres millimeter millimeters
    mile miles mi
    ft foot feet
    inch inches
    kg kilogram kilograms kilo kilos
    g gram grams
    mg milligram milligrams
    lb lbs
    tonne tonnes ton tons
    l litre litres liter liters
    ml millilitre millilitres milliliter milliliters
    hour hours h hr hrs
    minute minutes min mins
    second seconds sec secs
    day days
    week weeks
    month months
    year years yr yrs
    ° degree degrees
    mph kmh
    """
)

#: Lower-case words that may occur inside a name.
CONNECTORS = _set("of the de la le les du des van von der den di da dos del della al el bin ibn y")
ARTICLES = frozenset(["the", "a", "an"])
#: Words that are capitalised by their place (sentence, title), not because they are names.
FUNCTION_WORDS = _set(
    "a about after all also although an and another any are as at because before between both but "
    "by can could did do does during each either even for from further had has have he her here "
    "his how however i if in including instead into is it its many may me more most much my "
    "neither no not of on one only or other our over several she should since so some such than "
    "that the their them then there therefore these they this those though through thus to under "
    "unlike until upon was we were what when where whether which while who whose why will with "
    "within without would yes you your additionally moreover furthermore finally overall born "
    "hi hello hey thanks okay sorry "
    "currently later throughout despite since per rarely often sometimes perhaps maybe according "
    "based given here there's sure certainly yet once never always"
)
#: Auxiliaries introduced by negation ("did not go" for "went").
AUXILIARIES = _set(
    "been being could does doing have having just should that their them then there these they "
    "this those very were what when where which will with would your"
)
NEGATIONS = _set(
    "not no never none nobody nothing neither nor without cannot nicht kein keine keinen keiner "
    "nie niemals pas jamais aucun aucune nunca jamás tampoco não nem mai niet geen nooit не нет "
    "никогда"
)

#: A country, its adjective and its people; a word -> the other words of its line.
COUNTRY_WORDS = {
    word: tuple(other for other in line.split() if other != word)
    for line in """
    albania albanian albanians
    algeria algerian algerians
    argentina argentine argentinian argentinians
    australia australian australians
    austria austrian austrians
    bangladesh bangladeshi bangladeshis
    belgium belgian belgians
    bolivia bolivian bolivians
    brazil brazilian brazilians
    britain british britons
    bulgaria bulgarian bulgarians
    canada canadian canadians
    chile chilean chileans
    china chinese
    colombia colombian colombians
    croatia croatian croatians
    cuba cuban cubans
    cyprus cypriot cypriots
    czechia czech czechs
    denmark danish danes
    ecuador ecuadorian ecuadorians
    egypt egyptian egyptians
    england english
    estonia estonian estonians
    ethiopia ethiopian ethiopians
    europe european europeans
    finland finnish finns
    france french
    georgia georgian georgians
    germany german germans
    ghana ghanaian ghanaians
    greece greek greeks
    hungary hungarian hungarians
    iceland icelandic icelanders
    india indian indians
    indonesia indonesian indonesians
    iran iranian iranians
    iraq iraqi iraqis
    ireland irish
    israel israeli israelis
    italy italian italians
    japan japanese
    jordan jordanian jordanians
    kenya kenyan kenyans
    korea korean koreans
    latvia latvian latvians
    lebanon lebanese
    lithuania lithuanian lithuanians
    luxembourg luxembourgish
    malaysia malaysian malaysians
    malta maltese
    mexico mexican mexicans
    morocco moroccan moroccans
    nepal nepali nepalese
    netherlands dutch
    nigeria nigerian nigerians
    norway norwegian norwegians
    pakistan pakistani pakistanis
    peru peruvian peruvians
    poland polish poles
    portugal portuguese
    romania romanian romanians
    russia russian russians
    scotland scottish scots
    serbia serbian serbians
    singapore singaporean singaporeans
    slovakia slovak slovaks
    slovenia slovenian slovenians
    spain spanish spaniards
    sweden swedish swedes
    switzerland swiss
    syria syrian syrians
    thailand thai thais
    tunisia tunisian tunisians
    turkey turkish turks
    uganda ugandan ugandans
    ukraine ukrainian ukrainians
    uruguay uruguayan uruguayans
    venezuela venezuelan venezuelans
    vietnam vietnamese
    wales welsh
    africa african africans
    america american americans
    asia asian asians
    """.strip().splitlines()
    for word in line.split()
}
