"""What is secret, by its name."""

import re
from collections.abc import Mapping

_OURS = re.compile(r"HEADWAY_.*(TOKEN|SECRET|PASSWORD|KEY)")
_POSTGRES = frozenset({"PGPASSWORD", "PGPASSFILE"})


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a job's program: without our secrets and those of the database."""
    return {
        name: value for name, value in environment.items() if not _is_secret_variable(name, value)
    }


def _is_secret_variable(name: str, value: str) -> bool:
    if name == "HEADWAY_DB":
        return not value.startswith("sqlite:")  # any other URL may hold a password
    return name in _POSTGRES or _OURS.fullmatch(name) is not None
