"""`python -m hopyard` is the command `hopyard`."""

from hopyard import signals

# Before the rest is imported: a signal that comes meanwhile ends the command.
signals.start()

from hopyard.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
