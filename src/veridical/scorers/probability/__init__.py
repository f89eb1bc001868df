"""Methods that read the probabilities of the response's tokens."""
