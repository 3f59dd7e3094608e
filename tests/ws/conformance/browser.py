"""examples/chat in a browser: two windows of headless Chromium, driven by its DevTools protocol, talk to each other."""
import asyncio
import base64
import json
import pathlib
import shutil
import signal
import subprocess
import urllib.request


def find_browser():
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


class Window:
    """One tab, and what is asked of it."""

    def __init__(self, socket):
        self.socket, self.asked = socket, 0

    async def call(self, method, **parameters):
        self.asked += 1
        await self.socket.send(json.dumps({"id": self.asked, "method": method, "params": parameters}))
        while (said := json.loads(await self.socket.recv())).get("id") != self.asked:
            pass   # an event
        if "error" in said:
            raise AssertionError(f"{method}: {said['error']}")
        return said["result"]

    async def value_of(self, expression):
        return (await self.call("Runtime.evaluate", expression=expression, returnByValue=True))["result"].get("value")

    async def say(self, line):
        await self.value_of(f"field.value = {json.dumps(line)}; document.querySelector('form').requestSubmit()")

    async def hears(self, line, seconds=30):
        for _ in range(10 * seconds):
            if line in (await self.value_of("typeof said == 'undefined' ? '' : said.textContent")).splitlines():
                return True
            await asyncio.sleep(0.1)
        return False


async def talk(debugging, page, pictures, expect, stop_server):
    from websockets.asyncio.client import connect

    def open_tab(name):
        url = f"http://127.0.0.1:{debugging}/json/new?{page}?name={name}"
        return json.load(urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=30))["webSocketDebuggerUrl"]

    async with connect(open_tab("ann"), max_size=None) as a:
        ann = Window(a)
        expect("the first window hears itself come in", await ann.hears("ann comes in"))
        async with connect(open_tab("bob"), max_size=None) as b:
            await converse(ann, Window(b), pictures, expect)
        stop_server()


async def converse(ann, bob, pictures, expect):
    expect("both hear the second one come in", await bob.hears("bob comes in") and await ann.hears("bob comes in"))
    for line in ("Hello, Bob!", "<b>not bold</b> & ünï©ødé 🧵", "z" * 4000):
        await ann.say(line)
        expect(f"both hear {line[:20]!r}", await bob.hears(f"ann: {line}") and await ann.hears(f"ann: {line}"))
    await bob.say("Hello, Ann!")
    expect("in the other direction, too", await ann.hears("bob: Hello, Ann!"))
    expect("compression is agreed on", str(await ann.value_of("socket.extensions")).startswith("permessage-deflate"))
    for name, window in (("ann", ann), ("bob", bob)):
        picture = (await window.call("Page.captureScreenshot"))["data"]
        (pictures / f"{name}.png").write_bytes(base64.b64decode(picture))
    await bob.value_of("socket.close(1000)")
    expect("who leaves is missed", await ann.hears("bob leaves") and await bob.hears("(closed: 1000)"))
    await ann.say("x" * 5000)
    expect("a message over the limit ends the connection by 1009", await ann.hears("(closed: 1009)"))


def check(chat, folder, expect):
    """\\returns where the pictures are. `chat` is examples/chat."""
    server = subprocess.Popen([chat, "0"], stdout=subprocess.PIPE, text=True)
    browser = None
    try:
        page = f"http://127.0.0.1:{int(server.stdout.readline().rsplit(':', 1)[1])}/"
        log = (folder / "browser.log").open("w")
        browser = subprocess.Popen([find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
                                    f"--user-data-dir={folder / 'profile'}", "about:blank"], stdout=log, stderr=log, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})
        told = folder / "profile" / "DevToolsActivePort"

        async def whole():
            for _ in range(600):
                if told.exists() and told.read_text().strip():
                    break
                await asyncio.sleep(0.1)
            await talk(int(told.read_text().split()[0]), page, folder, expect, lambda: server.send_signal(signal.SIGTERM))
        asyncio.run(asyncio.wait_for(whole(), 240))
        expect("the server ends in order", server.wait(timeout=30) == 0)
    finally:
        for process in (browser, server):
            if process:
                process.kill()
                process.wait()
    return pathlib.Path(folder)
