"""Human labels: events, agreement, and rates with intervals."""
