"""Methods that compare the response with what it must be grounded in."""
