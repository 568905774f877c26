"""The page for a browser: it brings everything along, and lets in who has a key."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from tests.servers import Server, Stage

from headway.http import dashboard


def test_the_page_brings_everything_along(server: Server) -> None:
    with server.client() as browser:
        page = browser.get("/")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        files = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
        assert len(files) == 2
        texts = [page.text, *(browser.get(file).raise_for_status().text for file in files)]
    assert not re.search(r"https?://(?!www\.w3\.org/)", " ".join(texts))


def test_a_browser_that_asks_for_an_icon_is_not_asked_who_it_is(server: Server) -> None:
    with server.client() as browser:
        assert browser.get("/favicon.ico").status_code == 404


def test_the_link_that_is_printed_lets_in_once(stage: Stage) -> None:
    settings = {"data": "data", "port": 0}
    server = Server(stage, settings, before="import sys; sys.stdout.isatty = lambda: True\n")
    code = json.loads(server.first_line)["dashboard"].partition("#code=")[2]
    with server.client() as browser:
        key = browser.post("/dashboard/session", json={"code": code}).json()["token"]
        again = browser.post("/dashboard/session", json={"code": code})
    assert (again.status_code, again.json()["code"]) == (401, "unauthorized")
    with server.client(key) as let_in:
        assert let_in.get("/api/jobs").status_code == 200
        made = let_in.get("/api/tokens").json()["items"][0]
    lasts = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert (made["name"], lasts) == ("dashboard", timedelta(hours=12))


def test_an_admin_gets_fresh_codes_that_no_cache_keeps(server: Server) -> None:
    made = server.http.post("/dashboard/codes")
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    with server.client() as browser:
        let_in = browser.post("/dashboard/session", json={"code": made.json()["code"]})
        assert browser.post("/dashboard/codes").status_code == 401
    assert (let_in.status_code, let_in.headers["cache-control"]) == (200, "no-store")
    assert server.http.post("/dashboard/codes").json()["code"] != made.json()["code"]


def test_a_code_is_good_for_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("headway.http.dashboard.time.monotonic", lambda: now)
    codes = dashboard.Codes()
    old = codes.issue()
    now += dashboard.CODE_LASTS_S + 1
    codes.issue()
    assert old not in codes._codes
    assert len(codes._codes) == 1


def test_addresses_of_the_page_are_the_page(server: Server) -> None:
    with server.client() as browser:
        first = browser.get("/")
        for path in ("/jobs", "/jobs/7", "/graph", "/schedules", "/groups/x/y"):
            assert browser.get(path).content == first.content
        assert browser.get("/nowhere").status_code == 401
        assert browser.post("/jobs").status_code == 401


def test_a_token_says_whose_it_is_and_what_it_may(server: Server) -> None:
    made = server.post("/api/tokens", name="ann", role="submit", expires_in_s=600)
    with server.client(made["token"]) as client:
        me = client.get("/api/me").json()
    assert (me["name"], me["role"], me["expires_at"]) == ("ann", "submit", made["expires_at"])
    assert abs((datetime.fromisoformat(me["now"]) - datetime.now(UTC)).total_seconds()) < 60
