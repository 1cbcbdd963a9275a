"""`onebrain mcp`: answers for agents, on stdin and stdout or on a loopback port."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from onebrain.cli.base import App, session

app = App("Serve agents over MCP, on stdin and stdout.")

TOKEN = "ONEBRAIN_MCP_TOKEN"


@app.command()
def mcp(
    ctx: typer.Context,
    http: Annotated[bool, typer.Option("--http", help=f"Serve HTTP on 127.0.0.1 instead; the token is {TOKEN}, else a new one.")] = False,
    port: Annotated[int, typer.Option("--port", help="Port of --http; 0 takes any free one.")] = 0,
) -> None:
    """Serve agents over MCP, on stdin and stdout.

    The vault is found as for every command: --vault, ONEBRAIN_VAULT, or the nearest onebrain.yml. `docs/mcp.md` has ready-made
    configuration for Claude Code, Claude Desktop, Codex and Gemini.
    """
    here = session(ctx)
    config = here.config  # a missing vault is told before the client waits for an answer
    gc.disable()  # the SDK's thousand models are kept: looking for garbage among them costs a tenth of the start
    from onebrain import mcp as server
    from onebrain.daemon.desk import Desk

    gc.enable()
    gc.freeze()
    desk = Desk(config, here.terminal.env)
    try:
        if not http:
            server.serve_stdio(server.create(desk, here.terminal.today))
            return
        from onebrain.web import serve
        from onebrain.web.guard import Door

        listener = serve.take_port(port)
        door = Door(int(listener.getsockname()[1]), here.terminal.env.get(TOKEN) or serve.new_token())

        def ready() -> None:
            here.terminal.tell(f"MCP at http://{serve.HOST}:{door.port}/mcp")
            if not here.terminal.env.get(TOKEN):
                here.terminal.tell(f"Header: Authorization: Bearer {door.token}")

        serve.run(server.http_app(server.create(desk, here.terminal.today), door), listener, ready)
    finally:
        desk.close()
