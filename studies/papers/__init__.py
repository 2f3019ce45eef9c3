"""The five papers: every published value and claim, and what the studies make of them."""
