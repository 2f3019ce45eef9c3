"""Headless Chromium, driven by its DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

#: The names under which systems have Chromium.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: How long the browser may take for an answer, in seconds; machines may be busy.
PATIENCE = 120.0


def found() -> str | None:
    """The path of Chromium, if it is installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A page in headless Chromium, which draws WebGL by software and keeps its profile in a folder."""

    def __init__(self, folder: Path, width: int, height: int) -> None:
        #: The folder of its profile.
        self.folder = folder
        chromium = found()
        assert chromium is not None
        (read, there), (here, write) = os.pipe(), os.pipe()
        # The browser reads from descriptor 3, and writes to 4.
        command = (
            f'exec "$0" "$@" 3<&{read} 4>&{write}',
            *(chromium, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--hide-scrollbars"),
            # As on a machine without a graphics processor, where software puts pages together too, in another way.
            *("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing"),
            *("--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={folder}"),
            *(f"--window-size={width},{height}", "about:blank"),
        )
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(
            ["bash", "-c", *command],
            stdin=null,
            stdout=null,
            stderr=null,
            pass_fds=(read, write),
            start_new_session=True,
        )
        #: The group of all processes of the browser.
        self.group = self._process.pid
        for descriptor in (read, write):
            os.close(descriptor)
        self._to, self._from = there, here
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        #: Errors of the page, and the errors that it wrote to the console.
        self.errors: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def size(self, width: int, height: int) -> None:
        """Gives the page another size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address: str) -> None:
        """Opens a page, and waits until it has read its recordings."""
        self.call("Page.navigate", url="about:blank")
        self.go(address)
        self.until("document.body && document.body.dataset.ready === 'true' && document.body.dataset.drawn > 0")

    def go(self, address: str) -> None:
        """Opens any page."""
        self.call("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Waits until a condition holds in the page."""
        end = time.monotonic() + PATIENCE
        while not self.value(f"Boolean({condition})"):
            assert time.monotonic() < end, f"{condition}: not within {PATIENCE:g} s; {self.errors}"
            time.sleep(0.05)

    def key(self, key: str, *, shift: bool = False) -> None:
        """Presses a key."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0, **more)

    def click(self, selector: str, left: float = 0.5, top: float = 0.5) -> None:
        """Clicks on an element, at parts of its width and height."""
        box = self.value(
            f"(it => (it.scrollIntoView({{block: 'nearest'}}), [it.getBoundingClientRect()].map("
            f"b => [b.left + {left} * b.width, b.top + {top} * b.height])[0]))(document.querySelector({selector!r}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def picture(self) -> bytes:
        """A PNG of the page as it is seen."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        # Its processes end with the pipe.
        for descriptor in (self._to, self._from):
            os.close(descriptor)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            self._note(answer)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def _message(self) -> dict[str, Any]:
        """The next message of the browser."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], PATIENCE)
            assert ready, f"Chromium has not answered for {PATIENCE:g} s"
            read = os.read(self._from, 1 << 20)
            assert read, "Chromium has ended"
            self._rest += read
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        """Keeps errors of the page."""
        found = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(found["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if found["type"] in ("error", "assert"):
                self.errors.append(str(found["args"]))
            case "Log.entryAdded" if found["entry"]["level"] == "error":
                self.errors.append(found["entry"]["text"])
