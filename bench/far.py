"""A database that is some milliseconds away: a relay that passes everything on a little later.

On one machine the servers and their database share the cores, and one server can fill them all.
Behind the relay a server waits for the network most of the time, so what is seen is whether servers
wait for each other.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

SOCKET = ".s.PGSQL.5432"


@contextmanager
def relay(url: str, delay_ms: float) -> Iterator[str]:
    """The URL of the same database, so many milliseconds further away in each direction."""
    (near,) = parse_qs(urlsplit(url).query)["host"]
    with tempfile.TemporaryDirectory(prefix="headway-far-", dir="/tmp") as folder:
        command = [sys.executable, "-m", "bench.far", near, folder, str(delay_ms)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            running.stdout.readline()
            try:
                yield urlsplit(url)._replace(query=f"host={folder}").geturl()
            finally:
                running.kill()


async def _serve(near: Path, far: Path, delay_s: float) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(near / SOCKET)
        await asyncio.gather(_pass_on(reader, back, delay_s), _pass_on(there, writer, delay_s))

    async with await asyncio.start_unix_server(accept, far / SOCKET) as server:
        print("ready", flush=True)
        await server.serve_forever()


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float
) -> None:
    loop = asyncio.get_running_loop()
    while piece := await reader.read(1 << 16):
        loop.call_later(delay_s, writer.write, piece)
    loop.call_later(delay_s, writer.close)


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) / 1000))
