# A provider: python3 providers.py FOLDER GO. It waits for the file GO, connects to the gateway whose
# token lies in FOLDER, offers its tools, and prints one line for each call and each cancellation.
import asyncio
import json
import os
import sys

import websockets

TOOLS = ["greet", "show", "fail", "long", "wait", "die", "more", "notify"]


def tool(name):
    return {"name": name, "description": f"Does {name}", "parameters": {"type": "object"}}


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read().strip()


def say(*words):
    print(*words, flush=True)


async def main(folder, go):
    while not os.path.exists(go):
        await asyncio.sleep(0.05)
    url = f"ws://127.0.0.1:{read(folder, '.gateway-port')}"
    async with websockets.connect(url) as socket:
        async def send(**frame):
            await socket.send(json.dumps(frame))

        await send(type="auth", token=read(folder, ".provider-token"))
        async for text in socket:
            frame = json.loads(text)
            kind = frame["type"]
            if kind == "sessions":
                session = frame["active"][0]["id"]
                await send(type="hello", name="desk", protocolVersion=2, session=session,
                           tools=[tool(name) for name in TOOLS])
            elif kind == "hello.ack":
                say("bound")
            elif kind == "tool.call":
                name, call = frame["tool"], frame["id"]
                say("call", name, json.dumps(frame["args"]))
                if name == "greet":
                    await send(type="tool.result", id=call, data=f"Hello, {frame['args']['name']}!")
                elif name == "long":
                    secret = "ghp_" + "dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH"
                    await send(type="tool.result", id=call, data=f"key {secret} " + "x" * 20_000)
                elif name == "fail":
                    await send(type="tool.result", id=call, error="broken", errorCode="INTERNAL")
                elif name == "more":
                    tools = [tool(name) for name in [*TOOLS, "late"]]
                    await send(type="tools.update", tools=tools)
                    await send(type="tool.result", id=call, data="one more")
                elif name == "notify":
                    await send(type="push", level="inject", event=frame["args"]["event"])
                    await send(type="tool.result", id=call, data="told")
                elif name == "late":
                    await send(type="tool.result", id=call, data="I am new here")
                elif name == "die":
                    os._exit(9)
            elif kind == "tool.cancel":
                say("cancel", frame["reason"])
            elif kind == "session.lifecycle" and frame["state"] == "shutdown.pending":
                await send(type="goodbye")


asyncio.run(main(*sys.argv[1:]))
