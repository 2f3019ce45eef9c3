"""Studies: each answers a question of the field with one command and committed results."""
