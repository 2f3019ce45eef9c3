"""Replays: recordings of runs, and the page in which a browser shows them."""
