"""Wake-ups between processes, when what is around them is not as it should be."""

import shutil
import socket
import threading
from pathlib import Path

from headway.storage.sqlite.datagrams import Datagrams

PATIENCE_S = 30.0


def test_words_that_are_no_text_do_not_end_the_listening(tmp_path: Path) -> None:
    datagrams = Datagrams(tmp_path / "headway.db")
    heard = threading.Event()
    stop = datagrams.receive(lambda topics: heard.set() if "ready" in topics else None)
    (own,) = (tmp_path / "headway.db.wake").iterdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        for message in (b"\xff\xfe", b"ready"):
            stranger.sendto(message, str(own))
    assert heard.wait(PATIENCE_S)
    stop()
    datagrams.close()


def test_a_folder_that_is_gone_does_not_hold_up_the_end(tmp_path: Path) -> None:
    datagrams = Datagrams(tmp_path / "headway.db")
    stop = datagrams.receive(lambda topics: None)
    shutil.rmtree(tmp_path / "headway.db.wake")
    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    stopping.join(PATIENCE_S)
    assert not stopping.is_alive()
    datagrams.close()
