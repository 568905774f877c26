"""An ASGI application that returns what it was sent, on the HTTP server that Headway uses."""

import socket

import uvicorn
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope


async def echo(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Read the whole body and send it back."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")  # type: ignore[operator]  # only HTTP arrives here
        more = bool(message.get("more_body", False))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send(
        {"type": "http.response.start", "status": 200, "headers": headers, "trailers": False}
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})


def main() -> None:
    """Serve on a free port of the loopback, and print where."""
    # With the protocol named, asyncio sends small packets at once, as it does for Headway.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(echo, log_config=None, access_log=False, lifespan="off")
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
