"""Values of texts: numbers, amounts, dates and times, and their comparison."""
