"""However many batches come at once, others write in between."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tests.servers import Server

BATCHES = 12
BODY = b'{"jobs":[' + b",".join([b'{"job_type":"idle"}'] * 15_000) + b"]}"


def test_a_small_write_does_not_wait_for_all_of_them(server: Server) -> None:
    waits: list[float] = []
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            began = time.monotonic()
            server.submit("idle", delay_s=3600)
            waits.append(time.monotonic() - began)

    def submit(_: int) -> int:
        with server.client(server.token) as http:
            return http.post("/api/jobs/batch", content=BODY).status_code

    began = time.monotonic()
    with ThreadPoolExecutor(BATCHES + 1) as pool:
        writing = pool.submit(write)
        assert list(pool.map(submit, range(BATCHES))) == [201] * BATCHES
        done.set()
        writing.result()
    assert max(waits) < (time.monotonic() - began) / 2
