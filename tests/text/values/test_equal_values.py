"""Pairs of values that are equal, or not, as arithmetic tells."""

from __future__ import annotations

import pytest

from veridical.text.values.places import placed
from veridical.text.values.read import values_of
from veridical.text.values.sources import SourceValues
from veridical.text.values.value import Value

EQUAL = """
1,200 | 1200
1,200 | 1 200
1,200 | 1.2k
1,200 | 1.2 thousand
1,200 | twelve hundred
1,200 | one thousand two hundred
12 | a dozen
24 | two dozen
42 | forty-two
105 | one hundred and five
1,000,000 | a million
2,500,000 | 2.5 million
2,500,000 | two and a half million
500,000 | half a million
1,250,000 | one and a quarter million
3,000,000,000 | 3bn
3,000,000,000 | 3 billion
250,000 | 2.5 lakh
30,000,000 | 3 crore
1,234,567 | 12,34,567
1,234,567 | 1.234.567
1,234,567 | 1'234'567
1,234.50 | 1.234,50
0.75 | .75
0.75 | three quarters
0.5 | ½
2.5 | 2½
1.5 | one and a half
1/4 | a quarter of
2/3 | two thirds
2/4 | 1/2
-3/4 | -0.75
-3/4 | minus three quarters
47 % | 47 percent
47 % | 47 per cent
47 % | 0.47
47 % | .47
47 % | 47%
25 % | a quarter of
25 % | 1/4
50 % | half of the
20 % | a fifth of
60 % | three fifths
20 % | one in five
40 % | two out of five
0.3 % | 3 ‰
5 kg | 5000 g
5 kg | 5 kilograms
5 kg | five kilos
2 t | 2,000 kg
500 mg | 0.5 g
500 mcg | 0.5 mg
500 µg | 0.5 mg
3 km | 3000 m
3 km | 3 kilometres
2 m | 200 cm
10 miles | 16.09 km
10 miles | about 16 km
6 feet | 1.83 m
5 feet 10 inches | 5'10"
5'10" | 178 cm
1 lb | 454 g
16 oz | 1 lb
2 l | 2000 ml
2 l | two litres
1 gallon | 3.785 litres
1 ha | 10,000 m²
2 GB | 2000 MB
1.5 TB | 1,500 GB
100 °C | 212 °F
0 °C | 32 °F
-40 °C | -40 °F
20 °C | 20 degrees Celsius
20 °C | 20 degrees
minus 5 °C | -5 °C
100 km/h | 62.1 mph
36 km/h | 10 m/s
1 kWh | 3.6 MJ
2 kW | 2000 W
1 bar | 1000 hPa
2.4 GHz | 2400 MHz
120 minutes | two hours
90 minutes | 1.5 hours
90 minutes | an hour and a half
90 minutes | 1 hour and 30 minutes
30 minutes | half an hour
15 minutes | a quarter of an hour
24 months | two years
12 months | one year
36 hours | 1.5 days
2 weeks | 14 days
1 fortnight | 14 days
10 years | one decade
3.5 h | three and a half hours
2 h 15 min | 135 minutes
$25 | 25 dollars
$25 | USD 25.00
$25 | 25 USD
€30 | 30 euros
€30 | EUR 30
€1.234,50 | 1234.50 euros
£500,000 | half a million pounds
20 cents | $0.20
20 cents | 0.20 dollars
$1.5M | $1,500,000
$1.5 million | 1,500,000 dollars
EUR 310 million | EUR 0.31 billion
¥1,000 | 1000 yen
$20/month | $20 per month
$20 a month | 20 dollars per month
15:00 | 3 pm
14:30 | 2:30 pm
14:30 | 14.30 Uhr
14:00 | 14 Uhr
00:30 | 12:30 am
12:00 | noon
0:00 | midnight
9 am | 9:00
10 p.m. | 22:00
January 15, 1967 | 1967-01-15
January 15, 1967 | 15 January 1967
January 15, 1967 | 15.01.1967
January 15, 1967 | 01/15/1967
January 15, 1967 | Jan 15, 1967
January 15, 1967 | 15th of January 1967
January 15, 1967 | 15. Januar 1967
January 15, 1967 | 15 janvier 1967
January 15, 1967 | 15 de enero de 1967
March 3 | 3 March
the 1960s | the 1960's
the 19th century | the nineteenth century
300 BC | 300 BCE
AD 300 | 300 AD
2017 to 2021 | 2017-2021
2017 to 2021 | 2017–2021
the twenty-third of September 1942 | 23 September 1942
2nd | second
24th | twenty-fourth
24th | XXIV
chapter 4 | chapter IV
3:1 | 3 : 1
3 to 5 percent | 3-5%
3 to 5 percent | between three and five percent
3–5 kg | 3 to 5 kg
twice a day | two times a day
version 4.2.1 | v4.2.1
52.5 N | 52.5° N
５７ m | 57 m
٥٧ | 57
१२ | 12
57 ｍ | 57 m
1e6 | 1,000,000
10^6 | 1,000,000
1.5×10^6 | 1,500,000
10⁶ | 1,000,000
1,5 Mio. Euro | 1.5 million euros
20 Prozent | 20%
3 Jahre | 3 years
5 万 | 50,000
A320 | a320
"""

#: What a statement says less precisely than the source.
WITHIN = """
in 1967 | January 15, 1967
January 1967 | January 15, 1967
the 1960s | January 15, 1967
in 2018 | from 2017 to 2021
the 1960s | 1967
about 16 km | 10 miles
about five terabytes | 4,998 GB
almost 5 terabytes | 4,998 GB
roughly 1.2 million | 1,234,567
1.2 million | 1,234,567
some 4,400 | 4,430
more than 2,000 | 2,150
over 2,000 | more than 2,000
at least 18 | 18
"""

UNEQUAL = """
1,200 | 12,000
1,200 | 120
1,200 | 2,100
1,200 | twelve thousand
42 | 24
7 | 8
5.3 mg | 3.5 mg
2.4 | 4.2
2.4 | 0.24
2.4 | 24
2.45 | 2.54
1.5 | 15
61,800 | 61,500
5 mg | 5 g
5 mg | 5 mcg
5 mg | 5 ml
5 kg | 500 g
5 kg | 5 lb
3 km | 3 miles
3 km | 300 m
40 litres | 40 gallons
2 GB | 20 MB
2 GB | 2 GiB
350 °C | 350 °F
-25 °C | 25 °C
minus 3 | 3
100 mph | 100 km/h
5 kW | 5 kWh
60 | 60 %
6 % | 60 %
0.6 % | 60 %
40 % | 1/4
5 percent | 5 percentage points
two fifths | 60 %
a third of | a quarter of
a half of | 25 %
3 days | 3 hours
three hours | 120 minutes
half an hour | 90 minutes
four years | 24 months
2 weeks | 10 days
$25 | €25
$25 | $52
20 cents | 20 dollars
$5 million | $5 billion
$5 million | $5 thousand
1,234.50 euros | 1,243.50 euros
$3,000 a year | $3,000 a month
twice a week | twice a day
once a day | twice a day
3 million | 3 billion
310 thousand | 310 million
10 am | 10 pm
13:00 | 3 pm
4:30 pm | 14:30
12:30 | 12:03
noon | midnight
January 15, 1967 | January 16, 1967
January 15, 1967 | June 15, 1967
January 15, 1967 | 1976-01-15
5 March 2021 | 03.05.2021
May 3 | March 5
the 1970s | January 15, 1967
the 19th century | the 18th century
1967 | 1976
2019 | 2019 BC
300 AD | 300 BC
in 2022 | from 2017 to 2021
2016 to 2021 | 2017 to 2021
3rd | 2nd
third | second
chapter 6 | chapter IV
1:3 | 3:1
2-1 | 1-2
80/120 | 120/80
3/2 | 2/3
4/3 | 3/4
-3/4 | 3/4
-3/4 | 0.75
three of two | two of three
2 out of 5 | 3 out of 5
5 to 8 percent | 3 to 5 percent
from 40 to 50 million | from 50 to 40 million
version 4.1.2 | version 4.2.1
v3.2 | v2.3
13.4 N | 52.5 N
52.5 S | 52.5 N
above 25 °C | below 25 °C
at least 18 | at most 18
less than 10 | more than 10
10^6 | 10^9
1e6 | 1e9
1/3 | 1/2
1 in 5 | 1 in 4
７０ m | 57 m
A320 | A330
14C | 9F
"""


def pairs(table: str) -> list[tuple[str, str]]:
    lines = (line.split(" | ") for line in table.strip().splitlines())
    return [(one, other) for one, other in lines]


def agree(statement: str, source: str) -> bool:
    """Whether a source with the second value states the first."""
    read = SourceValues([f"It was {source} there."])
    text = f"It was {statement} there."
    outer: list[Value] = []
    for value in placed(text).values:
        if not outer or value.start >= outer[-1].end:
            outer.append(value)
    assert outer, text
    return all(read.equals(value, text) for value in outer)


@pytest.mark.parametrize(("one", "other"), pairs(EQUAL))
def test_equal_in_every_form(one: str, other: str) -> None:
    assert agree(one, other)
    assert agree(other, one)


@pytest.mark.parametrize(("less", "more"), pairs(WITHIN))
def test_a_less_precise_value_is_in_the_source(less: str, more: str) -> None:
    assert agree(less, more)


@pytest.mark.parametrize(("one", "other"), pairs(UNEQUAL))
def test_unequal_although_the_digits_may_be_the_same(one: str, other: str) -> None:
    assert not agree(one, other)
    assert not agree(other, one)


def test_a_precise_value_is_not_in_a_vague_source() -> None:
    assert not agree("January 15, 1967", "in 1967")
    assert not agree("1967", "the 1970s")
    assert not agree("1,234,567", "1.2 million")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("She ranked 10 in 1968.", ["10", "1968"]),
        ("It grew by 3 in 2 years.", ["3", "2 years"]),
        ("The board is 10 in wide.", ["10"]),
        ("The board is 10 in.", ["10 in"]),
        ("The board is 10 in, and 2 in thick.", ["10 in", "2"]),
    ],
)
def test_in_before_a_figure_is_no_inch(text: str, places: list[str]) -> None:
    assert [text[v.start : v.end] for v in values_of(text)] == places


def test_places_are_those_of_the_text() -> None:
    text = "At 3 pm, ５ kg of salt (€1.50) were sold; ٣ boxes are left."
    slices = [text[v.start : v.end] for v in values_of(text)]
    assert slices == ["3 pm", "５ kg", "€1.50", "٣"]
