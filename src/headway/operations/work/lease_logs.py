"""Operations of workers that send the output of their runs."""

from functools import partial

from headway.domain import errors
from headway.files import log_files
from headway.operations import access
from headway.operations.bound import Call, serves_blocking
from headway.operations.work.leases import check_count
from headway.protocol import work as protocol
from headway.protocol.operation import Nothing
from headway.protocol.work_shapes import (
    ItemAnswer,
    ItemAnswers,
    LogAnswer,
    LogBody,
    LogItem,
    LogPieces,
)
from headway.scheduler.lease import leases
from headway.scheduler.scheduler import Scheduler
from headway.storage import runs
from headway.storage.engine.transaction import Transaction

LARGEST_PIECE = 256 * 1024


@serves_blocking(protocol.send_log)
def send_log(call: Call[LogBody, Nothing]) -> LogAnswer:
    """Add to a run's output. Sending the same piece again changes nothing."""
    body = call.body
    piece = LogItem(
        lease_id=call.path["id"], stream=body.stream, offset=body.offset, data=body.data
    )
    _check(piece)
    refusals = _refusals(call, body.worker_id, [piece])
    if piece.lease_id in refusals:
        raise refusals[piece.lease_id]
    _note_move(call.scheduler, [piece])
    return LogAnswer(size=_write(call.scheduler, piece))


@serves_blocking(protocol.send_logs)
def send_logs(call: Call[LogPieces, Nothing]) -> ItemAnswers:
    """Add to the output of several runs; each piece gets its own answer."""
    pieces = call.body.items
    check_count(len(pieces))
    for piece in pieces:
        _check(piece)
    refusals = _refusals(call, call.body.worker_id, pieces)
    _note_move(call.scheduler, [one for one in pieces if one.lease_id not in refusals])
    return ItemAnswers(
        items=[
            ItemAnswer.refused(piece.lease_id, refusals[piece.lease_id])
            if piece.lease_id in refusals
            else _answer(call.scheduler, piece)
            for piece in pieces
        ]
    )


def _check(piece: LogItem) -> None:
    if piece.offset < 0:
        raise errors.InvalidRequest("offset", f"{piece.offset} is less than 0")
    if len(piece.data) > LARGEST_PIECE:
        raise errors.TooLarge("data", len(piece.data), LARGEST_PIECE)


def _refusals(
    call: Call[LogBody, Nothing] | Call[LogPieces, Nothing], worker_id: str, pieces: list[LogItem]
) -> dict[str, errors.HeadwayError]:
    """Only the holder of a lease may add to its run: what is not listed here is held."""

    def work(tx: Transaction) -> dict[str, errors.HeadwayError]:
        access.check_worker(tx, call.principal, worker_id)
        return leases.refusals(tx, worker_id, {piece.lease_id for piece in pieces})

    return call.scheduler.store.read(work)


def _note_move(scheduler: Scheduler, pieces: list[LogItem]) -> None:
    """A worker that has gone over to this server sends its output here, from the beginning."""
    first = {piece.lease_id for piece in pieces if piece.offset == 0}
    if scheduler.data_id is None or not first:
        return
    came = scheduler.store.read(
        lambda tx: [one for one in first if runs.output_home(tx, one) != scheduler.data_id]
    )
    for run_id in came:
        scheduler.store.write_beside(
            partial(runs.move_output, run_id=run_id, data_id=scheduler.data_id)
        )


def _answer(scheduler: Scheduler, piece: LogItem) -> ItemAnswer:
    try:
        return ItemAnswer(lease_id=piece.lease_id, ok=True, size=_write(scheduler, piece))
    except errors.Unavailable as error:  # the outcome of the run need not wait for this
        return ItemAnswer.refused(piece.lease_id, error)
    except errors.LogGap as gap:
        return ItemAnswer(
            lease_id=piece.lease_id, ok=False, code=gap.code, detail=gap.detail, size=gap.size
        )


def _write(scheduler: Scheduler, piece: LogItem) -> int:
    path = log_files.path(scheduler.data / log_files.folder(piece.lease_id), piece.stream)
    try:
        return log_files.write_at(path, piece.offset, piece.data, scheduler.output)
    except OSError as error:
        raise errors.Unavailable(f"the log could not be written: {error.strerror}") from error
