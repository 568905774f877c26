"""Tokens, secrets and passwords are in no log, event, error or metric."""

import socket

from tests.servers import Stage, wait_for


def test_no_secret_is_told(stage: Stage) -> None:
    server = stage.serve()
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    url = f"http://me:hush@127.0.0.1:{port}/"
    secret = server.post("/api/webhooks", url=url)["secret"]
    token = server.post("/api/tokens", name="reader", role="read")["token"]
    server.wait(server.submit("note", "told", webhook_url=url), "SUCCEEDED")

    def failed() -> bool:
        tried = server.get("/api/webhook-deliveries")["items"]
        return len(tried) == 2 and all(one["attempts"] > 0 for one in tried)

    wait_for(failed, "two deliveries that were tried")
    refusals = [
        server.client("hw_" + "guess" * 8).get("/api/jobs").text,
        server.http.post("/api/webhooks", json={"url": f"ftp{url}"}).text,
        server.client(token).get(f"/api/jobs?token={token}&surprise=1").text,
    ]
    errors = [one["last_error"] for one in server.get("/api/webhook-deliveries")["items"]]
    told = "".join(
        [
            *refusals,
            *errors,
            server.http.get("/metrics").text,
            server.http.get("/api/events", params={"limit": 200}).text,
            server.http.get("/readyz").text,
        ]
    )
    server.stop()
    told += server.log
    for word in ("hush", "guess", secret, secret.removeprefix("whsec_"), token, server.token):
        assert word not in told


def test_responses_with_secrets_are_not_cached(stage: Stage) -> None:
    server = stage.serve()
    made = [
        server.http.post("/api/tokens", json={"name": "x", "role": "read"}),
        server.http.post("/api/webhooks", json={"url": "http://127.0.0.1:1/"}),
        server.http.post("/api/jobs", json={"job_type": "note", "params": {"name": "x"}}),
        server.http.get("/api/jobs"),
        server.http.get("/api/tokens"),
        server.http.post("/dashboard/session", json={"code": "guess"}),
        server.client().get("/api/jobs"),
        server.http.get("/metrics"),
    ]
    assert {one.headers["cache-control"] for one in made} == {"no-store"}
    assert server.http.get("/").headers["cache-control"] == "no-cache"
