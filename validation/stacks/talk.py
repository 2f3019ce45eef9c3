"""One end of a connection, as a program of a kernel's node: reads, writes and waits as a script says.

`talk.py listen PORT SCRIPT` or `talk.py HOST PORT SCRIPT`. A script has steps of a letter and a number:
`r` takes bytes that have arrived, `w` writes bytes, `t` waits so many microseconds, `a` waits until
so many have passed since the kernel's start, `o0` opens the connection, `e0` writes back what
arrives until the other end closes. What arrives is read at once, also while the program waits.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import sys
import time

#: The most bytes of a call, as the ends of flows write them: 44 segments.
CALL = 44 * 1448


class ExpiredError(Exception):
    """The time to wait is over."""


def expire(_signal: int, _frame: object) -> None:
    """Ends a wait: a timer of signals is exact, where those of `select` may be late by a thousandth."""
    raise ExpiredError


class End:
    """A connection, and the bytes that have arrived and that no step has taken."""

    def __init__(self, host: str, port: int) -> None:
        self.place = (host, port)
        self.connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.held = 0
        self.open = False

    def start(self) -> None:
        """Opens the connection, or waits until the other end does."""
        host, port = self.place
        if host == "listen":
            self.connection.bind(("", port))
            self.connection.listen()
            self.connection = self.connection.accept()[0]
        else:
            self.connection.connect(self.place)
        self.open = True

    def read(self) -> None:
        """Reads what is there, and waits for it if nothing is."""
        data = self.connection.recv(65536)
        self.held += len(data)
        self.open = bool(data)

    def take(self, count: int) -> bool:
        """Takes bytes; false if the other end has closed before they came."""
        while self.held < count and self.open:
            self.read()
        self.held -= count
        return self.held >= 0

    def write(self, count: int) -> None:
        """Writes bytes."""
        while count > 0:
            count -= self.connection.send(bytes(min(count, CALL)))

    def echo(self) -> None:
        """Writes back what arrives."""
        while self.open:
            self.read()
            self.write(self.held)
            self.held = 0

    def wait(self, seconds: float) -> None:
        """Waits, and reads meanwhile."""
        if seconds <= 0:
            return
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with contextlib.suppress(ExpiredError):
            while True:
                select.select([self.connection] if self.open else [], [], [])
                self.read()


def main() -> None:
    """Carries out the script, closes, and waits for the other end to close."""
    host, port, script = sys.argv[1:]
    signal.signal(signal.SIGALRM, expire)
    end = End(host, int(port))
    for step in script.split():
        number = int(step[1:])
        if step[0] == "o":
            end.start()
        elif step[0] == "w":
            end.write(number)
        elif step[0] == "t":
            end.wait(number / 1e6)
        elif step[0] == "a":
            end.wait(number / 1e6 - time.monotonic())
        elif step[0] == "e":
            end.echo()
        elif not end.take(number):
            break
    while host == "listen" and end.open:
        end.read()
    end.connection.shutdown(socket.SHUT_WR)
    while end.open:
        end.read()
    end.connection.close()


if __name__ == "__main__":
    main()
