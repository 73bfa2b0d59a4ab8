"""A person with a browser, as a program: visits a page in Chromium, logs in, agrees to what is asked, and ends where
that leads.

    python browse.py URL USER PASSWORD [TEXT]

It ends with 0 at the `redirect_uri` of the URL, or on a page that has the TEXT; else with 1, and says what the last
page was. As `BROWSER="python browse.py %s USER PASSWORD"` it is the browser of `doorward login`. It knows the pages of
Keycloak and of oidc-provider. Chromium is driven by its DevTools protocol, through a pipe.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

PATIENCE = 60.0
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking "
    "--disable-extensions "
    "--disable-sync --disable-component-update --remote-debugging-pipe"
)
HOSTS = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""It goes nowhere but to this machine."""
STEP = """
(([user, password]) => {
  const find = selector => document.querySelector(selector), secret = find("input[type=password]");
  const button = find("[name=login][type=submit], [name=accept], button[autofocus], button[type=submit], input[type=submit]");
  let did = "";
  if (button && document.readyState == "complete" && !window.pressed) {
    did = secret ? "log in" : "agree";
    if (secret) {
      find("input[name=username], input[name=login]").value = user;
      secret.value = password;
    }
    window.pressed = true;
    button.click();
  }
  return [location.href, document.body ? document.body.innerText : "", did];
})(%s)
"""
"""What a person does on a page, once: fill in the form if it asks for a password, and press its button. Its value:
address, text, deed."""


class Browser:
    """Chromium, with one page."""

    def __init__(self, folder: str) -> None:
        program = shutil.which("chromium") or sys.exit("chromium is absent")
        # It reads from 3 and writes to 4: our ends are those of its standard streams.
        shell = ["sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 0< /dev/null 1> /dev/null 2>&1']
        words = [*shell, program, *OPTIONS.split(), HOSTS, f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            words, bufsize=0, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._buffer, self._id, self._session = b"", 0, {}
        page = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]}

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a command; nothing if the page went away meanwhile."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._id += 1
        self._process.stdin.write(
            json.dumps({"id": self._id, "method": method, "params": params, **self._session}).encode() + b"\0"
        )
        while True:
            message, found, rest = self._buffer.partition(b"\0")
            if found:
                self._buffer = rest
                told = json.loads(message)
                if told.get("id") == self._id:
                    return told.get("result", {})
            elif more := self._process.stdout.read(1 << 16):
                self._buffer += more
            else:
                sys.exit("chromium ended")

    def value(self, script: str) -> Any:
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True).get("result", {}).get("value")

    def end(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


def visit(browser: Browser, url: str, user: str, password: str, text: str) -> str:
    """Go through the pages. Returns: what went wrong."""
    redirect = parse_qs(urlsplit(url).query).get("redirect_uri", [""])[0]
    browser.ask("Page.navigate", url=url)
    end, logins, address, page = time.monotonic() + PATIENCE, 0, "", ""
    while time.monotonic() < end and logins < 2 and not address.startswith("chrome-error:"):
        time.sleep(0.05)
        address, page, did = browser.value(STEP % json.dumps([user, password])) or ["", "", ""]
        if (redirect and address.startswith(redirect)) or (text and text in page):
            return ""
        logins += did == "log in"
    return f"{address}: {page[:2000]}"


def browser(user: str, password: str, *text: str) -> dict[str, str]:
    """The environment in which `doorward login` has this browser, and this person at it, who may look for a text on the
    last page. Without a Chromium the test is skipped."""
    from .peer import program

    program("chromium")
    none = "keyring.backends.fail.Keyring"  # no test writes to the keyring of whoever runs it
    return {
        "BROWSER": shlex.join([sys.executable, __file__, "%s", user, password, *text]),
        "PYTHON_KEYRING_BACKEND": none,
    }


def main(url: str, user: str, password: str, text: str = "") -> int:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            wrong = visit(browser, url, user, password, text)
        finally:
            browser.end()
    if wrong:
        print(wrong, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
