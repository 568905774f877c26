"""Tokens: shown once, kept as digests, good until they are revoked."""

import asyncio
from datetime import timedelta

import pytest
from tests.helpers import MovableClock, ask, job, submit

from headway.domain import errors
from headway.domain.manage.tokens import Principal, Role, Token
from headway.domain.states import JobStatus
from headway.http.claim_polls import ClaimPolls
from headway.operations.manage import tokens as operations
from headway.protocol.operation import Paging
from headway.protocol.work_shapes import ClaimBody
from headway.scheduler.manage import tokens
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import retention
from headway.storage.manage import tokens as stored


def make(scheduler: Scheduler, role: Role = Role.SUBMIT) -> Token:
    return scheduler.store.write(lambda tx: tokens.create(scheduler, tx, "ci", role))


def who(scheduler: Scheduler, text: str | None) -> Principal | None:
    assert text is not None
    return scheduler.store.read(lambda tx: tokens.principal_of(tx, text))


def test_a_token_says_who_asks(scheduler: Scheduler) -> None:
    token = make(scheduler)
    assert token.token is not None
    assert token.token.startswith("hw_")
    assert who(scheduler, token.token) == Principal(
        name="ci", role=Role.SUBMIT, token_id=token.token_id
    )


def test_only_the_exact_text_of_a_token_is_accepted(scheduler: Scheduler) -> None:
    token = make(scheduler)
    assert who(scheduler, f"{token.token}x") is None
    assert who(scheduler, token.token_id) is None


def test_a_revoked_token_is_good_for_nothing(scheduler: Scheduler) -> None:
    token = make(scheduler)
    revoked = ask(operations.revoke_token, scheduler, id=token.token_id)
    assert revoked.revoked_at is not None
    assert who(scheduler, token.token) is None
    assert ask(operations.revoke_token, scheduler, id=token.token_id) == revoked


def test_a_token_with_an_end_is_good_until_then_and_collected_later(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    kept = make(scheduler)
    token = scheduler.store.write(
        lambda tx: tokens.create(scheduler, tx, "page", Role.ADMIN, timedelta(hours=12))
    )
    assert token.expires_at == clock.now() + timedelta(hours=12)
    clock.move(hours=12, milliseconds=-1)
    assert who(scheduler, token.token) is not None
    clock.move(milliseconds=1)
    assert who(scheduler, token.token) is None
    assert retention.collect(scheduler, 60).records == 0
    clock.move(minutes=1)
    assert retention.collect(scheduler, 60).records == 1
    listed = ask(operations.list_tokens, scheduler, query=Paging()).items
    assert [one.token_id for one in listed] == [kept.token_id]


def test_an_unknown_token_cannot_be_revoked(scheduler: Scheduler) -> None:
    with pytest.raises(errors.NotFound):
        ask(operations.revoke_token, scheduler, id="nobody")


def test_the_list_never_shows_a_token(scheduler: Scheduler) -> None:
    made = {make(scheduler).token_id for _ in range(3)}
    first = ask(operations.list_tokens, scheduler, query=Paging(limit=2))
    second = ask(operations.list_tokens, scheduler, query=Paging(cursor=first.next_cursor))
    shown = [*first.items, *second.items]
    assert {one.token_id for one in shown} == made
    assert all(one.token is None for one in shown)


def test_the_token_itself_is_not_stored(scheduler: Scheduler) -> None:
    token = make(scheduler)
    rows = scheduler.store.read(lambda tx: tx.select("SELECT * FROM tokens", {}))
    assert str(token.token) not in str(rows)


def test_a_name_is_needed(scheduler: Scheduler) -> None:
    with pytest.raises(errors.InvalidRequest):
        scheduler.store.write(lambda tx: tokens.create(scheduler, tx, " ", Role.READ))


def test_only_tokens_in_force_are_found_among_some(
    scheduler: Scheduler, clock: MovableClock
) -> None:
    good, revoked = make(scheduler), make(scheduler)
    short = scheduler.store.write(
        lambda tx: tokens.create(scheduler, tx, "page", Role.READ, timedelta(minutes=1))
    )
    ids = [good.token_id, revoked.token_id, short.token_id, "unknown"]

    def in_force() -> set[str]:
        return scheduler.store.read(lambda tx: stored.in_force(tx, ids))

    assert in_force() == {good.token_id, revoked.token_id, short.token_id}
    ask(operations.revoke_token, scheduler, id=revoked.token_id)
    clock.move(minutes=1)
    assert in_force() == {good.token_id}


def test_a_waiting_claim_gets_no_job_once_its_token_is_revoked(scheduler: Scheduler) -> None:
    """Even if the claim has not been told yet that its token is no longer in force."""
    token = make(scheduler, Role.WORK)
    principal = who(scheduler, token.token)
    assert principal is not None

    async def wait_and_be_revoked() -> None:
        polls = ClaimPolls(scheduler)
        polls.start()
        never_told = asyncio.get_running_loop().create_future()
        claim = asyncio.create_task(
            polls.claim(principal, ClaimBody(worker_id="w", wait_s=30), never_told)
        )
        await asyncio.to_thread(ask, operations.revoke_token, scheduler, id=token.token_id)
        waiting = await asyncio.to_thread(submit, scheduler)
        with pytest.raises(errors.TokenRefused):
            await asyncio.wait_for(claim, 20)
        assert job(scheduler, waiting.number).status is JobStatus.QUEUED
        await polls.stop()

    asyncio.run(wait_and_be_revoked())
