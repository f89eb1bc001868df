"""A copy in a language that no model reads is judged without one."""

import veridical

BRIDGE = "Die Brücke wurde im Jahr 1932 nach langer Zeit fertiggestellt."


def test_a_copy_is_supported_in_any_language():
    context = f"Der Turm ist sehr hoch und alt. {BRIDGE}"
    copied, told = veridical.check(
        [
            {"response": BRIDGE, "contexts": [context]},
            {"response": "Die Brücke wurde im Jahr 1932 eröffnet.", "contexts": [context]},
        ]
    )
    assert copied.verdict == "supported"
    assert told.reason == "language"
