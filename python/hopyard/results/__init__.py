"""Results that were made here or read from folders."""
