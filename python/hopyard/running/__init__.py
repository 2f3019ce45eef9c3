"""Runs: all at once, step by step, and compared with those of another version."""
