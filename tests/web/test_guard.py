"""Who may ask the page, as a table, and what a browser gets to see."""

from __future__ import annotations

from typing import Any

import pytest
from small_vault import ADR7, PORT, TOKEN
from starlette.testclient import TestClient

from onebrain.web.guard import Door, refusal

DOOR = Door(8123, "secret", frozenset({"/search"}))
HOST = {"host": "127.0.0.1:8123"}
BEARER = {"authorization": "Bearer secret"}
COOKIE = {"cookie": "theme=dark; onebrain-8123=secret"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (HOST | BEARER, None),
        (HOST | COOKIE, None),
        ({"host": "localhost:8123"} | COOKIE, None),
        ({"host": "[::1]:8123"} | COOKIE, None),
        (HOST, 403),
        (HOST | {"authorization": "Bearer wrong"}, 403),
        (HOST | {"authorization": "Basic secret"}, 403),
        (HOST | {"cookie": "onebrain-9000=secret"}, 403),  # another vault's page
        (HOST | {"cookie": "\x00;;=="}, 403),
        ({"host": "evil.example:8123"} | COOKIE, 421),  # a name that was rebound to 127.0.0.1
        ({"host": "127.0.0.1:9000"} | COOKIE, 421),
        ({"host": "127.0.0.1"} | COOKIE, 421),
        (COOKIE, 421),
        (HOST | COOKIE | {"origin": "http://127.0.0.1:8123"}, None),
        (HOST | COOKIE | {"origin": "http://evil.example"}, 403),
        (HOST | COOKIE | {"origin": "https://127.0.0.1:8123"}, 403),
        (HOST | COOKIE | {"origin": "null"}, 403),  # a sandboxed frame
    ],
)
def test_a_request_needs_our_host_no_other_origin_and_the_token(headers: dict[str, str], status: int | None) -> None:
    refused = refusal(DOOR, "/", headers)
    assert (refused.status if refused else None) == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (HOST, None),
        (HOST | {"sec-fetch-site": "none"}, None),
        (HOST | {"sec-fetch-site": "cross-site"}, 403),
        (HOST | {"origin": "https://www.google.com"}, 403),
        ({"host": "evil.example:8123"}, 421),
    ],
)
def test_a_path_the_user_opened_needs_no_token_but_still_our_host_and_no_web_page(headers: dict[str, str], status: int | None) -> None:
    refused = refusal(DOOR, "/search", headers)
    assert (refused.status if refused else None) == status


def browser(app: Any) -> TestClient:
    return TestClient(app, base_url=f"http://127.0.0.1:{PORT}")


def test_the_first_visit_turns_the_token_into_a_cookie_that_scripts_and_other_sites_never_see(app: Any) -> None:
    visitor = browser(app)
    assert visitor.get("/").status_code == 403
    first = visitor.get("/", params={"token": TOKEN})
    assert first.status_code == 200
    cookie = first.headers["set-cookie"]
    assert cookie == f"onebrain-{PORT}={TOKEN}; HttpOnly; SameSite=Strict; Path=/"
    assert first.headers["refresh"] == "0; url=/"  # the token leaves the address, and the history with it
    assert visitor.get("/").status_code == 200


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x"])
def test_a_wrong_token_gets_no_cookie(app: Any, token: str) -> None:
    answer = browser(app).get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/answer", "/note", "/health", "/search", "/static/app.js", "/nothing"])
def test_no_path_is_open_by_default(app: Any, path: str) -> None:
    assert browser(app).get(path).status_code == 403


@pytest.mark.parametrize("path", ["/", "/answer?q=kafka", "/health", "/static/app.css", "/nothing", f"/note?path={ADR7}"])
def test_every_answer_forbids_foreign_code_and_is_not_kept(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy and "*" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert not any(name.startswith("access-control") for name in headers)
    assert path.startswith("/static") or headers["cache-control"] == "no-store"


def test_no_page_has_script_or_style_in_it(client: TestClient) -> None:
    for path in ("/", "/?q=why+kafka&stage=full", f"/note?path={ADR7}", "/answer?q=kafka", "/answer?q=kafka&stage=full"):
        text = client.get(path).text
        assert "<style" not in text and " style=" not in text and " onclick=" not in text
        assert text.count("<script") == text.count("<script src=")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(client: TestClient, method: str) -> None:
    assert client.request(method, "/").status_code == 405
