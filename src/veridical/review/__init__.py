"""People's labels: the events they leave, agreement, and rates with intervals."""
