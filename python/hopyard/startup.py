"""What Ctrl-C does while the command is being imported.

Only a module that is built into the interpreter is imported here: this comes before all else.
"""

import _signal  # type: ignore[import-not-found]

#: Whether this process is the command `hopyard`, and not somebody's Python program.
is_command = False


def end_on_ctrl_c() -> None:
    """Lets Ctrl-C end the process at once, without a traceback.

    What the caller of the process ignores, as `nohup` does, stays ignored.
    """
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
