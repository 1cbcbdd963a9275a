"""An application on loopback: the port is taken first, so that the address can be told, and given back at the end."""

from __future__ import annotations

import secrets
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from onebrain.errors import BadRequest

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HOST = "127.0.0.1"


def take_port(port: int) -> socket.socket:
    """A listening place on loopback; 0 takes any free port. BadRequest where another program has it."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)  # now: a port that is only bound can be bound again by somebody else
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise BadRequest(f"Port {port} on {HOST} can't be used: {reason}.", hint="Choose another one with --port, or 0 for any.") from error
    except OverflowError as error:
        listener.close()
        raise BadRequest(f"There is no port {port}.", hint="Ports go from 0 to 65535.") from error
    return listener


def new_token() -> str:
    return secrets.token_urlsafe(24)


def run(app: ASGIApp, listener: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until interrupted (Ctrl-C, SIGTERM). `ready` is called once requests are taken."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, date_header=False, timeout_graceful_shutdown=2, ws="none"
    )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises the signal again once it has shut down: this is the usual way to end
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
        listener.close()
