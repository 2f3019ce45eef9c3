"""Studies: questions of the field, each answered by one command with its figures committed."""
