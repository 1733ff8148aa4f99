"""The server: headers, hosts, cookies, what it refuses to start with, and what leaves the machine."""
from __future__ import annotations

import asyncio
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from streamlit import config as streamlit_config

from dashboard import server

ROOT = Path(__file__).resolve().parents[2]

# word for word from the specification (signing 5)
POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; script-src 'self' blob:; connect-src 'self'; "
    "font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
PAGE = "<html><head><title>Streamlit</title><script>\n window.x = 1\n</script><script type=\"module\" src=\"./a.js\"></script></head></html>"


def page(request: Request) -> Response:
    response = HTMLResponse(PAGE)
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    response.headers["Saw-Encoding"] = request.headers.get("accept-encoding", "none")
    return response


def login(request: Request) -> Response:
    response = PlainTextResponse("in")
    response.set_cookie("_streamlit_user", "signed", max_age=2592000, expires=2592000, httponly=True, samesite="lax")
    response.set_cookie("_streamlit_user_tokens", "signed", max_age=60)
    response.set_cookie("_streamlit_xsrf", "token", max_age=60)
    return response


def head(request: Request) -> Response:
    return Response(b"", media_type="text/html", headers={"content-length": "7863"})


APP = Starlette(
    routes=[Route("/", page), Route("/login", login), Route("/head", head, methods=["HEAD"])],
    middleware=[Middleware(server.SecurityHeaders, hosts=server.allowed_hosts("localhost"))],
)


def get(path: str, *, host: str | None = "localhost:8501", method: str = "GET", **headers: str) -> tuple[int, list[tuple[str, str]], bytes]:
    """One request, without a network."""
    sent: list[dict[str, Any]] = []
    raw = [(b"host", host.encode("latin-1"))] if host is not None else []
    raw += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": raw,
        "scheme": "http", "server": ("localhost", 8501), "client": ("127.0.0.1", 1), "root_path": "",
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(APP(scope, receive, send))
    start = sent[0]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return start["status"], [(name.decode().lower(), value.decode()) for name, value in start["headers"]], body


def values(headers: list[tuple[str, str]], name: str) -> list[str]:
    return [value for found, value in headers if found == name]


@pytest.mark.parametrize(("path", "host"), [("/", "localhost:8501"), ("/login", "localhost"), ("/gone", "127.0.0.1:8501"), ("/", "evil.example")])
def test_every_response_carries_the_headers_once(path: str, host: str) -> None:
    _, headers, _ = get(path, host=host)
    assert values(headers, "content-security-policy") == [POLICY]
    assert values(headers, "x-frame-options") == ["DENY"]
    assert values(headers, "x-content-type-options") == ["nosniff"]
    assert values(headers, "referrer-policy") == ["no-referrer"]


@pytest.mark.parametrize("host", ["localhost", "localhost:8501", "LOCALHOST:1", "127.0.0.1:8501", "[::1]:8501", "localhost."])
def test_loopback_names_are_served(host: str) -> None:
    assert get("/", host=host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "evil.example:8501", "10.0.0.7", "user@evil.example", "[::1", "", None])
def test_other_host_names_are_refused_before_the_application(host: str | None) -> None:
    # DNS rebinding: the browser believes it talks to evil.example
    status, _, body = get("/", host=host)
    assert status == 421 and b"title" not in body


def test_the_start_page_has_no_inline_script_and_the_products_name() -> None:
    status, headers, body = get("/", accept="text/html,*/*", accept_encoding="gzip, br")
    assert status == 200
    assert body == b"<html><head><title>Countersign</title><script type=\"module\" src=\"./a.js\"></script></head></html>"
    assert values(headers, "content-length") == [str(len(body))]
    assert values(headers, "saw-encoding") == ["none"]


def test_the_answer_to_a_head_request_keeps_its_length() -> None:
    status, headers, body = get("/head", method="HEAD", accept="text/html")
    assert (status, body) == (200, b"") and values(headers, "content-length") == ["7863"]


def test_the_login_cookie_ends_with_the_browser_session() -> None:
    cookies = {value.partition("=")[0]: value.lower() for value in values(get("/login")[1], "set-cookie")}
    for name in ("_streamlit_user", "_streamlit_user_tokens"):
        assert "max-age" not in cookies[name] and "expires" not in cookies[name]
    assert "httponly" in cookies["_streamlit_user"] and "samesite=lax" in cookies["_streamlit_user"]
    # other cookies are left alone
    assert "max-age=60" in cookies["_streamlit_xsrf"]


@pytest.mark.parametrize(("address", "loopback"), [
    ("localhost", True), ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("0.0.0.0", False), ("::", False),
    ("10.0.0.7", False), ("example.org", False), ("localhost.example.org", False), ("", False), (None, False),
])
def test_signing_needs_loopback_and_loopback_is_told_by_the_address(address: str | None, loopback: bool) -> None:
    assert server.is_loopback(address) is loopback


SAFE = {"server.trustedUserHeaders": {}, "server.enableAgentApi": False, "server.enableXsrfProtection": True, "server.enableCORS": True}


def test_the_shipped_configuration_is_safe(monkeypatch: pytest.MonkeyPatch, streamlit_options: None) -> None:
    """What Streamlit makes of the repository's own .streamlit/config.toml and of the options that the server fixes."""
    monkeypatch.chdir(ROOT)
    options = server.effective_options(server.options_for("localhost", 8501))
    server.refuse_unsafe(options)
    assert options == SAFE and set(options) == set(server.UNSAFE_OPTIONS)


@pytest.mark.parametrize(("name", "value"), [
    ("server.trustedUserHeaders", {"X-Forwarded-User": "email"}), ("server.enableAgentApi", True), ("server.enableXsrfProtection", False),
    ("server.enableCORS", False),
])
def test_an_unsafe_option_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(server.ServerError) as caught:
        server.refuse_unsafe(SAFE | {name: value})
    assert caught.value.code == "unsafe_server_option" and name in str(caught.value) and caught.value.exit_code == 2


@pytest.fixture
def streamlit_options():
    """Streamlit keeps its options for the process: put them back."""
    yield
    streamlit_config.get_config_options(force_reparse=True)


@pytest.mark.parametrize("option", [
    '[server.trustedUserHeaders]\nX-Forwarded-User = "email"', "[server]\nenableAgentApi = true", "[server]\nenableXsrfProtection = false",
    "[server]\nenableCORS = false",
])
def test_the_server_does_not_start_with_it(
    option: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], streamlit_options: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text(option)
    monkeypatch.setattr(server.st, "App", lambda *given, **more: pytest.fail("it started"))
    before = dict(os.environ)
    assert server.main(["--workspace", str(tmp_path), "--port", "8999"]) == 2
    assert "unsafe_server_option" in capsys.readouterr().err
    assert dict(os.environ) == before


class Started:
    """Stands in for st.App: says what it was started with."""

    def __init__(self, script: Path, middleware: list[Middleware]) -> None:
        self.script, self.middleware = script, middleware
        self.options: dict[str, Any] = {}
        Started.last = self

    def run(self, *, config: dict[str, Any]) -> None:
        self.options = config


def test_it_serves_the_app_over_the_workspace_and_says_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], streamlit_options: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server.st, "App", Started)
    monkeypatch.setenv(server.WORKSPACE_VARIABLE, "elsewhere")
    assert server.main(["--workspace", "desk", "--port", "8999"]) == 0
    said = capsys.readouterr().out
    assert "http://localhost:8999" in said and "signing is off" not in said
    assert os.environ[server.WORKSPACE_VARIABLE] == str(tmp_path / "desk")
    started = Started.last
    assert started.script.name == "app.py" and started.middleware[0].cls is server.SecurityHeaders
    options = started.options
    assert options["server.address"] == "localhost" and options["server.allowedHosts"] == ["127.0.0.1", "::1", "localhost"]
    assert options["client.showErrorDetails"] == "none" and options["browser.gatherUsageStats"] is False


def test_an_address_that_others_reach_is_said_to_have_no_signing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], streamlit_options: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server.st, "App", Started)
    assert server.main(["--workspace", str(tmp_path), "--address", "10.0.0.7"]) == 0
    assert "signing is off" in capsys.readouterr().out
    assert "10.0.0.7" in Started.last.options["server.allowedHosts"]


def test_both_ways_to_start_share_one_theme_without_anything_fetched() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert ROOT / config["theme"]["base"] == server.THEME
    assert config["client"]["showErrorDetails"] == "none" and config["browser"]["gatherUsageStats"] is False
    theme = server.THEME.read_text("utf-8")
    assert "http" not in theme.replace("https://", "http://").split("#", 1)[1] or "://" not in theme


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_colours_meet_aa(mode: str) -> None:
    theme = tomllib.loads(server.THEME.read_text("utf-8"))["theme"][mode]
    pairs = [("textColor", "backgroundColor"), ("textColor", "secondaryBackgroundColor"), ("linkColor", "backgroundColor")]
    pairs += [(f"{name}TextColor", f"{name}BackgroundColor") for name in ("blue", "orange", "gray")]
    pairs += [(f"{name}TextColor", ground) for name in ("blue", "orange", "gray") for ground in ("backgroundColor", "secondaryBackgroundColor")]
    for ink, ground in pairs:
        assert contrast(theme[ink], theme[ground]) >= 4.5, (ink, ground)
    # buttons carry white text on the accent
    assert contrast("#FFFFFF", theme["primaryColor"]) >= 4.5
    for name in ("blueColor", "orangeColor", "grayColor"):
        assert contrast(theme[name], theme["backgroundColor"]) >= 3
