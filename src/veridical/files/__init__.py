"""Files: replaced whole, private where they hold prompts, sealed where results rest on them."""
