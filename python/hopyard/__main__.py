"""The command `hopyard`, which `python -m hopyard` is too."""

from hopyard import startup

# Before the rest is imported: a signal that comes meanwhile ends the command.
startup.end_on_ctrl_c()


def main() -> None:
    """Runs the command."""
    startup.is_command = True
    import atexit
    import gc
    import os

    # What is imported stays until the end. The collector would look through it dozens of times on
    # the way and once more at the end, which costs a tenth of a short run.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)

    # Nothing here multiplies matrices; the threads that numpy would start for it cost more than the
    # rest of its import, and the runs use all cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from hopyard.cli import streams

    streams.complete()
    from hopyard.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
