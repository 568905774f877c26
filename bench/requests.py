"""What a submit over HTTP costs the server, beside an application that only echoes."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench.cost import Cost, Meter
from bench.remote import serving

BODY = json.dumps({"job_type": "none", "params": {"n": 1}})


def submits(count: int, connections: int, db: str | None = None) -> Cost:
    """`POST /api/jobs`, one after another on each connection; the CPU is the server's."""
    with serving(db) as served:
        return _measure(served.pid, served.url, served.token, count, connections)


def echoes(count: int, connections: int) -> Cost:
    """The same requests to a bare ASGI application on the same server library."""
    with _echoing() as (pid, url):
        return _measure(pid, url, "none", count, connections)


def _measure(pid: int, url: str, token: str, count: int, connections: int) -> Cost:
    host, _, port = url.removeprefix("http://").partition(":")
    request = (
        f"POST /api/jobs HTTP/1.1\r\nhost: {host}:{port}\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n{BODY}"
    ).encode()
    asyncio.run(_send(host, int(port), request, 200 // connections, connections))
    meter = Meter(pid)
    asyncio.run(_send(host, int(port), request, count // connections, connections))
    return meter.cost(count)


async def _send(host: str, port: int, request: bytes, each: int, connections: int) -> None:
    await asyncio.gather(*(_on_one(host, port, request, each) for _ in range(connections)))


async def _on_one(host: str, port: int, request: bytes, count: int) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    for _ in range(count):
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith((b"http/1.1 200", b"http/1.1 201")), head
        await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
    writer.close()


@contextmanager
def _echoing() -> Iterator[tuple[int, str]]:
    command = [sys.executable, "-m", "bench.echo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.pid, process.stdout.readline().strip()
        finally:
            process.terminate()
