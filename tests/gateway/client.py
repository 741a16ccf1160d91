"""A provider that its test drives: lines of standard input are frames to send, and frames that
come are printed as lines. Ends with the connection, or hangs up at the end of standard input.

Usage: client.py URL
"""

import asyncio
import sys

import websockets


async def main(url):
    async with websockets.connect(url, max_size=None, open_timeout=60) as socket:
        reader = asyncio.StreamReader(limit=64 << 20)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

        async def show():
            async for frame in socket:
                print(frame, flush=True)

        async def say():
            while line := await reader.readline():
                await socket.send(line.decode().rstrip("\n"))

        tasks = [asyncio.create_task(show()), asyncio.create_task(say())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


try:
    asyncio.run(main(sys.argv[1]))
except websockets.ConnectionClosed:
    pass
