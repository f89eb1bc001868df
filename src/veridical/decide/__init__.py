"""Decisions on scored records: policies, gates, drift, selection and repair."""
