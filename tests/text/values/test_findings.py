"""Findings: values of a right and a wrong statement against the same source."""

from __future__ import annotations

import random

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.values.compare import findings
from veridical.text.values.finding import Status, ValueFinding
from veridical.text.values.order import turned_round
from veridical.text.values.places import placed
from veridical.text.values.read import values_of

CSV = "Boat,Seats,Price\nHeron,4,$120\nPike,6,$180\nSwan,2,$75"
MARKDOWN = "| Boat | Seats | Price |\n|---|---|---|\n| Heron | 4 | €120 |\n| Pike | 6 | €180 |"
HTML = (
    "<table><tr><th>Boat</th><th>Price</th></tr><tr><td>Heron</td><td>$120</td></tr>"
    "<tr><td>Pike</td><td>$180</td></tr></table>"
)
JSON = (
    '{"sensors": [{"name": "attic", "temp_c": 31.5, "battery": 0.84},'
    ' {"name": "cellar", "temp_c": 12.0, "battery": 0.31}], "count": 2}'
)
SHOP = "In 2019 the press printed 400 maps and in 2020 it printed 500. A map costs 30 euros."

PLANS = "Plan A costs 10 euros a month and plan B costs 25 euros a month."
OPTIONS = "Option 1 costs 40 euros and option 2 costs 70 euros."
VITAMINS = "Vitamin A: 900 mg. Vitamin B: 1200 mg."
TICKETS = "Five tickets cost 60 euros."
TRIP = "The train covers 180 km in 3 hours."
SPEAKERS = (
    "The speakers are Ann Lee (Ulm), Bo Lund and Dr. Cy Marsh, who all live nearby. It rained."
)
REVENUE = "Revenue was 4.2 million euros in 2022 and 5.1 million euros in 2023."
INVOICE = "Hosting 3 x 40.00\nSupport 1 x 75.50\nVAT 20%"
ORDER = "Order 1182: 1 x lamp (24.50 EUR), 2 × bulb, €17.00 each. Shipping is free."
ONE_GUEST = "Members may bring one guest per visit."
FEES = "Entry fee: CHF 14.50. Audio guide: EUR 3. Season card: C$80 (US$58)."
LEDGER = (
    "Result by branch (in thousand EUR)\n             2023     2022\nShops       1,480    1,510\n"
    "Online       (640)      95"
)
REPORT = "Sales were SEK 3,120 million (2,960). The year before is in brackets."
HALVES = "Income: 7.4 m€, of which 1.2 m€ from rent."
CONFIG = "pool:\n  timeout_s: 45\n  keep_days: 21\n  max_kb: 512"
OPTIONS_OF_CALL = "`waitTimeout` (ms, default 4000) and `maxRetries` (default 4)."
BILL = "Repair, 3 h @ 60.00 ..... 180.00\nParts ............... 22.40\nTotal EUR .......... 202.40"
BERTHS = (
    "SHIP            FLAG   LENGTH   BERTH\nORKA            NOR     84.0    K2\n"
    "KITE            DNK    121.5    K7"
)
DRUGS = (
    '[{"drug": "Elvan", "form": "tablet", "dose_mg": 8, "time": "evening"},'
    ' {"drug": "Torrin", "form": "drops", "dose_mg": 20, "time": "morning"}]'
)
CHAT = "Ann: I paid the taxi, 48 €\nBo: sent you 24"
PHONES = "Orders: 0221 555 718. Repairs: 0221 555 781."
LOG = "04:12:09 ERROR disk full\n04:12:55 INFO retry ok, size=96GB"
VISITS = "2021: 41,200 visitors. 2022: 52,900 visitors."
PEOPLE = "name,age\nAnn,31\nBo,45\nCy,28"

#: Source, question, right statement, wrong statement.
PAIRS = [
    ("The raft weighs 8.4 kg.", "", "The raft weighs 8400 g.", "The raft weighs 4.8 kg."),
    ("The dose is 20 mg a day.", "", "The dose is 20 mg daily.", "The dose is 20 g a day."),
    ("The hall seats 3,150 people.", "", "It seats 3150 people.", "It seats 3,510 people."),
    ("Rent rose by 3 %.", "", "Rent rose by 3 percent.", "Rent rose by 3 percentage points."),
    ("The shop opens at 9 am.", "When does it open?", "At 9:00.", "At 9 pm."),
    ("Keep it below 8 °C.", "", "Keep it below 8 °C.", "Keep it above 8 °C."),
    ("Keep it below 8 °C.", "", "Keep it below 8 degrees.", "Keep it below -8 °C."),
    ("Ulm beat Bonn 4-2.", "", "Bonn lost 2-4 to Ulm.", "Ulm beat Bonn 2-4."),
    ("The ratio of sand to lime is 3:1.", "", "Sand to lime is 3:1.", "Sand to lime is 1:3."),
    ("Output fell from 90 to 70 tonnes.", "", "Output fell from 90 to 70 tonnes.",
     "Output fell from 70 to 90 tonnes."),
    ("Girls ate 12 plums and boys 9.", "", "Boys ate 9 plums and girls 12.",
     "Girls ate 9 plums and boys 12."),
    ("The old mill burned in 1811, the new one in 1902.", "", "The new mill burned in 1902.",
     "The new mill burned in 1811."),
    ("Tin costs 4 and zinc 9 dollars a pound.", "", "Zinc costs 9 dollars a pound.",
     "Tin costs 9 and zinc 4 dollars a pound."),
    ("Lead melts at 327 °C and boils at 1749 °C.", "", "Lead boils at 1749 °C.",
     "Lead boils at 327 °C."),
    ("Fibre: 6 g; fat: 2.5 g.", "", "It has 2.5 g of fat.", "It has 6 g of fat."),
    (CSV, "What does a boat cost?", "The Pike costs $180.", "The Pike costs $75."),
    (CSV, "", "The Swan has 2 seats.", "The Swan has 6 seats."),
    (CSV, "", "There are three boats.", "There are five boats."),
    (MARKDOWN, "", "The Heron costs €120.", "The Heron costs €180."),
    (HTML, "", "The Pike costs $180.", "The Pike costs $120."),
    (FEES, "", "Entry costs 14.50 Swiss francs.", "Entry costs 14.50 euros."),
    (FEES, "", "The season card is 80 Canadian dollars.", "It is 85 Canadian dollars."),
    (LEDGER, "", "Online lost 640 thousand euros in 2023.",
     "Online lost 650 thousand euros in 2023."),
    (LEDGER, "", "The shops made 1.48 million euros in 2023.",
     "The shops made 1.84 million euros in 2023."),
    (REPORT, "", "Sales rose from SEK 2.96 billion a year earlier.",
     "Sales rose from SEK 2.69 billion a year earlier."),
    (HALVES, "", "Income was 7.4 million euros, with 1.2 million from rent.",
     "Income was 7.4 million euros, with 2.1 million from rent."),
    (CONFIG, "", "The timeout is 45 seconds.", "The timeout is 54 seconds."),
    (CONFIG, "", "Backups are kept for three weeks.", "Backups are kept for four weeks."),
    (OPTIONS_OF_CALL, "", "It waits 4 seconds.", "It waits 40 seconds."),
    (BILL, "", "The total is €202.40.", "The total is €204.20."),
    (BERTHS, "", "The Kite is 121.5 m long.", "The Kite is 84 m long."),
    (DRUGS, "", "Elvan is taken at 8 mg.", "Elvan is taken at 20 mg."),
    (CHAT, "", "Bo sent 24 €.", "Bo sent 42 €."),
    (PHONES, "", "For repairs call +49 221 555781.", "For repairs call +49 221 555187."),
    (LOG, "", "The disk was full at 04:12.", "The disk was full at 04:21."),
    (VISITS, "", "In 2022 there were 52,900 visitors.", "In 2022 there were 41,200 visitors."),
    ("The course is for children from 3 to 7 years.", "", "From the age of 3 children may join.",
     "From the age of 5 children may join."),
    ("Do not store it for more than 6 days.", "", "Store it for no longer than 6 days.",
     "Store it for no longer than 9 days."),
    ("The balance of the lake was minus 1.3 metres.", "", "The lake lost 1.3 metres.",
     "The lake lost 3.1 metres."),
    ("Loans (in thousands of USD)\nShort-term: 31,400\nLong-term: 88,200", "",
     "Long-term loans are $88.2 million.", "Long-term loans are $82.8 million."),
    ("Notice: ninety (90) days' notice is required.", "", "It takes 90 days' notice.",
     "It takes 60 days' notice."),
    ("Up to four unused days may be kept.", "", "At most 4 days may be kept.",
     "At most 6 days may be kept."),
    ("Mia Roos won in 2:31:08.", "", "She needed 2 hours, 31 minutes and 8 seconds.",
     "She needed 2 hours, 13 minutes and 8 seconds."),
    ("4. Pets. Dogs are allowed.\n5. Noise. Quiet hours begin at ten.", "",
     "Clause 4 allows dogs.", "Clause 9 allows dogs."),
    ("Goals: Lund 14', Marsh 62'.", "", "Marsh scored in the 62nd minute.",
     "Marsh scored in the 26th minute."),
    ("Glass: 5 and 19 May. Paper: 12 May.", "", "Paper is collected on the 12th.",
     "Paper is collected on the 21st."),
    ("Saturday: 6:20, then hourly until 22:50\nMonday: 5:40, last bus 23:05", "",
     "On Monday the last bus leaves at 23:05.", "On Monday the last bus leaves at 22:50."),
    ("Do not use it for more than 4 days.", "", "Do not go on beyond 4 days.",
     "Do not go on beyond 9 days."),
    ("Fees in EUR\n| | Basic | Gold |\n|---|---|---|\n| Monthly fee | 0.00 | 6.50 |", "",
     "With Gold you pay €6.50 a month, so €78.00 a year.",
     "With Gold you pay €6.50 a month, so €87.00 a year."),
    ("shop,month,sales\nElm,2024-05,300\nOak,2024-05,410", "", "In May 2024 Oak sold 410.",
     "In June 2024 Oak sold 410."),
    ("Repairs cost £64,000, of which the county pays half.", "", "The county pays £32,000.",
     "The county pays £36,000."),
    ("Children under 12 are free.", "", "Under-12s are free.", "Under-14s are free."),
    ("Hand it in at least 15 days before departure.", "",
     "Hand it in no later than 15 days before you leave.",
     "Hand it in no later than 10 days before you leave."),
    ("An insurance is needed, also for a single day.", "", "It is needed for one day.",
     "It is needed for twelve days."),
    ("Children 4 to 9 years: 5 ml.", "", "Children aged 4 to 9 get 5 ml.",
     "Children aged 4 to 7 get 5 ml."),
    ("The margin was 6.5 percent (8.1).", "", "The margin fell from 8.1% to 6.5%.",
     "The margin fell from 8.3% to 6.5%."),
    ("Tyre pressures, bar\nFront 2.3, rear 2.6", "", "The front needs 2.3 bar.",
     "The front needs 3.2 bar."),
    ("School groups rose to 512 (2023: 470).", "", "School groups went up by 42 to 512.",
     "School groups went up by 24 to 512."),
    ("v2.4 (Feb 2023): dark mode as a beta. v2.6 (Aug 2023): dark mode by default.", "",
     "Dark mode came as a beta in v2.4 (February 2023) and by default in v2.6.",
     "Dark mode came as a beta in v2.4 (March 2023) and by default in v2.6."),
    ("Weekly of line 2 — 9 October", "", "It is dated 9 October.", "It is dated 6 October."),
    ("3,000 cards A5 and 50 posters A2 were sent.", "", "50 A2 posters were sent.",
     "60 A2 posters were sent."),
    ("Die Sitzung entfällt am Montag, dem 17.11.; danach wie immer.", "",
     "Am 17. November ist keine Sitzung.", "Am 18. November ist keine Sitzung."),
    (JSON, "How warm is the cellar?", "The cellar has 12 °C.", "The cellar has 31.5 °C."),
    (JSON, "", "The attic battery is at 84 %.", "The attic battery is at 31 %."),
    (SHOP, "", "Sales rose by 25 % from 2019 to 2020.", "Sales rose by 35 % from 2019 to 2020."),
    (SHOP, "", "In both years together it printed 900 maps.",
     "In both years together it printed 950 maps."),
    (SHOP, "", "Three maps cost 90 euros.", "Three maps cost 80 euros."),
    (SHOP, "", "It printed 100 more maps in 2020.", "It printed 150 more maps in 2020."),
    ("Ada was born in 1815 and died in 1852.", "How old did Ada get?", "She lived 37 years.",
     "She lived 47 years."),
    ("The bus leaves at 10:40 and arrives at 13:10.", "How long is the trip?",
     "The trip takes two and a half hours.", "The trip takes three and a half hours."),
    ("Der Bau begann am 5. März 2021.", "", "Der Bau begann am 05.03.2021.",
     "Der Bau begann am 3. Mai 2021."),
    ("Le billet coûte 12,50 €.", "", "Le billet coûte 12.50 euros.", "Le billet coûte 15,20 €."),
    ("塔の高さは333mです。", "", "塔の高さは333mです。", "塔の高さは533mです。"),
    ("The film lasts 45 minutes.", "", "The film lasts three quarters of an hour.",
     "The film lasts a quarter of an hour."),
    ("Ivo Lenk, 34, won the race.", "How old is Ivo?", "He is 34 years old.",
     "He is 43 years old."),
    ("The 34-year-old won the race.", "", "Ivo, aged 34, won the race.",
     "Ivo, aged 43, won the race."),
    ("Rome has 2.8 million people.", "", "Rome has **2.8** million people.",
     "Rome has **8.2** million people."),
    ("The gate opens at _9 am_ on Monday.", "", "The gate opens at 9 am on Monday.",
     "The gate opens at 9 pm on Monday."),
    ("Theft is covered up to two percent of the insured sum. The insured sum is 40,000 euros.", "",
     "Theft is covered up to 800 euros, two percent of the insured sum.",
     "Theft is covered up to 900 euros, two percent of the insured sum."),
    ("You may leave after two hours at the earliest.", "", "Do not leave before two hours.",
     "You may leave after two hours at the latest."),
    ("Bags of up to 5 kg are free.", "", "Bags of up to 5 kg are free.",
     "Bags of up to 5.5 kg are free."),
    ("Bags of 5 kg or less are free.", "", "Bags of up to 5 kg are free.",
     "Bags of 5 kg or more are free."),
    ("The concert is on 04/07/2025 (day/month/year).", "", "The concert is on 4 July 2025.",
     "The concert is on 7 April 2025."),
    ("The raft weighs 8 kg. The boat weighs 12 kg.", "", "The boat weighs 12 kg.",
     "The raft weighs 12 kg."),
    (PLANS, "", "Plan A costs 10 euros a month.", "Plan A costs 25 euros a month."),
    (PLANS, "", "Plan B costs 25 euros a month.", "Plan B costs 10 euros a month."),
    (PLANS, "", "plan A costs 10, plan B 25", "plan A costs 25, plan B 10"),
    (PLANS, "", "It costs 25 euros with plan **B**.", "It costs 10 euros with plan **B**."),
    ("Group A scored 61 points and group B scored 48 points.", "",
     "Group A scored 61 and group B 48 points.", "Group A scored 48 and group B 61 points."),
    (OPTIONS, "", "Option 1 costs 40 euros.", "Option 1 costs 70 euros."),
    (OPTIONS, "", "Option 1 costs 40 and option 2 70 euros.",
     "Option 1 costs 70 and option 2 40 euros."),
    ("Sample 1 weighs 40 g and sample 2 weighs 70 g.", "", "Sample 2 weighs 70 g.",
     "Sample 2 weighs 40 g."),
    (VITAMINS, "", "Vitamin A: 900 mg.", "Vitamin A: 1200 mg."),
    (VITAMINS, "", "You get 1200 mg of vitamin B.", "You get 900 mg of vitamin B."),
    ("Plan,Price,Seats\nA,10,5\nB,25,40", "", "Plan A costs 10 euros.", "Plan A costs 25 euros."),
    ("Plan,Price,Seats\nA,10,5\nB,25,40", "", "Plan B has 40 seats.", "Plan B has 5 seats."),
    ("Plan,Price\nPlan A,10 euros\nPlan B,25 euros", "", "Plan B costs 25 euros.",
     "Plan B costs 10 euros."),
    ("| Option | Members |\n|---|---|\n| Option 1 | 12 |\n| Option 2 | 30 |", "",
     "Option 2 has 30 members.", "Option 2 has 12 members."),
    ("| Team | Won |\n|---|---|\n| 1 | 3 |\n| 2 | 7 |", "", "Team 1 won 3 games.",
     "Team 1 won 7 games."),
    ("<table><tr><th>Zone</th><th>Fare</th></tr><tr><td>A</td><td>4</td></tr>"
     "<tr><td>B</td><td>7</td></tr></table>", "", "Zone A costs 4 euros.", "Zone A costs 7 euros."),
    ('[{"plan": "A", "price": 10}, {"plan": "B", "price": 25}]', "", "Plan A costs 10 euros.",
     "Plan A costs 25 euros."),
    ('{"plan_a": {"price": 10}, "plan_b": {"price": 25}}', "", "Plan B costs 25 euros.",
     "Plan B costs 10 euros."),
    ("Last year I walked 30 km and Ann walked 40 km.", "", "I walked 30 km last year.",
     "I walked 50 km last year."),
    ("You can plan a trip of 3 days. It costs a lot: 300 euros.", "",
     "Plan A Trip of 3 days: it costs 300 euros.", "Plan a trip of 4 days: it costs 300 euros."),
    ("A map costs 30 euros. Two shops sell it.", "", "A map costs 30 euros.",
     "A map costs 15 euros."),
    (JSON, "", "There are two sensors.", "There are 5 sensors."),
    ("The 2 winners are tired, hungry and cold.", "", "There are 2 winners.",
     "There are 3 winners."),
    (PEOPLE, "", "Ann is 31.", "Ann has 3 children."),
]  # fmt: skip


def found(statement: str, source: str, question: str = "") -> list[ValueFinding]:
    spans = placed(statement).sentences()
    return [f for span in spans for f in findings(statement, span, question, (source,))]


@pytest.mark.parametrize(("source", "question", "right", "wrong"), PAIRS)
def test_right_values_are_found_and_wrong_ones_are_not(
    source: str, question: str, right: str, wrong: str
) -> None:
    statuses = [f.status for f in found(right, source, question)]
    assert statuses and set(statuses) <= {"found", "computed", "open"}
    assert {f.status for f in found(wrong, source, question)} & {"wrong", "absent"}


@pytest.mark.parametrize(
    ("source", "right", "derivation", "wrong"),
    [
        (SHOP, "In both years together it printed 900 maps.", "400 + 500 = 900",
         "In both years together it printed 800 maps."),
        (SHOP, "It printed 100 more maps in 2020.", "500 - 400 = 100",
         "It printed 200 more maps in 2020."),
        (SHOP, "Three maps cost 90 euros.", "30 euros * Three = 90", "Three maps cost 70 euros."),
        (TICKETS, "A ticket costs 12 euros.", "60 euros / Five = 12", "A ticket costs 13 euros."),
        (TICKETS, "One ticket costs 12 euros.", "60 euros / Five = 12",
         "One ticket costs 5 euros."),
        ("The bus costs 600 euros for 12 people.", "That is 50 euros a person.",
         "600 euros / 12 = 50", "That is 40 euros a person."),
        (TRIP, "The train runs at 60 km/h.", "180 km / 3 hours = 60",
         "The train runs at 70 km/h."),
        (TRIP, "It runs at 37.3 mph.", "180 km / 3 hours = 37.3", "It runs at 38.3 mph."),
        ("The train runs at 60 km/h for 3 hours.", "It covers 180 km.", "60 km/h * 3 hours = 180",
         "It covers 190 km."),
        ("The train covers 180 km at 60 km/h.", "The trip takes 3 hours.",
         "180 km / 60 km/h = 3", "The trip takes 4 hours."),
        ("The lamp of 60 W burns 5 hours.", "It uses 0.3 kWh.", "60 W * 5 hours = 0.3",
         "It uses 0.4 kWh."),
        ("A seat costs 12 euros a month. The team needs 30 seats.", "It pays 360 euros.",
         "30 * 12 euros a month = 360", "It pays 350 euros."),
        ("A seat costs 12 euros a month. The team needs 30 seats.", "30 seats cost 360.",
         "30 * 12 euros a month = 360", "30 seats cost 350."),
        ("The fee is 12 a month; there are 30 users.", "In total 360.", "30 * 12 a month = 360",
         "In total 350."),
        ("You take 20 mg a day for 7 days.", "You get 140 mg in all.", "20 mg a day * 7 days = 140",
         "You get 120 mg in all."),
        (SPEAKERS, "There are 3 speakers.", "count of items = 3", "There are 4 speakers."),
        ("The pass costs €32 a month, and once €17 to join.",
         "Over twelve months: 12 × €32 plus €17, which is €401.", "12 * €32 + €17 = 401",
         "Over twelve months: 12 × €32 plus €17, which is €411."),
        ("To Elm it is 19 min by bus. From Elm the S4 takes 17 min.",
         "The bus takes 19 min and the S4 17 min. That is 36 minutes.", "19 min + 17 min = 36",
         "The bus takes 19 min and the S4 17 min. That is 46 minutes."),
        ("Rank;Name;Time\n1;Ida Holm;36:20\n2;Ada Roy;36:41", "Ida Holm won, 21 seconds ahead.",
         "36:41 - 36:20 = 21 seconds", "Ida Holm won, 12 seconds ahead."),
        ("Mail of Wed 5 March: it is due by Friday.", "It is due on Friday (7 March).",
         "5 March + 2 days = 07 March", "It is due on Friday (14 March)."),
        ("Date: 21.06.2023\nPayable within 14 days.", "It is due by 5 July 2023.",
         "21.06.2023 + 14 days = 05 July", "It is due by 15 July 2023."),
        ("Serves 4: 2 leeks, 300 g rice.", "For 12 people take 6 leeks.", "2 * 12 / 4 = 6",
         "For 12 people take 8 leeks."),
        ("Dep. 21:40. Travel time: 35 minutes.",
         "It leaves at 21:40 and arrives 35 minutes later, around 22:15.",
         "21:40 + 35 minutes = 22:15", "It leaves at 21:40 and arrives around 22:45."),
        ("The bill of 4 May is due within 20 days net.", "It is due on 24 May.",
         "4 May + 20 days = 24 May", "It is due on 27 May."),
        ("The menu is in Dutch, Polish, Greek and Welsh.", "The menu is in four languages.",
         "count of names = 4", "The menu is in six languages."),
        (VISITS, "There were 11,700 more visitors in 2022 than in 2021 (52,900 and 41,200).",
         "52,900 - 41,200 = 11,700", "There were 11,900 more visitors in 2022 than in 2021."),
        ("mysql> SELECT count(*) FROM t;\n2210\nmysql> SELECT count(*) FROM t WHERE a;\n2140",
         "70 rows have none (2,210 rows, 2,140 with one).", "2,210 - 2,140 = 70",
         "80 rows have none (2,210 rows, 2,140 with one)."),
        ("The house has 180 rooms. Sixty of them face the sea.",
         "A third of the rooms: 60 out of 180 face the sea.", "60 / 180 = 0.333333",
         "A quarter of the rooms: 60 out of 180 face the sea."),
        ("Ada Voss, born 20 May 1950 in Ulm. On 3 March 1990 she won the Elm Prize.",
         "She was 39 years old when she won.", "3 March 1990 - 20 May 1950 = 39 years",
         "She was 40 years old when she won."),
        ("The gate was shut on 4 June at 22:00. It was opened on 6 June at 07:00.",
         "The gate was shut for 33 hours.", "6 June 07:00 - 4 June 22:00 = 33 hours",
         "The gate was shut for 35 hours."),
        ("On 28 May she left. Ten days later she was back.", "She was back on 7 June.",
         "28 May + Ten days = 07 June", "She was back on 9 June."),
        ("The call is at 13:30 UTC. Oslo is on CEST (UTC+2).", "In Oslo the call is at 15:30.",
         "13:30 + 2:00 = 15:30", "In Oslo the call is at 11:30."),
        ("Speakers: Ann, Bo, Cy", "It has 3 speakers.", "count of items = 3",
         "It has 4 speakers."),
        ("Speakers:\n- Ann Lee\n- Bo Lund\n\nBread:\n- rye", "There are 2 speakers.",
         "count of items = 2", "There are 3 speakers."),
        ('{"speakers": ["Ann", "Bo", "Cy"], "room": 12}', "There are 3 speakers.",
         "count of items = 3", "There are 4 speakers."),
        (PEOPLE, "There are 3 people.", "count of rows = 3", "There are 4 people."),
        (PEOPLE, "The table lists 3 people.", "count of rows = 3", "The table lists 4 people."),
        ('[{"boat": "Heron", "seats": 4}, {"boat": "Pike", "seats": 6}]', "There are 2 boats.",
         "count of rows = 2", "There are 5 boats."),
    ],
)  # fmt: skip
def test_computed_values_have_a_derivation(
    source: str, right: str, derivation: str, wrong: str
) -> None:
    assert derivation in [f.computed for f in found(right, source)]
    assert {f.status for f in found(wrong, source)} & {"wrong", "absent"}


def test_the_number_of_a_source_is_no_figure() -> None:
    (number, hours) = found("According to document 2, it opens at 9 am.", "It opens at 9 am.")
    assert (number.status, hours.status) == ("open", "found")


def test_a_number_without_its_unit_is_found_where_none_is_in_its_place() -> None:
    steps = "Bake it for 50 minutes, the first ten at 240 degrees."
    assert [f.status for f in found("Turn it down after ten minutes.", steps)] == ["found"]
    assert [f.status for f in found("Turn it down after 12 minutes.", steps)] != ["found"]


def test_a_figure_in_parentheses_belongs_to_the_clause_before_it() -> None:
    source = "Tarn 3, Esk 1. Tarn led when Ibo shot (27'), and were never out of breath."
    answer = '{"home": "Tarn", "away": "Esk", "goals": [{"player": "Ibo", "minute": 27}]}'
    at = answer.index("27")
    (found,) = findings(answer, (at, at + 2), "", (source,))
    assert (found.status, source[found.start : found.end]) == ("found", "27")
    text = placed("It costs 250 euros (150 for members) and weighs 12 kg (13).")
    clauses = [text.clause(i, 0, len(text.text)) for i in range(4)]
    assert [text.text[a:b].strip() for a, b in clauses] == [
        "It costs 250 euros",
        "150 for members",
        "and weighs 12 kg (13).",
        "and weighs 12 kg (13).",
    ]


def test_places_are_those_of_the_source() -> None:
    (finding,) = found("The Pike costs $75.", CSV)
    assert (finding.status, CSV[finding.start : finding.end]) == ("wrong", "$180")
    (finding,) = found("The raft weighs 8400 g.", "Look: the raft weighs 8.4 kg.")
    assert (finding.start, finding.end) == (22, 28)


def test_values_without_a_counterpart_are_absent() -> None:
    (finding,) = found("The bridge is 90 m long.", "The mayor opened the market on Monday.")
    assert (finding.status, finding.source) == ("absent", -1)


@pytest.mark.parametrize(
    ("statement", "source", "turned"),
    [
        ("Rome sold Oslo a ship.", "Oslo sold Rome a ship.", True),
        ("The ferry goes from Ulm to Bonn.", "The ferry goes from Bonn to Ulm.", True),
        ("Bea is taller than Ann.", "Ann is taller than Bea.", True),
        ("Step 1 is cutting and step 2 is washing.", "Step 1 is washing and step 2 is cutting.",
         True),
        ("Step 1 is rinsing and step 2 is soaking.", "Step 1 is soaking and step 2 is rinsing.",
         True),
        ("The gap is 2-4.", "The gap is 4-2.", True),
        ("Bea always helps and Ann never does.", "Bea never helps and Ann always does.", True),
        ("A mammal is a blue whale.", "A blue whale is a mammal.", True),
        ("Ann is the mother of Bea.", "Bea is the mother of Ann.", True),
        ("Ann lives in Ulm, Bea works in Bonn.", "Ann lives in Bonn, Bea works in Ulm.", True),
        ("The capital of Ghana is Accra.", "Accra is the capital of Ghana.", False),
        ("The total price is 42 euros.", "42 euros is the total price.", False),
        ("Die Hauptstadt von Ghana ist Accra.", "Accra ist die Hauptstadt von Ghana.", False),
        ("Usually the shop opens at nine.", "The shop usually opens at nine.", False),
        ("She quickly shut the red door.", "She shut the red door quickly.", False),
        ("Last year the firm sold 30 ships.", "The firm sold 30 ships last year.", False),
        ("On the wall hung a large map.", "A large map hung on the wall.", False),
        ("Heute fährt der Bus nach Ulm.", "Der Bus fährt heute nach Ulm.", False),
        ("Turn off the lamp at night.", "Turn the lamp off at night.", False),
        ("The shop is closed, said Ann.", "Ann said the shop is closed.", False),
        ("In Ulm it opened in 1990.", "In 1990 it opened in Ulm.", False),
        ("Ivo runs Ulm and Lea runs Bonn.", "Lea runs Bonn and Ivo runs Ulm.", False),
        ("In 1990 the museum opened.", "The museum opened in 1990.", False),
        ("Ann met Bea in Ulm.", "Bea met Ann in Ulm.", False),
        ("Bring salt, bread and oil.", "Bring bread, oil and salt.", False),
        ("French is the language taught.", "The language taught is French.", False),
        ("Ann is the heir of Bea.", "Bea is the heir of Ann.", True),
        ("It opened in Ulm in 1990.", "It opened in 1990 in Ulm.", False),
        ("Ann sold bread, apples in Ulm.", "Ann sold bread apples in Ulm.", False),
        ("Ann sold bread apples in Ulm.", "Ann sold bread, apples in Ulm.", False),
    ],
)  # fmt: skip
def test_the_same_words_in_another_order(statement: str, source: str, turned: bool) -> None:
    place = turned_round(statement, ("It rained.", source))
    assert (place is not None) == turned
    if place is not None:
        assert (place.source, place.start, place.end) == (1, 0, len(source))


PIECES = ["1", "1,000 ", "-", "$", "5 kg ", "two ", "hundred ", "and ", "%", "a ", "half ", "| ",
          "\n", "{", '"a": ', "1:2 ", "1/2 ", "2019 ", "May ", "3.", ".5", "to ", "of ", "٣", "½",
          "<td>", "<tr>", "<th>", "</tr>", "}", "]",
          "\t", ";", ",", "IV ", "x2", "\\frac{1}{2} ", "am ", "\0", "e9", "°C ",
          "’", "((", "::", "rice: ", "Plan A ", "a rice "]  # fmt: skip


def test_any_text_is_read() -> None:
    pick = random.Random(3)
    for _ in range(400):
        text = "".join(pick.choices(PIECES, k=pick.randint(1, 40)))
        source = "".join(pick.choices(PIECES, k=pick.randint(1, 40)))
        for value in values_of(text):
            assert 0 <= value.start < value.end <= len(text)
        for finding in found(text, source, text[:50]):
            assert -1 <= finding.source < 1
            assert 0 <= finding.start <= finding.end <= len(source)
        turned_round(text, (source, text))


@pytest.mark.parametrize("piece", [*PIECES, "1 ", "1,", "12 and ", "word ", "one hundred "])
def test_time_grows_with_length_alone(piece: str) -> None:
    statement = f"{piece}5 kg of rice {piece}"

    def read(text: str) -> None:
        values_of(text)
        findings(statement, (0, len(statement)), "", (text,))
        turned_round(statement, (text,))

    assert growth(read, repeated(piece)) < MOST


def test_a_table_of_figures_alone_is_read_and_endless_digits_are_not() -> None:
    table = "year,sales\n" + "\n".join(f"{2001 + i},{1500 + 7 * i}" for i in range(40))
    assert len(placed(table).values) == 80
    assert len(values_of("12 15 18 21 " * 20)) == 80
    for digits in ("7" * 100, "123 456 " * 50, "123,456," * 50):
        assert not values_of(digits)


@pytest.mark.parametrize(
    ("said", "source", "statuses"),
    [
        # a percentage of two digits is the nearest one
        ("Revenue rose by about 21%.", REVENUE, ["computed"]),
        ("Revenue increased by 21%.", REVENUE, ["computed"]),
        ("Revenue increased by 22%.", REVENUE, ["absent"]),
        ("Revenue increased by 20%.", REVENUE, ["absent"]),
        ("Revenue fell by 21%.", REVENUE, ["absent"]),
        # the lines of an invoice, their sum, and a share more
        ("The net amount is 195.50.", INVOICE, ["computed"]),
        ("With VAT, the total is 234.60.", INVOICE, ["computed"]),
        ("Hosting comes to 120.", INVOICE, ["computed"]),
        ("The net amount is 205.50.", INVOICE, ["absent"]),
        ("With VAT, the total is 254.60.", INVOICE, ["absent"]),
        ("The order costs 58.50 euros.", ORDER, ["computed"]),
        ("The bulbs cost €34.", ORDER, ["computed"]),
        ("The order costs 68.50 euros.", ORDER, ["wrong"]),
        # a duration before a date is no range
        ("It is late by two weeks, to 17 May.", "It slips to 17 May.", ["absent", "found"]),
        ("It is late by two weeks to 17 May.", "It slips to 17 May.", ["absent", "found"]),
        ("It opens from 3 to 17 May.", "It is open from 3 to 17 May.", ["found"]),
        # several of what the source has one of
        ("You may bring two guests per visit.", ONE_GUEST, ["wrong"]),
        ("You may bring three guests per visit.", ONE_GUEST, ["wrong"]),
        ("You may not bring two guests per visit.", ONE_GUEST, ["open"]),
        ("Two members may bring a guest.", ONE_GUEST, ["open"]),
        ("Two guests spoke.", "One guest sang.", ["open"]),  # of another matter
        # an age names the person, not the limit
        ("A four-year-old gets half a dose.", "Children under 6 get half a dose.", ["open"]),
        ("The four-year-old boy won.", "A five-year-old boy won the race.", ["wrong"]),
    ],
)
def test_rounded_shares_invoices_dates_single_things_and_ages(
    said: str, source: str, statuses: list[Status]
) -> None:
    found = findings(said, (0, len(said)), "", (source,))
    assert [f.status for f in found] == statuses


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("Two adults and a child pay 31 euros (2 x 13 + 1 x 5).", "computed"),
        ("Two adults and a child pay 33 euros (2 x 13 + 1 x 5).", "wrong"),
        ("12 * 5 = 60 euros.", "computed"),
        ("12 * 5 = 65 euros.", "wrong"),
        ("It grew by 25 % (from 40 to 50).", "computed"),
        ("It grew by 20 % (from 40 to 50).", "wrong"),
        ("The score was 7 (3-1).", None),
    ],
)
def test_a_calculation_that_a_statement_writes_out_is_checked(
    statement: str, status: Status | None
) -> None:
    source = "Adults pay 13 euros, children 5. It was 40 in May and 50 in June. A box of 12 is 5."
    results = {statement[f.value.start : f.value.end]: f.status for f in found(statement, source)}
    name = next(
        (n for n in results if n[:2] in ("31", "33", "60", "65", "25", "20", "7 ", "7")), ""
    )
    assert results[name] == status if status else results[name] in ("absent", "open", "wrong")


def test_a_phrase_keeps_its_own_number() -> None:
    source = "Of the eight grey seals in the bay most left in May, but three, the old ones, stayed."
    results = found("Five of the eight grey seals left in May, the old ones stayed.", source)
    assert "wrong" not in {f.status for f in results}


def test_a_question_states_its_own_numbers() -> None:
    source = "Adults pay £9, children (4-12) £6. The family ticket (2+2) is £26."
    question = "What do two children pay?"
    assert "wrong" not in {f.status for f in found("Two children pay £12.", source, question)}


def test_the_time_of_a_message_is_not_the_one_that_it_names() -> None:
    log = "[09:40] bo: please wait until noon\n[09:41] ann: ok. 12:30 then?\n[12:34] ann: deploying"
    right = "Ann deployed shortly after 12:30, as Bo had asked her to wait until noon."
    assert [f.status for f in found(right, log)] == ["found", "found"]
    assert [f.status for f in found("Ann deployed at 9:40.", log)] == ["wrong"]
