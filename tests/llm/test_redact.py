"""Keys are taken out of what servers say, however they say them; other words stay."""

from __future__ import annotations

import base64
import json
import random
import string
from urllib.parse import quote

import pytest

from veridical.llm.redact import redact

KEY = "sk-proj-Ab3dEf9hIjKlMn0pQrStUvWxYz12_34-5678"


def escaped(form: str) -> str:
    return "".join(form.format(ord(c)) for c in KEY)


SAID = {
    "as it is": KEY,
    "without its separators": KEY.replace("-", "").replace("_", ""),
    "other separators": KEY.replace("-", " ").replace("_", "."),
    "capitals": KEY.upper(),
    "a space": KEY[:20] + " " + KEY[20:],
    "a letter": KEY[:20] + "X" + KEY[20:],
    "a letter early": KEY[:5] + "X" + KEY[5:],
    "a zero-width space": KEY[:20] + "\u200b" + KEY[20:],
    "spaces everywhere": " ".join(KEY),
    "dots everywhere": ".".join(KEY),
    "a letter in every eight": "Z".join(KEY[i : i + 8] for i in range(0, len(KEY), 8)),
    "reversed": KEY[::-1],
    "its beginning": KEY[8:20],
    "its end": KEY[-12:],
    "the middle": KEY[15:26],
    "url": quote(KEY, safe=""),
    "url, all of it": escaped("%{:02X}"),
    "html": escaped("&#{};"),
    "html, hex": escaped("&#x{:x};"),
    "json": escaped("\\u{:04x}"),
    "hex": KEY.encode().hex(),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 in a header": base64.b64encode(f"Bearer {KEY} x".encode()).decode(),
    "base64, shifted": base64.b64encode(f"ab{KEY}".encode()).decode(),
    "base64 for urls": base64.urlsafe_b64encode(f"user:{KEY}".encode()).decode(),
    "in JSON": json.dumps({"headers": {"authorization": f"Bearer {KEY}"}}),
}


def told(key: str, text: str) -> bool:
    """Whether eight letters and digits in a row of the key are in the text."""
    plain, shown = ("".join(c for c in t if c.isalnum()).lower() for t in (key, text))
    return any(plain[i : i + 8] in shown for i in range(len(plain) - 7))


@pytest.mark.parametrize("how", SAID)
def test_a_key_is_taken_out(how: str) -> None:
    found = redact(f"Incorrect key provided: {SAID[how]}, see the manual.", KEY)
    assert "[key]" in found and not told(KEY, found)
    assert found.startswith("Incorrect key") and found.endswith("the manual.")
    assert len(found) < 100, "nothing of it is left beside"


def test_a_key_with_anything_put_in_anywhere_is_taken_out() -> None:
    rng = random.Random(1)
    for _ in range(300):
        key = "sk-" + "".join(rng.choices(string.ascii_letters + string.digits, k=40))
        at = rng.randrange(1, len(key))
        put = rng.choice(string.printable + "\u00ad\u200b\u0130\U0001f600")
        assert not told(key, redact(f"bad: {key[:at]}{put}{key[at:]} (x)", key)), (key, at, put)


def test_other_words_stay() -> None:
    text = "HTTP 429: Rate limit of 3 requests a minute for org-9fK2 (req_7c1be0f1a9); try later. "
    assert redact(text * 50, KEY) == text * 50
    assert redact(text, None) == redact(text, "") == text
    assert redact("Incorrect API key: x-y.", "x-y") == "Incorrect API key: [key]."
    assert redact("a fox is away", "x-y") == "a fox is away"


def test_it_takes_time_linear_in_the_text() -> None:
    text = KEY[:7] * 100_000  # one word, in which every place gives the key away
    assert redact(text, KEY) == "[key]"
