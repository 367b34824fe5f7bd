"""A headless Chromium, driven through its DevTools protocol: what the tests of the page need of it."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_START_SECONDS, _ANSWER_SECONDS = 60, 60


def found_chromium() -> str | None:
    """Return the program, or None where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """One page; `requests` are the addresses that it asked for, `problems` its console messages."""

    def __init__(self, program: str, folder: Path) -> None:
        self._folder = folder
        # A sandbox of its own needs rights that containers do not give; the pages are ours.
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-dev-shm-usage",
        ]
        options += ["--disable-extensions", "--disable-background-networking", "--disable-component-update"]
        options += ["--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            [program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
        )
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._first: str | None = None
        self._loaded = False
        self._traced: list[dict[str, Any]] = []
        self._trace_ended = False
        try:
            self._socket = websocket.create_connection(
                self._address(), timeout=_ANSWER_SECONDS, suppress_origin=True
            )
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _address(self) -> str:
        port_file = self._folder / "DevToolsActivePort"
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"Chromium ended with {self._process.returncode} before it listened")
            if port_file.exists() and (port := port_file.read_text().partition("\n")[0]):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
                    pages = [target for target in json.load(answer) if target["type"] == "page"]
                if pages:
                    return str(pages[0]["webSocketDebuggerUrl"])
            time.sleep(0.05)
        raise RuntimeError("Chromium does not listen")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result; events that come meanwhile are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._event(message.get("method", ""), message.get("params", {}))

    def _event(self, method: str, about: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(about["exceptionDetails"].get("exception", about)))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(f"console.{about['type']}: {about['args']}")
        elif method == "Log.entryAdded":
            self.problems.append(f"{about['entry']['level']}: {about['entry']['text']}")
        elif method == "Tracing.dataCollected":
            self._traced += about["value"]
        elif method == "Tracing.tracingComplete":
            self._trace_ended = True
        elif method == "Page.loadEventFired":
            self._loaded = True

    def run_first(self, program: str) -> None:
        """Run a program in every page before its own, in place of the last one."""
        if self._first is not None:
            self.call("Page.removeScriptToEvaluateOnNewDocument", identifier=self._first)
        self._first = self.call("Page.addScriptToEvaluateOnNewDocument", source=program)["identifier"]

    def open(self, file: Path, *, fragment: str = "", width: int = 1320, height: int = 900) -> None:
        """Open a file anew, perhaps with a fragment of its address, and wait until it is loaded."""
        self.resize(width, height)
        self._navigate("about:blank")  # else another fragment loads nothing
        self.requests.clear()
        self.problems.clear()
        self._navigate(file.resolve().as_uri() + (fragment and f"#{fragment}"))

    def _navigate(self, address: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=address)
        end = time.monotonic() + _ANSWER_SECONDS
        while not self._loaded:
            if time.monotonic() > end:
                raise RuntimeError(f"{address} does not load")
            self._wait_a_frame()
        self._wait_a_frame()

    def _wait_a_frame(self) -> None:
        self.evaluate("new Promise(done => setTimeout(done, 50))")

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, **features: str) -> None:
        """Emulate preferences such as prefers_color_scheme="dark"."""
        values = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=values)
        self._wait_a_frame()

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, condition: str, seconds: float = _ANSWER_SECONDS) -> None:
        """Wait until a condition of JavaScript holds.

        Raises:
            RuntimeError: it does not in time.
        """
        end = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise RuntimeError(f"not within {seconds} s: {condition}; {self.problems}")
            self._wait_a_frame()

    def trace(self) -> None:
        """Begin to note the tasks of every thread."""
        self._traced, self._trace_ended = [], False
        self.call("Tracing.start", traceConfig={"includedCategories": ["toplevel", "__metadata"]})

    def task_cpu_ms(self) -> list[float]:
        """End the trace; return the CPU time of each task of the main threads of pages, longest first.

        What a machine does meanwhile does not count, as it does in the long tasks that a page sees itself.
        """
        self.call("Tracing.end")
        end = time.monotonic() + _ANSWER_SECONDS
        while not self._trace_ended:
            if time.monotonic() > end:
                raise RuntimeError("the trace does not end")
            self._wait_a_frame()
        main = {
            (event["pid"], event["tid"])
            for event in self._traced
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        tasks = [
            event["tdur"] / 1e3
            for event in self._traced
            if event.get("ph") == "X"
            and event["name"] == "ThreadControllerImpl::RunTask"
            and (event["pid"], event["tid"]) in main
            and "tdur" in event
        ]
        return sorted(tasks, reverse=True)

    def click(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window and click, as a hand does."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self._wait_a_frame()

    def press(self, key: str, code: int) -> None:
        """Press and release a key; `code` is its virtual key code."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            about = text if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **about
            )
        self._wait_a_frame()

    def pdf(self) -> bytes:
        """Print."""
        answer = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(answer["data"])

    def screenshot(self, *, whole: bool = False) -> bytes:
        """Return a PNG of the window, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])
