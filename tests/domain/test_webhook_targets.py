"""Which addresses webhooks are sent to."""

import pytest

from headway.domain import errors
from headway.domain.manage.webhooks import origin_of, refusal_of_address
from headway.domain.requests.job_requests import check_url


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
    ],
)
@pytest.mark.parametrize("public_only", [True, False])
def test_a_link_local_address_is_never_called(address: str, public_only: bool) -> None:
    assert refusal_of_address(address, public_only=public_only) == "its address is link-local"


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "fd00::1", "0.0.0.0"])
def test_an_address_of_a_private_network_is_called_unless_targets_are_public(address: str) -> None:
    assert refusal_of_address(address, public_only=False) is None
    assert refusal_of_address(address, public_only=True) is not None


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700:4700::1111"])
def test_a_public_address_is_called(address: str) -> None:
    assert refusal_of_address(address, public_only=True) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://ann@169.254.1.1:8080",
        "https://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://0xa9fea9fe/",
        "http://2852039166/",
    ],
)
def test_a_link_local_url_is_refused_when_it_is_given(url: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="link-local"):
        check_url("url", url)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example",
        "http://hooks.example/?q",
        "http://HOOKS.example:80/a",
        "http://hooks.example./a",
        "http://ann:secret@hooks.example/a",
        "http://a@b@hooks.example#x",
    ],
)
def test_an_endpoint_is_its_host_and_port(url: str) -> None:
    assert origin_of(url) == "hooks.example:80"


def test_other_ports_and_hosts_are_other_endpoints() -> None:
    urls = ["http://a/", "https://a/", "http://a:81/", "http://b/", "http://[::1]/"]
    assert len({origin_of(url) for url in urls}) == 5


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "0x7f000001", "0177.0.0.1", "[::ffff:127.0.0.1]"]
)
def test_an_address_is_the_same_however_it_is_written(host: str) -> None:
    assert origin_of(f"http://{host}/") == "127.0.0.1:80"
