# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A headless Chromium behind its debugging pipe: enough of the protocol to look at a page."""
import json
import os
import select
import subprocess
import tempfile
import time


class Browser:
    """with Browser("chromium") as b: b.open(url, width, dark); b.evaluate("..."); b.complaints"""

    def __init__(self, program):
        # its helpers may still be writing there when it has ended
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.out = os.pipe()
        self.inp, to_write = os.pipe()

        def descriptors():
            # the protocol's own: the browser reads 3 and writes 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session = b"", 0, None
        self.complaints, self.requests = [], []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.inp], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.inp, 1 << 20)
            if not got:
                raise RuntimeError("the browser ended")
            self.buffer += got
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        kind, about = event["method"], event["params"]
        if kind == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"])[:500])
        elif kind == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(about["args"])[:500])
        elif kind == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"][:500])
        elif kind == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"][:200])

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.note(answer)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def look(self, width, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url, ready):
        """Waits until the expression is true."""
        self.complaints, self.requests = [], []
        self.call("Page.navigate", url=url)
        self.wait(ready)

    def wait(self, ready):
        deadline = time.monotonic() + 60
        while not self.evaluate(ready):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {ready}; complaints: {self.complaints}")
            time.sleep(0.1)

    def picture(self):
        import base64
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
