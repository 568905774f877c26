"""How the address of another server is read from here."""

import os

import pytest

from headway.http.relays import reachable
from headway.scheduler.explain.log_places import Server
from headway.worker import process_groups

HERE = (os.uname().nodename, f"{process_groups.boot_id()}/1")


@pytest.mark.parametrize(
    ("host", "process_started", "url", "expected"),
    [
        (*HERE, "http://127.0.0.1:1", "http://127.0.0.1:1"),
        (*HERE, "http://localhost:1", "http://localhost:1"),
        (*HERE, "http://[::1]:1", "http://[::1]:1"),
        (*HERE, "http://0.0.0.0:1", "http://127.0.0.1:1"),
        ("far", "boot/1", "http://127.0.0.1:1", None),
        (HERE[0], "another boot/1", "http://127.0.0.1:1", None),
        ("far", "boot/1", "http://0.0.0.0:1", "http://far:1"),
        ("far", "boot/1", "http://10.0.0.7:1", "http://10.0.0.7:1"),
        ("far", "boot/1", "http://far.example:1", "http://far.example:1"),
    ],
)
def test_a_server_is_reached_by_what_it_listens_on(
    host: str, process_started: str, url: str, expected: str | None
) -> None:
    server = Server(host=host, process_started=process_started, url=url)
    assert reachable(server) == expected
