"""Drives Debian's chromium for tests of pages: sizes, light and dark, errors, connections, screenshots."""
import base64
import json
import os
import shutil
import struct
import subprocess
import zlib


def find_browser():
    """The program's path, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """Chromium, driven through the DevTools protocol over two pipes."""

    def __init__(self, program, folder):
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()
        command = (f'exec "$0" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars '
                   f'--no-first-run --user-data-dir="$1" --remote-debugging-pipe about:blank '
                   f'3<&{to_read} 4>&{to_write}')
        self.process = subprocess.Popen(["sh", "-c", command, program, folder], pass_fds=(to_read, to_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.buffer, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.into, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(line)

    def open(self, address, width, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive())
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def until(self, expression, seconds=30):
        """The expression's value, as soon as it is true; after so many seconds, whatever it is."""
        return self.value(f"""new Promise(done => {{
          const began = performance.now()
          const look = () => {{
            const value = {expression}
            if (value || performance.now() - began > {1000 * seconds}) done(value)
            else setTimeout(look, 50)
          }}
          look()
        }})""")

    def errors(self):
        return [e for e in self.events if e.get("method") == "Runtime.exceptionThrown" or
                e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] in ("error", "warning") or
                e.get("method") == "Runtime.consoleAPICalled"]

    def addresses(self):
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def screenshot(self, folder, name):
        """The page as a PNG, kept in the folder if there is one."""
        data = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        if folder:
            os.makedirs(folder, exist_ok=True)
            with open(f"{folder}/{name}.png", "wb") as file:
                file.write(data)
        return data

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def colors(data):
    """The number of different bytes in a PNG's rows: one or two for an empty page."""
    body, at = b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return len(set(zlib.decompress(body)))
