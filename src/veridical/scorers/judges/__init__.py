"""Methods that ask a language model."""
