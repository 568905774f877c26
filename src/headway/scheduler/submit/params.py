"""Params: JSON of a sensible size that fits the handler that will get it."""

from collections.abc import Mapping
from typing import Any

from headway.domain import errors, secrets
from headway.domain.handlers import CommandParams
from headway.domain.jobs import COMMAND
from headway.domain.values import plain_json
from headway.domain.values.plain_json import Checked
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine import codec


def encode(scheduler: Scheduler, job_type: str, params: Mapping[str, Any]) -> str:
    """The params as they are kept, after every check."""
    if not params and job_type not in scheduler.handlers:
        return "{}"
    plain = checked(scheduler, params)
    secrets.check_not_masked(plain, secrets.names(scheduler.rules.secret_params))
    _check(scheduler, job_type, plain)
    body = codec.dump(plain) if plain.text is None else plain.text.decode()
    if len(body) > scheduler.rules.largest_params:
        raise errors.TooLarge("params", len(body), scheduler.rules.largest_params)
    return body


def checked(scheduler: Scheduler, params: Mapping[str, Any]) -> Checked:
    """Params that need not be walked again; to be called before a transaction begins."""
    return plain_json.checked(params, "params", scheduler.rules.largest_params)


def merged(scheduler: Scheduler, stored: Mapping[str, Any], given: Mapping[str, Any]) -> Checked:
    """Params that are kept already, and those that are given, which win."""
    new = checked(scheduler, given)
    return plain_json.joined(stored, new) if stored else new


def _check(scheduler: Scheduler, job_type: str, params: Checked) -> None:
    later = {one.name for one in params.taken}
    if job_type == COMMAND:
        command = CommandParams.check_apart(params, later)
        if command.cwd is not None:
            _check_folder(scheduler, command.cwd)
    elif handler := scheduler.handlers.get(job_type):
        if later:
            handler.check_apart(params, later)
        else:
            handler.check(params)


def _check_folder(scheduler: Scheduler, cwd: str) -> None:
    try:
        scheduler.workspace.resolve(cwd)
    except errors.OutsideWorkspace as error:
        raise error.at("params.cwd") from None
