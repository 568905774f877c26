"""Tokens: shown once, kept as digests, good until they are revoked."""

from datetime import timedelta

import pytest
from tests.helpers import MovableClock, ask

from headway.api import tokens as operations
from headway.api.operation import Paging
from headway.domain import errors
from headway.domain.tokens import Principal, Role, Token
from headway.scheduler import collect_garbage, tokens
from headway.scheduler.scheduler import Scheduler


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


def test_nobody_is_known_by_another_text(scheduler: Scheduler) -> None:
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
    assert collect_garbage.collect(scheduler, 60).records == 0
    clock.move(minutes=1)
    assert collect_garbage.collect(scheduler, 60).records == 1
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
