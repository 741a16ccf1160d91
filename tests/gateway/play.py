"""Plays frame scripts against `ralph-copilot gateway serve --json`, with the `websockets` client.

Usage: play.py PROGRAM SCRIPT...

A script has scenarios, each with a gateway of its own. Its lines are:
  ## TEXT         begins a scenario; the lines before the first one are comments
  + ARGUMENTS     arguments of `gateway serve`, instead of none (the first line of a scenario)
  > JSON          sends a text frame; the first line of a connection opens it
  < JSON          the next frame must be this one, with these keys and no others
  >raw TEXT       sends any text
  >hex DIGITS     sends a binary frame
  >bin JSON       sends JSON as a binary frame
  >parts A|B|C    sends a text in fragments
  >text HEX       sends a text frame of these bytes, which may be no UTF-8
  >size N KIND ID sends a frame of N bytes of this type, with an id and data
  >flood N JSON   sends a frame N times
  !               closes the connection
  !!              drops the connection without a word
  ~ [CODE]        the gateway must close the connection
  $ JSON          a command on the gateway's standard input
  $raw TEXT       any line there
  = JSON          waits for an event with these keys; others stay for later lines
  =! JSON         no event so far has these keys
  ? CODE          the gateway must end with this exit code; `eof` and `term` cause it
  eof, term       ends standard input; sends SIGTERM
A letter before a frame's line names its connection, as in `b< {…}`; without one it is `a`.
In JSON, "$name" is any value the first time and the same one later; "$token" is the gateway's;
"$_" is any value. "@N" is a text of N letters.
"""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
import tempfile

import websockets
from websockets.frames import Opcode

LIMIT = float(os.environ.get("PLAY_LIMIT", 30))  # Seconds that anything may take.
FRAME = re.compile(r"^([a-z])?(>raw|>hex|>bin|>parts|>text|>size|>flood|>|<|!!|!|~)(?: (.*))?$", re.S)
BESIDE = re.compile(r"^(\$raw|\$|=!|=|\?|\+|eof|term)(?: (.*))?$", re.S)


class Wrong(Exception):
    pass


def fill(value, names):
    """A value to send: names and repetitions are replaced."""
    if isinstance(value, dict):
        return {key: fill(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, names) for inner in value]
    if isinstance(value, str) and value.startswith("$"):
        return names[value[1:]]
    if isinstance(value, str) and re.fullmatch(r"@\d+", value):
        return "x" * int(value[1:])
    return value


def matches(want, got, names, exact):
    """Compares, and binds the names that are new."""
    if isinstance(want, str) and want.startswith("$"):
        if want == "$_":
            return True
        return names.setdefault(want[1:], got) == got
    if isinstance(want, str) and re.fullmatch(r"@\d+", want):
        return got == "x" * int(want[1:])
    if isinstance(want, dict) and isinstance(got, dict):
        keys = set(want) == set(got) if exact else set(want) <= set(got)
        return keys and all(matches(want[key], got[key], names, exact) for key in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(
            matches(one, other, names, exact) for one, other in zip(want, got)
        )
    return type(want) is type(got) and want == got


def brief(value):
    text = json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) < 400 else text[:400] + "…"


class Scene:
    """One gateway with its connections."""

    def __init__(self, program, folder, arguments):
        self.program, self.folder, self.arguments = program, folder, arguments
        self.sockets, self.names, self.events = {}, {}, []
        self.more = asyncio.Event()

    async def start(self):
        home = os.path.join(self.folder, "copilot")
        self.process = await asyncio.create_subprocess_exec(
            self.program, "gateway", "serve", "--json", "--port", "0", *self.arguments,
            env={**os.environ, "COPILOT_HOME": home}, cwd=self.folder,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=64 << 20,
        )
        self.reader = asyncio.create_task(self.read())
        ready = await self.event({"event": "gateway_ready"})
        self.url = ready["url"]
        with open(ready["token_file"]) as file:
            self.names["token"] = file.read().strip()

    async def read(self):
        while line := await self.process.stdout.readline():
            self.events.append(json.loads(line))
            self.more.set()

    async def event(self, want):
        while True:
            for at, got in enumerate(self.events):
                names = dict(self.names)
                if matches(want, got, names, exact=False):
                    self.names.update(names)
                    return self.events.pop(at)
            self.more.clear()
            try:
                await asyncio.wait_for(self.more.wait(), LIMIT)
            except asyncio.TimeoutError:
                raise Wrong(f"no such event; there are {brief(self.events)}")

    async def socket(self, name):
        if name not in self.sockets:
            self.sockets[name] = await websockets.connect(self.url, max_size=None, ping_interval=None, open_timeout=LIMIT)
        return self.sockets[name]

    async def frame(self, name, kind, rest):
        socket = await self.socket(name)
        if kind == "<":
            try:
                got = await asyncio.wait_for(socket.recv(), LIMIT)
            except asyncio.TimeoutError:
                raise Wrong("no frame came")
            except websockets.ConnectionClosed as error:
                raise Wrong(f"the connection is closed: {error}")
            if not matches(json.loads(rest), json.loads(got), self.names, exact=True):
                raise Wrong(f"this came: {brief(got)}")
        elif kind == ">":
            await socket.send(json.dumps(fill(json.loads(rest), self.names)))
        elif kind == ">raw":
            await socket.send(rest or "")
        elif kind == ">hex":
            await socket.send(bytes.fromhex(rest))
        elif kind == ">bin":
            await socket.send(json.dumps(fill(json.loads(rest), self.names)).encode())
        elif kind == ">parts":
            await socket.send(rest.split("|"))
        elif kind == ">text":
            # Below the client's own check of what is text.
            socket.protocol.writes.append(self.masked(bytes.fromhex(rest)))
            socket.transport.writelines(socket.protocol.data_to_send())
        elif kind == ">size":
            size, kind, id = (rest.split(" ") + [""])[:3]
            frame = {"type": kind, "id": self.names.get(id[1:], id), "data": ""}
            frame["data"] = "x" * (int(size) - len(json.dumps(frame)))
            try:
                await socket.send(json.dumps(frame))
            except websockets.ConnectionClosed:
                pass  # The gateway need not read to the end.
        elif kind == ">flood":
            count, frame = rest.split(" ", 1)
            text = json.dumps(fill(json.loads(frame), self.names))
            for _ in range(int(count)):
                await socket.send(text)
        elif kind == "!":
            await socket.close()
        elif kind == "!!":
            socket.transport.abort()
        elif kind == "~":
            try:
                async with asyncio.timeout(LIMIT):
                    extra = [frame async for frame in self.rest(socket)]
            except TimeoutError:
                raise Wrong("the connection is open")
            if extra:
                raise Wrong(f"this came before the end: {brief(extra)}")
            if rest and socket.close_code != int(rest):
                raise Wrong(f"the connection is closed with {socket.close_code}")

    @staticmethod
    def masked(payload):
        """A text frame of any bytes, with a mask of zeros."""
        return bytes([0x80 | Opcode.TEXT, 0x80 | len(payload)]) + bytes(4) + payload

    @staticmethod
    async def rest(socket):
        try:
            while True:
                yield await socket.recv()
        except websockets.ConnectionClosed:
            return

    async def beside(self, kind, rest):
        if kind == "$" or kind == "$raw":
            line = rest if kind == "$raw" else json.dumps(fill(json.loads(rest), self.names))
            self.process.stdin.write(line.encode() + b"\n")
            await self.process.stdin.drain()
        elif kind == "=":
            await self.event(json.loads(rest))
        elif kind == "=!":
            want = json.loads(rest)
            for got in self.events:
                if matches(want, got, dict(self.names), exact=False):
                    raise Wrong(f"there is {brief(got)}")
        elif kind == "eof":
            self.process.stdin.close()
        elif kind == "term":
            self.process.send_signal(signal.SIGTERM)
        elif kind == "?":
            try:
                code = await asyncio.wait_for(self.process.wait(), LIMIT)
            except asyncio.TimeoutError:
                raise Wrong("the gateway is still there")
            await self.reader
            if code != int(rest):
                raise Wrong(f"the gateway ended with {code}")

    async def end(self):
        for socket in self.sockets.values():
            socket.transport.abort()
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        self.reader.cancel()


def scenarios(path):
    """(number of the first line, title, lines) of each scenario."""
    found = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if line.startswith("## "):
                found.append((line[3:], []))
            elif found and line.strip():
                found[-1][1].append((number, line))
    return found


async def play(program, path, title, lines):
    arguments = []
    if lines and lines[0][1].startswith("+"):
        arguments = shlex.split(lines[0][1][1:])
        lines = lines[1:]
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(program, folder, arguments)
        await scene.start()
        try:
            for number, line in lines:
                try:
                    if found := FRAME.match(line):
                        await scene.frame(found[1] or "a", found[2], found[3] or "")
                    elif found := BESIDE.match(line):
                        await scene.beside(found[1], found[2] or "")
                    else:
                        raise Wrong("no line of a script")
                except Wrong as wrong:
                    return f"{path}:{number}: {title}\n  {brief(line)}\n  {wrong}"
        finally:
            await scene.end()


async def main(program, paths):
    program = os.path.abspath(program)
    failed, played = [], 0
    for path in paths:
        for title, lines in scenarios(path):
            wrong = await play(program, path, title, lines)
            played += 1
            failed += [wrong] if wrong else []
    print("\n".join(failed))
    print(f"{played - len(failed)} of {played} scenarios passed")
    return 1 if failed or not played else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))
