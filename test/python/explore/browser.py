"""Chromium without a window, by its driver, which speaks WebDriver (https://www.w3.org/TR/webdriver2/) over HTTP."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key under which WebDriver gives the reference to an element."""


class Browser:
    """One window. Use it with `with`."""

    def __init__(self, width: int = 1500, height: int = 950):
        driver = shutil.which("chromedriver")
        assert driver is not None, "there is no chromedriver: `make test-explore` installs it"
        self._process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        port = next(match[1] for line in self._process.stdout if (match := re.search(r"success.* on port (\d+)", line)))
        self._url = f"http://localhost:{port}/session"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}"]}
        asked = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._ask("POST", "", {"capabilities": {"alwaysMatch": asked}})
        self._url += f"/{session['sessionId']}"

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._ask("DELETE", "")
        finally:
            self._process.terminate()
            self._process.communicate()

    def open(self, page: Path) -> None:
        """Open a file."""
        self.visit(page.as_uri())

    def visit(self, address: str) -> None:
        """Open an address."""
        self._ask("POST", "/url", {"url": address})

    def be_phone(self, width: int = 390, height: int = 844) -> None:
        """Show pages as a phone does."""
        self._tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)

    def prefer(self, scheme: str) -> None:
        """Prefer `light` or `dark` pages."""
        self._tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script: str) -> Any:
        """What the body of a function returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def click(self, selector: str) -> None:
        """Click on the middle of an element."""
        self._ask("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Type into an element."""
        self._ask("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def text(self, selector: str) -> str:
        """The text of an element that a user sees."""
        return self._ask("GET", f"/element/{self._find(selector)}/text")

    def complaints(self) -> list[str]:
        """What the console has been told since it was last asked."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path: Path) -> None:
        """Write what is seen as a PNG."""
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def _tell(self, command: str, **parameters: Any) -> None:
        self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _find(self, selector: str) -> str:
        return self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]
