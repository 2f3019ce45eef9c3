"""Scenarios: read, changed, planned as runs."""
