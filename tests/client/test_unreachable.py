"""Why a server could not be reached is told from the kind of the error, not from its text."""

import ssl

import httpx
import pytest

from headway.client.over_http import unreachable
from headway.domain import errors

URL = "https://jobs.example"


def _raised_from(cause: Exception) -> Exception:
    try:
        raise httpx.ConnectError("failed") from cause
    except httpx.ConnectError as error:
        return error


REFUSED = ssl.SSLCertVerificationError(1, "certificate verify failed")


@pytest.mark.parametrize("error", [REFUSED, _raised_from(REFUSED)])
def test_a_refused_certificate_names_the_setting_that_helps(error: Exception) -> None:
    found = unreachable(URL, error)
    assert isinstance(found, errors.UntrustedServer)
    assert "see the setting ca_file" in found.detail


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "no certificate here"), httpx.ReadTimeout("certificate")]
)
def test_other_errors_may_speak_of_certificates(error: Exception) -> None:
    found = unreachable(URL, error)
    assert type(found) is errors.Unavailable
