#!/usr/bin/env python3
"""Tests the page of packaging/web in the browsers that are here: choose, cut, download, compare; cancel; a large file.

  page_test.py --web FOLDER [--large] [--shots FOLDER]

FOLDER is build/wasm/web. --large cuts a sparse file of 5 GB; --shots keeps pictures to look at.
"""
import argparse
import base64
import functools
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from verdicts import Skip, Tally, check, need  # noqa: E402

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
SAMPLE = b'id,note\n' + b''.join(b'%d,"line\nof ""%d"" \xc3\xa9"\n' % (i, i) for i in range(5000))


class Server:
    """Serves the page; `requests` is what it was asked for."""
    def __init__(self, folder):
        self.requests = []
        outer = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            extensions_map = {".js": "text/javascript", ".wasm": "application/wasm", ".css": "text/css", ".html": "text/html"}

            def log_message(self, *_):
                outer.requests.append(self.path)
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d/" % self.http.server_address[1]


class Chromium:
    """By chromedriver, over HTTP."""
    def __init__(self, downloads):
        browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if not browser or not driver:
            raise Skip("chromium is not installed")
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = next(line.split()[-1].rstrip(".") for line in self.driver.stdout if "started successfully" in line)
        self.base = "http://127.0.0.1:%s/session" % port
        options = {"binary": browser, "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                                               "--disable-background-networking"],
                   "prefs": {"download.default_directory": str(downloads),
                             "profile.default_content_setting_values.automatic_downloads": 1}}
        made = self.call("", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options,
                                                               "goog:loggingPrefs": {"performance": "ALL"}}}})
        self.base += "/" + made["sessionId"]

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.base + path, data, {
                    "Content-Type": "application/json"}), timeout=600) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read()[:500]) from None

    def go(self, url): self.call("/url", {"url": url})
    def run(self, script): return self.call("/execute/sync", {"script": script, "args": []})
    def choose(self, path):
        element = self.call("/element", {"using": "css selector", "value": "#file"})[ELEMENT]
        self.call("/element/%s/value" % element, {"text": str(path)})

    def shot(self): return base64.b64decode(self.call("/screenshot"))
    def look(self, width, height, is_dark):
        for command, params in (("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}),
                ("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme",
                                                              "value": "dark" if is_dark else "light"}]})):
            self.call("/goog/cdp/execute", {"cmd": command, "params": params})

    def origins(self):
        """The hosts of all requests that the page made."""
        events = [json.loads(entry["message"])["message"] for entry in self.call("/se/log", {"type": "performance"})]
        return {event["params"]["request"]["url"].split("/")[2] for event in events
                if event["method"] == "Network.requestWillBeSent" and event["params"]["request"]["url"].startswith("http")}

    def close(self):
        self.driver.terminate()
        self.driver.wait()


class Firefox:
    """By Marionette, its own protocol: [0, id, command, parameters] and [1, id, error, result], each after its length."""
    def __init__(self, downloads):
        browser = shutil.which("firefox-esr") or shutil.which("firefox")
        if not browser:
            raise Skip("firefox is not installed")
        self.profile = tempfile.mkdtemp(prefix="cleave-firefox.")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        prefs = {"marionette.port": port, "browser.download.folderList": 2, "browser.download.dir": str(downloads),
                 "browser.download.useDownloadDir": True, "browser.helperApps.neverAsk.saveToDisk": "text/csv",
                 "browser.download.alwaysOpenPanel": False, "datareporting.policy.dataSubmissionEnabled": False}
        Path(self.profile, "user.js").write_text("".join("user_pref(%s, %s);\n" % (json.dumps(k), json.dumps(v))
                                                         for k, v in prefs.items()))
        self.process = subprocess.Popen([browser, "--headless", "--marionette", "--no-remote", "--profile", self.profile],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.profile})
        for _ in range(600):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=600)
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        self.number = 0
        self.read()
        self.send("WebDriver:NewSession", {})
        self.send("WebDriver:SetTimeouts", {"script": 600000})

    def read(self):
        size = b""
        while not size.endswith(b":"):
            size += self.socket.recv(1)
        data = b""
        while len(data) < int(size[:-1]):
            data += self.socket.recv(int(size[:-1]) - len(data))
        return json.loads(data)

    def send(self, command, parameters):
        self.number += 1
        text = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self.read()
        need(error is None, "%s: %s" % (command, error))
        return result

    def go(self, url): self.send("WebDriver:Navigate", {"url": url})
    def run(self, script): return self.send("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]
    def choose(self, path):
        found = self.send("WebDriver:FindElement", {"using": "css selector", "value": "#file"})["value"]
        self.send("WebDriver:ElementSendKeys", {"id": found[ELEMENT], "text": str(path)})

    def shot(self): return base64.b64decode(self.send("WebDriver:TakeScreenshot", {"full": False})["value"])
    def look(self, width, height, _): self.send("WebDriver:SetWindowRect", {"width": width, "height": height})
    def origins(self): return set()
    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    def __init__(self, browser, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.downloads = folder / ("downloads-" + browser.__name__)
        self.downloads.mkdir()
        self.server, self.elsewhere = Server(arguments.web), Server(arguments.web)
        self.browser = browser(self.downloads)

    def until(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not self.browser.run("return !!(%s)" % condition):
            need(time.monotonic() < end, "not within %d s: %s; the page says: %s" % (
                seconds, condition, self.browser.run("return document.body.innerText")))
            time.sleep(0.05)

    def open(self, name, content=None, until="!document.getElementById('links').disabled", seconds=120):
        path = self.folder / name
        if content is not None:
            path.write_bytes(content)
        self.browser.go(self.server.url)
        self.until("document.getElementById('folder') && window.onload !== undefined")
        time.sleep(0.3)
        self.browser.choose(path)
        begin = time.monotonic()
        self.until(until, seconds)
        return time.monotonic() - begin

    def text(self, selector): return self.browser.run("return document.querySelector('%s').textContent" % selector)
    def cut(self, by, number):
        self.browser.run("document.querySelector('[value=%s]').click(); document.getElementById('number').value = %d;"
                         "document.getElementById('links').click()" % (by, number))

    def test_cut(self):
        """Choose, cut, download; the pieces are those of the command, and no other origin is asked"""
        self.open("orders.csv", SAMPLE)
        said = self.text("#list")
        check("5,000" in said and "comma" in said, "the page says what the file is: %s" % said)
        self.cut("pieces", 3)
        self.until("document.querySelectorAll('#pieces a').length === 3")
        self.browser.run("document.getElementById('all').click()")
        names = ["orders.%d.csv" % i for i in (1, 2, 3)]
        end = time.monotonic() + 30
        while not all((self.downloads / name).exists() for name in names) and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(0.5)
        pieces = [(self.downloads / name).read_bytes() for name in names]
        check(pieces[0] + b"".join(piece[8:] for piece in pieces[1:]) == SAMPLE and
              all(piece.startswith(b"id,note\n") and piece.endswith(b'"\n') for piece in pieces), "the pieces are whole")
        check(max(map(len, pieces)) - min(map(len, pieces)) < 100, "and alike: %s" % list(map(len, pieces)))

    def test_limits(self):
        """Records and sizes; a header once"""
        self.open("few.csv", b"a;b\n1;2\n3;4\n5;6\n")
        self.browser.run("document.getElementById('repeat').click()")
        self.cut("records", 2)
        self.until("document.querySelectorAll('#pieces a').length === 2")
        check("2 records" in self.text("#pieces li") and "1 record," in self.text("#pieces li + li"), self.text("#pieces"))
        self.cut("bytes", 1)
        self.until("document.querySelectorAll('#pieces a').length === 1")

    def test_faults(self):
        """A fault has its byte, line and record; another format is named"""
        self.open("open.csv", b'a\n1\n"2\n', "!document.getElementById('said').hidden")
        check("(byte 4, line 3, record 2)" in self.text("#said"), self.text("#said"))
        self.open("a.parquet", b"PAR1\0\1\2\3", "!document.getElementById('said').hidden")
        check("a Parquet file, not CSV" in self.text("#said"), self.text("#said"))
        self.open("lines.csv", b'{"a":1}\n{"a":2}\n', "!document.getElementById('said').hidden")
        check(self.text("#said").endswith("this looks like JSON Lines, not CSV"), "no options are named: %s" % self.text("#said"))

    def test_policy(self):
        """Neither the page nor its worker can ask another origin"""
        self.open("few.csv", b"a\n1\n")
        fetch = "fetch('%s').then(() => 'reached', () => 'refused').then(text => %%s)" % self.elsewhere.url
        worker = "URL.createObjectURL(new Blob([%s]))" % json.dumps(fetch % "postMessage(text)")
        self.browser.run("window.found = []; %s; window.asker = new Worker(%s); window.asker.onmessage = "
                         "event => window.found.push(event.data)" % (fetch % "window.found.push(text)", worker))
        self.until("window.found.length === 2", 20)
        check(self.browser.run("return window.found") == ["refused"] * 2, "both are refused")
        check(self.elsewhere.requests == [], "nothing arrives elsewhere: %s" % self.elsewhere.requests)
        origins = self.browser.origins() - {self.server.url.split("/")[2]}
        check(origins == set() or origins == {self.elsewhere.url.split("/")[2]}, "all requests: %s" % origins)
        files = {path.split("?")[0].lstrip("/") for path in self.server.requests}
        check(files <= {"", *os.listdir(self.arguments.web)}, "only files of the page: %s" % files)

    def test_shots(self):
        """The page fits a phone; pictures are kept if a folder is given"""
        self.open("orders with a rather long name of 2026.csv", SAMPLE)
        self.cut("pieces", 4)
        self.until("document.querySelectorAll('#pieces a').length === 4")
        for name, width, height, is_dark in (("wide", 1280, 1100, False), ("dark", 1280, 1100, True), ("phone", 390, 1300, False)):
            self.browser.look(width, height, is_dark)
            time.sleep(0.5)
            check(self.browser.run("return document.documentElement.scrollWidth <= innerWidth"), "%s fits" % name)
            if self.arguments.shots:
                Path(self.arguments.shots, "%s-%s.png" % (type(self.browser).__name__, name)).write_bytes(self.browser.shot())

    def test_large(self):
        """A file of 5 GB is counted and cut; it can be cancelled"""
        if not self.arguments.large:
            raise Skip("it takes long: from --large")
        path = self.folder / "large.csv"
        if not path.exists():
            with open(path, "wb") as file:
                file.write(b"a,b\n")
                row = b'12345,"some text, quoted",67.8\n' * 33000
                for at in range(4, 5 << 30, 1 << 30):   # records at both sides of 4 GB; long ones between
                    file.seek(at)
                    file.write(row)
                file.truncate((5 << 30) - 1)
                file.seek((5 << 30) - 1)
                file.write(b"\n")
        self.open("few.csv", b"a\n1\n")
        before = self.used()[0]
        seconds = self.open("large.csv", seconds=300)
        cpu, resident = self.used()
        print("counted 5 GB in %.1f s: %.0f MB/s; %.0f MB per second of a processor" % (
            seconds, (5 << 30) / seconds / 1e6, (5 << 30) / (cpu - before) / 1e6))
        print("memory of the processes of the browser, MB: %s" % resident)
        said = self.text("#list")
        check("165,00" in said, "records: %s" % said)
        self.cut("pieces", 2)
        self.until("!document.getElementById('cutting').hidden")
        self.browser.run("document.getElementById('cancel').click()")
        self.until("document.getElementById('said').textContent.startsWith('Cancelled')")
        check(self.browser.run("return document.querySelectorAll('#pieces a').length") == 0, "no piece is left")
        self.cut("pieces", 2)
        self.until("document.querySelectorAll('#pieces a').length === 2", 300)

    def used(self):
        """The seconds of processors that the browser has used, and the memory of its processes."""
        root = self.browser.driver.pid if isinstance(self.browser, Chromium) else self.browser.process.pid
        rows = [line.split() for line in subprocess.check_output(
            ["ps", "-eo", "pid,ppid"], text=True).splitlines()[1:]]
        mine = {root}
        for _ in range(5):
            mine |= {int(row[0]) for row in rows if int(row[1]) in mine}
        ticks, memory = 0, []
        for pid in mine:
            try:
                fields = Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
                status = Path("/proc/%d/status" % pid).read_text()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
            # Without pages of files, and of memory that processes share.
            memory.append(int(status.split("RssAnon:")[1].split()[0]) // 1024 if "RssAnon:" in status else 0)
        return ticks / os.sysconf("SC_CLK_TCK"), sorted(memory, reverse=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--web", required=True, type=Path)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--shots")
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory(dir=os.environ.get("CLEAVE_LARGE_FOLDER")) as scratch:
        for browser in (Chromium, Firefox):
            try:
                page = Page(browser, arguments, Path(scratch))
            except Skip as skip:
                tally.run(browser.__name__, functools.partial(lambda skip: (_ for _ in ()).throw(skip), skip))
                continue
            try:
                for test in (page.test_cut, page.test_limits, page.test_faults, page.test_policy, page.test_shots, page.test_large):
                    tally.run("%s: %s" % (browser.__name__, test.__doc__), test)
            finally:
                page.browser.close()
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
