"""An error that quotes a secret param is told without it."""

import json

from tests.helpers import claim, finish, job, run_next, submit

from headway.domain import secrets
from headway.domain.runs import RunStatus
from headway.scheduler.manage import webhooks
from headway.scheduler.scheduler import Scheduler
from headway.storage import events, runs

NAMES = secrets.names(secrets.SECRET_PARAMS)


def test_the_job_the_run_the_events_and_the_webhooks_do_not_quote_it(scheduler: Scheduler) -> None:
    scheduler.store.write(lambda tx: webhooks.register(scheduler, tx, "http://127.0.0.1:1/"))
    submit(scheduler, params={"password": "hush", "user": "ann"}, retry_policy={"max_attempts": 0})
    (started,) = claim(scheduler)
    told = finish(scheduler, started, RunStatus.FAILED, error="ann cannot log in with hush")
    ended = job(scheduler, started.number)
    assert ended.error == "ann cannot log in with ***"
    run = scheduler.store.read(lambda tx: runs.view(tx, str(ended.run_id)))
    assert run.error == "ann cannot log in with ***"
    assert "hush" not in str(scheduler.store.read(lambda tx: events.after(tx, 0, 1000)))
    sent = scheduler.store.read(lambda tx: tx.select("SELECT payload FROM deliveries", {}))
    assert "with ***" in str(sent)
    assert "hush" not in str(sent)
    again = finish(scheduler, started, RunStatus.FAILED, error="ann cannot log in with hush")
    assert again == told


def test_an_error_of_a_job_without_params_is_told_as_it_is(scheduler: Scheduler) -> None:
    submit(scheduler, retry_policy={"max_attempts": 0})
    assert run_next(scheduler, RunStatus.FAILED, error="no ink").error == "no ink"


def test_only_texts_under_secret_names_are_hidden() -> None:
    params = {
        "tokens": ["first-token", "x"],
        "secret_env": {"HOME": "/root", "DB_PASSWORD": "hidden-deep"},
        "list": [{"api_key": "key-in-list"}],
        "max_tokens": 4096,
    }
    text = "first-token x /root hidden-deep key-in-list 4096"
    assert secrets.hidden(text, params, NAMES) == "*** x /root *** *** 4096"


def test_all_texts_in_a_secret_are_hidden_however_they_are_quoted() -> None:
    params = {
        "secrets": {"database": {"user": "ann-of-the-db"}, "keys": ["first-key", {"b": "second"}]},
        "password": 'it\'s "new"\nñ',
    }
    password = params["password"]
    text = f"ann-of-the-db first-key second {password} {password!r} {json.dumps(password)}"
    assert secrets.hidden(text, params, NAMES) == "*** *** *** *** '***' \"***\""
