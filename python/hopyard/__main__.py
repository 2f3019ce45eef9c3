"""`python -m hopyard` is the command `hopyard`."""

from hopyard.cli import main

main(prog_name="hopyard")
