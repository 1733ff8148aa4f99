"""The dashboard's server: ``python -m dashboard.server --workspace DIR --port 8501``.

Streamlit is served through one ASGI middleware that adds the security headers, refuses foreign Host headers and keeps the
login cookie from outliving the browser. The server refuses to start where Streamlit is configured to trust what a client
says about itself. The workspace reaches the pages through the environment, never through a URL.
"""
from __future__ import annotations

import argparse
import ipaddress
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config as streamlit_config

from core.errors import EXIT, CountersignError, Where
from core.settings import SETTINGS

WORKSPACE_VARIABLE: Final = "COUNTERSIGN_WORKSPACE"
"""Environment variable that tells the pages which workspace folder to read."""

APP: Final = Path(__file__).with_name("app.py")
THEME: Final = Path(__file__).with_name("theme.toml")

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; script-src 'self' blob:; connect-src 'self'; "
    "font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_LOGIN_COOKIE: Final = "_streamlit_user"
_LASTING: Final = ("max-age", "expires")
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")
_INLINE_SCRIPT: Final = re.compile(rb"<script>.*?</script>", re.DOTALL)
_PRODUCT_TITLE: Final = (b"<title>Streamlit</title>", b"<title>Countersign</title>")
UNSAFE_OPTIONS: Final = ("server.trustedUserHeaders", "server.enableAgentApi", "server.enableXsrfProtection", "server.enableCORS")


class ServerError(CountersignError):
    """The server cannot be started as configured."""

    who, exit_name = "whoever starts the server", "usage"


def is_loopback(address: str | None) -> bool:
    """True when the server listens on this machine only. No address means every interface, so: False."""
    if not address:
        return False
    if address == _LOOPBACK_NAMES[0]:
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def session_cookie(value: str) -> str:
    """A Set-Cookie value of the login cookie without the attributes that make it outlive the browser session."""
    if not value.lstrip().startswith(_LOGIN_COOKIE):
        return value
    parts = value.split(";")
    return ";".join(part for part in parts if part.strip().partition("=")[0].strip().lower() not in _LASTING)


def host_of(header: str | None) -> str | None:
    """The host name in a Host header, lower case, without port; None when there is none or it cannot be read."""
    try:
        name = urlsplit(f"//{header}").hostname if header else None
    except ValueError:
        return None
    return name.rstrip(".") if name else None


class SecurityHeaders:
    """ASGI middleware: headers on each response, Host allow-list on each request (Streamlit's own covers the WebSocket only).

    Streamlit's start page carries one inline script, a hint for crawlers. The policy blocks it, and the browser would
    report that on every load, so it is taken out on the way.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self.app, self.hosts = app, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        guarded = _Response(send)
        if host_of(headers.get(b"host", b"").decode("latin-1")) not in self.hosts:
            refusal = PlainTextResponse("This host name is not served here.\n", status_code=SETTINGS["server"]["misdirected_status"])
            await refusal(scope, receive, guarded.send)
            return
        if b"text/html" in headers.get(b"accept", b""):
            # the start page is rewritten below, so it must come uncompressed
            scope = {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]}
        await self.app(scope, receive, guarded.send)


class _Response:
    """One response on its way out: the headers added, the start page cleaned."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": hardened(message.get("headers", []))}
            if MutableHeaders(raw=message["headers"]).get("content-type", "").startswith("text/html"):
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self._start)
            return
        await self._send(message)

    async def _send_page(self, start: Message) -> None:
        body = cleaned_page(self._body)
        headers = MutableHeaders(raw=list(start["headers"]))
        if body:
            headers["content-length"] = str(len(body))
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def cleaned_page(body: bytes) -> bytes:
    """Streamlit's start page without inline scripts, under the product's name."""
    return _INLINE_SCRIPT.sub(b"", body).replace(*_PRODUCT_TITLE)


def hardened(raw: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Response headers with ours set, and the login cookie cut down to the browser session."""
    headers = MutableHeaders(raw=[(name, _session_cookie_bytes(value) if name.lower() == b"set-cookie" else value) for name, value in raw])
    for name, value in HEADERS.items():
        headers[name] = value
    return headers.raw


def _session_cookie_bytes(value: bytes) -> bytes:
    return session_cookie(value.decode("latin-1")).encode("latin-1")


def allowed_hosts(address: str) -> list[str]:
    """Host names that requests may name: loopback, and the address that the server was told to listen on."""
    return sorted({*_LOOPBACK_NAMES, address.strip("[]").lower()})


def refuse_unsafe(options: Mapping[str, Any]) -> None:
    """Raise ServerError where Streamlit's configuration would let a client say who it is, or drop a protection."""
    unsafe = {
        "server.trustedUserHeaders": (bool(options.get("server.trustedUserHeaders")), "any client can name itself in a header"),
        "server.enableAgentApi": (bool(options.get("server.enableAgentApi")), "another program could act in a reviewer's session"),
        "server.enableXsrfProtection": (not options.get("server.enableXsrfProtection"), "another site could act for the reviewer"),
        "server.enableCORS": (not options.get("server.enableCORS"), "another site could read the reviewer's pages"),
    }
    for name, (refused, because) in unsafe.items():
        if refused:
            raise ServerError(
                "unsafe_server_option", expected=f"{name} as Streamlit ships it", got=f"{options.get(name)!r}: {because}",
                remedy="take the option out of the Streamlit configuration and the environment", where=Where(field=name),
            )


def effective_options(ours: Mapping[str, Any]) -> dict[str, Any]:
    """The options of UNSAFE_OPTIONS as they will hold: configuration files and environment, with ours laid over them."""
    streamlit_config.get_config_options(force_reparse=True, options_from_flags=dict(ours))
    return {name: streamlit_config.get_option(name) for name in UNSAFE_OPTIONS}


def options_for(address: str, port: int) -> dict[str, Any]:
    """Streamlit's options that the server fixes: where it listens, what errors tell, what leaves the machine, how it looks."""
    return {
        "server.address": address, "server.port": port, "server.headless": True, "server.allowedHosts": allowed_hosts(address),
        "server.maxUploadSize": SETTINGS["server"]["max_upload_mb"], "server.fileWatcherType": "none", "server.runOnSave": False,
        "browser.gatherUsageStats": False, "browser.serverAddress": address, "browser.serverPort": port,
        "client.showErrorDetails": "none", "client.showErrorLinks": False, "client.toolbarMode": "viewer",
        "client.disableDataExport": True, "theme.base": str(THEME), "logger.level": "warning", "logger.hideWelcomeMessage": True,
    }


def serve(workspace: Path, *, address: str, port: int, quiet: bool = False) -> None:
    """Serve the dashboard over that workspace until stopped. ``quiet``: whoever started it says where it is. Raises ServerError
    when the configuration is unsafe."""
    options = options_for(address, port)
    refuse_unsafe(effective_options(options))
    os.environ[WORKSPACE_VARIABLE] = str(workspace.resolve())
    app = st.App(APP, middleware=[Middleware(SecurityHeaders, hosts=allowed_hosts(address))])
    place = f"[{address}]" if ":" in address else address
    if not quiet:
        sys.stdout.write(f"Countersign on http://{place}:{port} (workspace {workspace}); stop with Ctrl-C\n")
    if not is_loopback(address):
        sys.stdout.write("This address is reachable by others: pages can be read there, signing is off (it needs loopback).\n")
    sys.stdout.flush()
    app.run(config=options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and serve; returns an exit code."""
    parser = argparse.ArgumentParser(prog="python -m dashboard.server", description="Serve the Countersign dashboard.")
    parser.add_argument("--workspace", type=Path, default=Path(os.environ.get(WORKSPACE_VARIABLE, "data/workspace")), help="workspace folder")
    parser.add_argument("--port", type=int, default=SETTINGS["server"]["port"], help="TCP port")
    parser.add_argument("--address", default=SETTINGS["server"]["address"], help="address to listen on; signing needs loopback")
    parser.add_argument("--quiet", action="store_true", help="do not print the address")
    chosen = parser.parse_args(arguments)
    try:
        serve(chosen.workspace, address=chosen.address, port=chosen.port, quiet=chosen.quiet)
    except CountersignError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        # Ctrl-C is how it is stopped; the server has shut down in order before this arrives
        return EXIT["done"]
    return EXIT["done"]


if __name__ == "__main__":
    raise SystemExit(main())
