"""Output on the terminal: words, tables, progress, signals."""
