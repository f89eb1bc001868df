"""Methods that compare the response with other answers to the same prompt."""
