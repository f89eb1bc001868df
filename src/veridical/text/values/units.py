"""Units of measurement with exact factors to base units."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class MeasureUnit(NamedTuple):
    """A unit: dimension, factor to the base unit, and offset of temperatures."""

    dimension: str
    factor: Fraction
    offset: Fraction = Fraction(0)
    system: str = ""


_INCH = Fraction(254, 10_000)
_POUND = Fraction(45_359_237, 100_000)  # grams
_GALLON = Fraction(3_785_411_784, 10**9)  # litres
_DAY = 86_400
_YEAR = Fraction(31_557_600)

#: dimension: lines of "factor system names"; exact names first, words last.
_TABLE: dict[str, list[tuple[Fraction | int | float, str, str]]] = {
    "mass": [
        (Fraction(1, 10**6), "", "mcg µg microgram micrograms mikrogramm"),
        (Fraction(1, 1000), "", "mg milligram milligrams milligramm"),
        (1, "", "g gram grams gramm gr grammes gramos"),
        (1000, "", "kg kgs kilogram kilograms kilo kilos kilogramm"),
        (10**6, "", "tonne tonnes tonnen tons ton t"),
        (_POUND / 16, "us", "oz ounce ounces"),
        (_POUND, "us", "lb lbs"),
        (_POUND * 14, "us", "stones"),
    ],
    "length": [
        (Fraction(1, 10**9), "", "nm nanometre nanometres nanometer nanometers"),
        (Fraction(1, 10**6), "", "µm micron microns"),
        (Fraction(1, 1000), "", "mm millimetre millimetres millimeter millimeters"),
        (Fraction(1, 100), "", "cm centimetre centimetres centimeter centimeters zentimeter"),
        (1, "", "m metre metres meter meters mètre mètres metros"),
        (1000, "", "km kms kilometre kilometres kilometer kilometers kilomètres kilómetros"),
        (_INCH, "us", "in inch inches zoll"),
        (12 * _INCH, "us", "ft foot feet"),
        (36 * _INCH, "us", "yd yard yards"),
        (63_360 * _INCH, "us", "mi mile miles meilen"),
        (1852, "us", "nmi"),
    ],
    "area": [
        (1, "", "m² m2 sqm"),
        (10**6, "", "km² km2"),
        (10**4, "", "ha hectare hectares hektar"),
        (144 * _INCH * _INCH, "us", "sqft ft² ft2"),
        (63_360 * _INCH * 63_360 * _INCH, "us", "mi²"),
        (Fraction(40_468_564_224, 10**7), "us", "acre acres"),
    ],
    "volume": [
        (Fraction(1, 1000), "", "ml milliliter milliliters millilitre millilitres cm³"),
        (Fraction(1, 100), "", "cl"),
        (Fraction(1, 10), "", "dl"),
        (1, "", "l litre litres liter liters"),
        (100, "", "hl"),
        (1000, "", "m³ m3"),
        (_GALLON, "us", "gal gallon gallons"),
        (_GALLON / 8, "us", "pint pints"),
        (_GALLON / 4, "us", "quart quarts"),
        (42 * _GALLON, "us", "barrel barrels"),
    ],
    "data": [
        (1, "", "byte bytes B"),
        (10**3, "", "kB KB kb kilobyte kilobytes"),
        (10**6, "", "MB mb megabyte megabytes"),
        (10**9, "", "GB gb gigabyte gigabytes"),
        (10**12, "", "TB tb terabyte terabytes"),
        (10**15, "", "PB pb petabyte petabytes"),
        (2**10, "", "KiB kib"),
        (2**20, "", "MiB mib"),
        (2**30, "", "GiB gib"),
        (2**40, "", "TiB tib"),
    ],
    "bits": [
        (10**3, "", "kbit Kbit kbps"),
        (10**6, "", "Mbit mbit Mbps mbps"),
        (10**9, "", "Gbit gbit Gbps gbps"),
    ],
    "time": [
        (Fraction(1, 10**9), "", "ns nanosecond nanoseconds"),
        (Fraction(1, 10**6), "", "µs microsecond microseconds"),
        (Fraction(1, 1000), "", "ms millisecond milliseconds"),
        (1, "", "s sec secs second seconds sekunde sekunden secondes segundos"),
        (60, "", "min mins minute minutes minuten minutos"),
        (3600, "", "h hr hrs hour hours stunde stunden heure heures hora horas uur"),
        (_DAY, "", "day days tag tage tagen jour jours día días dag dagen d"),
        (7 * _DAY, "", "week weeks woche wochen semaine semaines semana semanas wk wks"),
        (14 * _DAY, "", "fortnight fortnights"),
        (_YEAR / 12, "calendar", "month months monat monate monaten mois mes meses mo"),
        (_YEAR / 4, "calendar", "quarters-of-a-year"),
        (_YEAR, "calendar", "year years yr yrs jahr jahre jahren ans année années año años"),
        (10 * _YEAR, "calendar", "decade decades jahrzehnt jahrzehnte"),
        (100 * _YEAR, "calendar", "centuries"),
    ],
    "speed": [
        (1, "", "m/s"),
        (Fraction(1000, 3600), "", "km/h kmh kph"),
        (63_360 * _INCH / 3600, "us", "mph"),
        (Fraction(1852, 3600), "us", "kn knots knot"),
    ],
    "power": [
        (1, "", "W watt watts"),
        (1000, "", "kW kw kilowatt kilowatts"),
        (10**6, "", "MW megawatt megawatts"),
        (10**9, "", "GW gw gigawatt gigawatts"),
        (Fraction(1, 1000), "", "mW"),
        (Fraction(745_699_872, 10**6), "us", "hp"),
    ],
    "energy": [
        (1, "", "J joule joules"),
        (1000, "", "kJ kj"),
        (10**6, "", "MJ"),
        (3600, "", "Wh wh"),
        (3_600_000, "", "kWh kwh"),
        (3_600_000_000, "", "MWh mwh"),
        (3_600_000_000_000, "", "GWh gwh"),
        (Fraction(4184), "us", "kcal Cal calories calorie"),
    ],
    "pressure": [
        (1, "", "Pa pa"),
        (100, "", "hPa hpa mbar"),
        (1000, "", "kPa kpa"),
        (10**5, "", "bar"),
        (Fraction(6894757, 1000), "us", "psi"),
    ],
    "voltage": [(1, "", "V volt volts"), (1000, "", "kV kv"), (Fraction(1, 1000), "", "mV mv")],
    "current": [(1, "", "A amp amps ampere"), (Fraction(1, 1000), "", "mA mah")],
    "charge": [(1, "", "mAh"), (1000, "", "Ah")],
    "frequency": [
        (1, "", "Hz hz hertz"),
        (1000, "", "kHz khz"),
        (10**6, "", "MHz mhz"),
        (10**9, "", "GHz ghz"),
    ],
    "sound": [(1, "", "dB db")],
    "share": [
        (Fraction(1, 100), "", "% percent pct prozent procent pourcent percento"),
        (Fraction(1, 1000), "", "‰ permille promille"),
        (Fraction(1, 10**6), "", "ppm"),
    ],
    "points": [(Fraction(1, 100), "", "percentage-points pp prozentpunkte prozentpunkten")],
    "points-basis": [(Fraction(1, 10_000), "", "bps")],
    "angle": [(1, "", "° degree degrees grad")],
    "latitude": [(1, "", "°N N"), (-1, "", "°S S")],
    "longitude": [(1, "", "°E E"), (-1, "", "°W")],
}  # fmt: skip

UNITS: dict[str, MeasureUnit] = {
    name: MeasureUnit(dimension, Fraction(factor), Fraction(0), system)
    for dimension, lines in _TABLE.items()
    for factor, system, names in lines
    for name in names.split()
}
#: Kelvin is the base of temperatures.
_CELSIUS = MeasureUnit("temperature", Fraction(1), Fraction(27_315, 100))
_FAHRENHEIT = MeasureUnit("temperature", Fraction(5, 9), Fraction(45_967, 100), "us")
UNITS |= dict.fromkeys(("°C", "°c", "℃", "celsius", "centigrade"), _CELSIUS)
UNITS |= dict.fromkeys(("°F", "°f", "℉", "fahrenheit"), _FAHRENHEIT)
UNITS |= {
    "K": MeasureUnit("temperature", Fraction(1)),
    "kelvin": MeasureUnit("temperature", Fraction(1)),
}

#: Units of several words, as parsed after a number.
PHRASES = {
    "percentage points": UNITS["percentage-points"],
    "percentage point": UNITS["percentage-points"],
    "basis points": UNITS["bps"],
    "per cent": UNITS["%"],
    "por ciento": UNITS["%"],
    "pour cent": UNITS["%"],
    "degrees celsius": _CELSIUS,
    "degree celsius": _CELSIUS,
    "degrees centigrade": _CELSIUS,
    "degrees fahrenheit": _FAHRENHEIT,
    "degree fahrenheit": _FAHRENHEIT,
    "grad celsius": _CELSIUS,
    "° c": _CELSIUS,
    "° f": _FAHRENHEIT,
    "kilometres per hour": UNITS["km/h"],
    "kilometers per hour": UNITS["km/h"],
    "km per hour": UNITS["km/h"],
    "miles per hour": UNITS["mph"],
    "metres per second": UNITS["m/s"],
    "meters per second": UNITS["m/s"],
    "square metres": UNITS["m²"],
    "square meters": UNITS["m²"],
    "square kilometres": UNITS["km²"],
    "square kilometers": UNITS["km²"],
    "square feet": UNITS["sqft"],
    "square miles": UNITS["mi²"],
    "cubic metres": UNITS["m³"],
    "cubic meters": UNITS["m³"],
    "nautical miles": UNITS["nmi"],
    "kilowatt hours": UNITS["kWh"],
    "kilowatt-hours": UNITS["kWh"],
    "metric tons": UNITS["tonne"],
}

#: Currencies by notation; cents are a hundredth of an unnamed one.
CURRENCIES: dict[str, str] = {
    name: line.split()[0]
    for line in (
        "USD $ us$ usd dollar dollars bucks",
        "EUR € eur euro euros",
        "GBP £ gbp sterling quid",
        "JPY ¥ jpy yen",
        "CNY cny rmb yuan renminbi 元",
        "INR ₹ inr rs rupee rupees",
        "KRW ₩ krw",
        "RUB ₽ rub ruble rubles roubles",
        "CHF chf fr franc francs franken",
        "CAD c$ cad",
        "AUD a$ aud",
        "NZD nz$ nzd",
        "HKD hk$ hkd",
        "SEK sek kronor",
        "NOK nok kroner",
        "DKK dkk",
        "PLN pln zł zloty",
        "CZK czk kč",
        "MXN mxn peso pesos",
        "BRL brl r$ reais",
        "TRY lira ₺",
        "ILS ₪ ils shekel shekels",
        "crown crown crowns",
        "BTC btc bitcoin",
    )
    for name in line.split()[1:]
}
#: Currencies of several words: "Swiss francs".
CURRENCY_PHRASES = {
    f"{country} {name}{plural}": code
    for code, country, name in (
        *(("USD", country, "dollar") for country in ("us", "u.s.", "american")),
        ("CAD", "canadian", "dollar"),
        ("AUD", "australian", "dollar"),
        ("NZD", "new zealand", "dollar"),
        ("HKD", "hong kong", "dollar"),
        ("CHF", "swiss", "franc"),
        ("GBP", "british", "pound"),
        ("GBP", "pounds", "sterling"),
        ("JPY", "japanese", "yen"),
        ("CNY", "chinese", "yuan"),
        ("INR", "indian", "rupee"),
        ("MXN", "mexican", "peso"),
        ("TRY", "turkish", "lira"),
        ("SEK", "swedish", "krona"),
        ("SEK", "swedish", "kronor"),
        ("NOK", "norwegian", "krone"),
        ("NOK", "norwegian", "kroner"),
        ("DKK", "danish", "krone"),
        ("DKK", "danish", "kroner"),
    )
    for plural in ("", "s")
}
CENTS = frozenset(["cent", "cents", "¢", "ct", "pence"])
#: Notations of a currency or unit with two readings.
POUNDS = frozenset(["pound", "pounds"])
#: Names of periods that a rate may be per.
PERIODS = {
    name: line.split()[0]
    for line in (
        "second s sec second sekunde seconde",
        "minute min minute",
        "hour h hr hour hours stunde heure hora",
        "day d day days daily tag jour día",
        "night night nights nightly nacht nuit",
        "week week weeks weekly wk woche semaine semana",
        "month month months monthly mo monat mois mes",
        "quarter quarter quarterly quartal",
        "year year years yearly annually yr jahr an année año annum",
    )
    for name in line.split()[1:]
}
