"""`onebrain serve`: the search page on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from onebrain.cli.base import App, session

app = App("Serve the search page on this machine.")


@app.command()
def serve(
    ctx: typer.Context,
    port: Annotated[int | None, typer.Option("--port", help="Port on 127.0.0.1; 0 takes any free one. [default: web.port, else 0]")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve the search page on this machine.

    It answers on 127.0.0.1 alone, and only to who has the printed address. Ctrl-C ends it.
    """
    from onebrain.daemon.desk import Desk
    from onebrain.web import serve as server
    from onebrain.web.app import create
    from onebrain.web.guard import Door

    here = session(ctx)
    config = here.config
    listener = server.take_port(config.web.port if port is None else port)
    taken = int(listener.getsockname()[1])
    tokenless = frozenset({"/search"}) if config.web.omnisearch else frozenset()
    door = Door(taken, server.new_token(), tokenless)
    address = f"http://{server.HOST}:{taken}/?token={door.token}"

    def ready() -> None:
        here.terminal.say(f"{address}\n")
        here.terminal.out.flush()
        here.terminal.tell(f"Serving {config.vault.name}. Open the address above; Ctrl-C ends it.")
        if config.web.omnisearch:
            here.terminal.tell(f"Omnisearch's place: http://{server.HOST}:{taken}/search?q=… (answers without a token)")
        if open_:
            import webbrowser

            webbrowser.open(address)

    desk = Desk(config, here.terminal.env)
    try:
        server.run(create(desk, door, here.terminal.today), listener, ready)
    finally:
        desk.close()
