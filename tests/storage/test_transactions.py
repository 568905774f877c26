"""Writing, reading and waking, on each database."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from tests.storage.conftest import OpenStore

from headway.domain import errors
from headway.storage import events
from headway.storage.engine.store import Store
from headway.storage.engine.transaction import DELIVERIES, EVENTS, READY, Transaction

T = TypeVar("T")

PATIENCE_S = 30


def put(name: str, value: str = "x") -> Callable[[Transaction], int]:
    """Work that sets a fact."""
    return lambda tx: tx.do("set_fact", name=name, value=value)


def fact(store: Store, name: str) -> str | None:
    """A fact as it is stored."""
    row = store.read(lambda tx: tx.row("fact", name=name))
    return None if row is None else str(row["value"])


def test_what_was_written_is_read(store: Store) -> None:
    assert store.write(put("a", "one")) == 1
    assert fact(store, "a") == "one"
    assert store.write(put("a", "two")) == 0
    assert fact(store, "a") == "one"


def test_a_piece_of_work_that_fails_is_undone_alone(store: Store) -> None:
    def fail(tx: Transaction) -> None:
        put("lost")(tx)
        raise errors.NotFound("thing", "x")

    first, failed, last = _in_one_commit(store, [put("first"), fail, put("last")])
    assert first.result(PATIENCE_S) == last.result(PATIENCE_S) == 1
    with pytest.raises(errors.NotFound):
        failed.result(PATIENCE_S)
    assert [fact(store, name) for name in ("first", "lost", "last")] == ["x", None, "x"]


def test_history_is_written_with_the_work_and_undone_with_it(store: Store) -> None:
    def noting(kind: str, *, fails: bool = False) -> Callable[[Transaction], None]:
        def work(tx: Transaction) -> None:
            tx.note(kind, None, {"of": kind})
            tx.note_all("job.queued", {7: {}, 5: {}})
            if fails:
                raise errors.NotFound("thing", "x")

        return work

    works = [noting("first"), noting("lost", fails=True), noting("last")]
    for done in _in_one_commit(store, works):
        done.exception(PATIENCE_S)
    written = store.read(lambda tx: events.after(tx, 0, 100))
    assert [(one.seq, one.kind, one.number, one.data) for one in written] == [
        (1, "first", None, {"of": "first"}),
        (2, "job.queued", 7, {}),
        (3, "job.queued", 5, {}),
        (4, "last", None, {"of": "last"}),
        (5, "job.queued", 7, {}),
        (6, "job.queued", 5, {}),
    ]


def test_a_refused_statement_undoes_only_its_own_piece_of_work(store: Store) -> None:
    def refuse(tx: Transaction) -> None:
        put("lost")(tx)
        tx.do("insert_group", group_id="g", name=None, mode="?", on_failure="stop", created_at=0)

    first, failed, last = _in_one_commit(store, [put("first"), refuse, put("last")])
    assert isinstance(failed.exception(PATIENCE_S), Exception)
    assert first.result(PATIENCE_S) == last.result(PATIENCE_S) == 1
    assert [fact(store, name) for name in ("first", "lost", "last")] == ["x", None, "x"]


def test_callers_who_wait_together_share_a_commit(store: Store) -> None:
    before = store.writer.commits
    done = _in_one_commit(store, [put(f"fact {n}") for n in range(50)])
    assert [one.result(PATIENCE_S) for one in done] == [1] * 50
    assert store.writer.commits == before + 2


def test_a_caller_is_answered_only_when_others_can_see_the_work(
    store: Store, open_store: OpenStore
) -> None:
    other = open_store()
    for n in range(20):
        store.write(put(f"fact {n}"))
        assert fact(other, f"fact {n}") == "x"


def test_a_reader_sees_one_state_from_beginning_to_end(store: Store) -> None:
    def look_twice(tx: Transaction) -> tuple[bool, bool]:
        before = tx.row("fact", name="new") is None
        store.write(put("new"))
        return before, tx.row("fact", name="new") is None

    assert store.read(look_twice) == (True, True)
    assert fact(store, "new") == "x"


def test_a_reader_changes_nothing(store: Store) -> None:
    with pytest.raises(Exception, match=r"read-?only"):
        store.read(put("new"))
    assert fact(store, "new") is None


def test_many_readers_read_at_once(store: Store) -> None:
    store.write(put("a"))
    together = threading.Barrier(6)

    def look(tx: Transaction) -> bool:
        together.wait(PATIENCE_S)
        return tx.row("fact", name="a") is not None

    answers: list[bool] = []
    threads = [threading.Thread(target=lambda: answers.append(store.read(look))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert answers == [True] * 6


def test_a_commit_wakes_this_store_and_others(store: Store, open_store: OpenStore) -> None:
    other = open_store()
    here, there = _wakes(store, EVENTS), _wakes(other, EVENTS)
    store.write(lambda tx: tx.wake(EVENTS, READY))
    assert here.wait(PATIENCE_S)
    assert there.wait(PATIENCE_S)


def test_only_those_who_wait_for_the_topic_are_woken(store: Store, open_store: OpenStore) -> None:
    other = open_store()
    wanted, unwanted = _wakes(other, EVENTS), _wakes(other, DELIVERIES)
    store.write(lambda tx: tx.wake(EVENTS))
    assert wanted.wait(PATIENCE_S)
    assert not unwanted.is_set()


def test_work_that_fails_wakes_no_listener(store: Store, open_store: OpenStore) -> None:
    other = open_store()
    unwanted, wanted = _wakes(other, DELIVERIES), _wakes(other, EVENTS)

    def fail(tx: Transaction) -> None:
        tx.wake(DELIVERIES)
        raise errors.NotFound("thing", "x")

    with pytest.raises(errors.NotFound):
        store.write(fail)
    store.write(lambda tx: tx.wake(EVENTS))
    assert wanted.wait(PATIENCE_S)
    assert not unwanted.is_set()


def test_a_waiting_thread_writes_by_itself_when_no_other_does(store: Store) -> None:
    assert _in_a_thread(lambda: store.write(_thread)) == (PEN, PEN)


def test_a_thread_that_waits_leaves_it_to_the_writer_while_others_wait(store: Store) -> None:
    started, all_there = threading.Event(), threading.Event()

    def keep_busy(_: Transaction) -> None:
        started.set()
        all_there.wait(PATIENCE_S)

    first = store.write_later(keep_busy)
    assert started.wait(PATIENCE_S)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(store.write, _thread)
        all_there.set()
        assert second.result(PATIENCE_S) == "headway-writer"
    first.result(PATIENCE_S)


def test_the_main_thread_never_writes_for_a_ctrl_c_may_come_at_any_moment(store: Store) -> None:
    assert store.write(_thread) == "headway-writer"


def test_work_that_fails_in_the_caller_s_thread_leaves_the_next_one_its_turn(store: Store) -> None:
    def fail(tx: Transaction) -> None:
        put("lost")(tx)
        raise SystemExit(1)

    def write() -> int:
        with pytest.raises(RuntimeError, match="SystemExit"):
            store.write(fail)
        with pytest.raises(RuntimeError, match="inside a write"):
            store.write(lambda tx: store.write(put("inside")))
        return store.write(put("kept"))

    assert _in_a_thread(write)[0] == 1
    assert store.write(put("later")) == 1
    assert [fact(store, name) for name in ("lost", "inside", "kept")] == [None, None, "x"]


PEN = "somebody_0"


def _thread(_: Transaction) -> str:
    return threading.current_thread().name


def _in_a_thread(call: Callable[[], T]) -> tuple[T, str]:
    """What a call answers in another thread, and that thread's name."""
    with ThreadPoolExecutor(1, "somebody") as pool:
        return pool.submit(lambda: (call(), threading.current_thread().name)).result(PATIENCE_S)


def test_a_store_that_is_closed_takes_no_more(store: Store) -> None:
    store.close()
    with pytest.raises(errors.Stopping):
        store.write(put("late"))


def _wakes(store: Store, topic: str) -> threading.Event:
    woken = threading.Event()
    store.wakeups.listen(topic, woken.set)
    return woken


def _in_one_commit(store: Store, pieces: list[Callable[[Transaction], Any]]) -> list["Future[Any]"]:
    """Keep the writer busy until all of these are waiting."""
    started, all_there = threading.Event(), threading.Event()

    def keep_busy(_: Transaction) -> None:
        started.set()
        all_there.wait(PATIENCE_S)

    store.write_later(keep_busy)
    assert started.wait(PATIENCE_S)
    futures = [store.write_later(piece) for piece in pieces]
    all_there.set()
    return futures


def test_work_that_exits_does_not_take_the_writer_along(store: Store) -> None:
    def leave(tx: Transaction) -> None:
        raise SystemExit(1)

    with pytest.raises(RuntimeError, match="SystemExit"):
        store.write_later(leave).result(PATIENCE_S)
    assert store.write_later(lambda tx: 1).result(PATIENCE_S) == 1


def test_a_listener_that_fails_stops_no_other(store: Store, open_store: OpenStore) -> None:
    heard = threading.Semaphore(0)

    def fail() -> None:
        raise ValueError("not now")

    for one in (store, open_store()):
        one.wakeups.listen(READY, fail)
        one.wakeups.listen(READY, heard.release)
    for _ in range(2):
        store.write_later(lambda tx: tx.wake(READY)).result(PATIENCE_S)
        assert heard.acquire(timeout=PATIENCE_S)
        assert heard.acquire(timeout=PATIENCE_S)
