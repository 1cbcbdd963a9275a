"""`onebrain init`: find the vault, show what will be indexed, and write a commented onebrain.yml where there is none. Safe to run again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from onebrain import config as configuration
from onebrain.cli.base import App, Json, Quiet, Session, session
from onebrain.cli.terminal import Terminal
from onebrain.config import Config
from onebrain.errors import VaultNotFound
from onebrain.render.plain import one_line

app = App("Prepare a directory of notes for onebrain.")
LISTED = 30  # folders shown; a vault with more is known by its largest


@app.command("init", help="Find the vault, show what will be indexed, and write a commented onebrain.yml where there is none.")
def init(
    ctx: typer.Context,
    directory: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The notes; default: here.", show_default=False)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show, and write nothing.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    from onebrain.vault import files

    current = session(ctx)
    place = _place(current, directory)
    config = configuration.load(place, current.terminal.env, current.terminal.cwd)
    walk = files.stat_all(config.vault, config.search.exclude)
    counts = Counter(path.split("/", 1)[0] if "/" in path else "." for path in walk.stats)
    written = configuration.write_commented(place) if config.file is None and not dry_run else None
    file = config.file or place / configuration.FILE_NAME
    layout = _layout(config)
    for path, reason in walk.failures:
        current.warn("W_UNREADABLE", f"{path}: {reason}")

    def shown() -> str:
        lines = [f"vault       {config.vault}", f"collection  {config.search.collection}", f"notes       {len(walk.stats):,}"]
        lines += [f"  {count:>7,}  {'(top level)' if name == '.' else f'{one_line(name)}/'}" for name, count in counts.most_common(LISTED)]
        lines += [f"  ... and {len(counts) - LISTED} more folders"] if len(counts) > LISTED else []
        lines.append(f"layout      {f'OneBrain ({len(layout)} of 8 folders)' if layout else 'any: every note is a note of the vault'}")
        lines.append(f"excluded    {', '.join((*config.search.exclude, 'hidden folders', 'node_modules'))}")
        said = "written" if written else "not written (--dry-run)" if config.file is None else "there already, left as it is"
        lines.append(f"file        {file} · {said}")
        return "\n".join(lines) + "\n"

    data: dict[str, object] = {
        "vault": str(config.vault),
        "collection": config.search.collection,
        "file": str(file),
        "written": written is not None,
        "notes": len(walk.stats),
        "folders": [{"folder": name, "notes": count} for name, count in counts.most_common()],
        "layout": layout,
    }
    current.give(lambda: data, shown)
    _advise(current, config, place, bool(walk.stats))


def _place(current: Session, directory: Path | None) -> Path:
    """The directory named, else the vault we stand in, else where Obsidian keeps its own folder, else here."""
    here = current.terminal.cwd
    named = directory if directory is not None else Path(current.vault_option) if current.vault_option else None
    if named is not None:
        place = here / named.expanduser()
        if not place.is_dir():
            raise VaultNotFound(f"There is no directory {place}.", hint="Give the directory that holds your notes.")
        return place
    return _vault_around(current.terminal) or next((up for up in (here, *here.parents) if (up / ".obsidian").is_dir()), here)


def _vault_around(terminal: Terminal) -> Path | None:
    try:
        found = configuration.load(None, terminal.env, terminal.cwd)
    except VaultNotFound:
        return None
    return found.file.parent if found.file else found.vault


def _layout(config: Config) -> list[str]:
    names = ("inbox", "projects", "areas", "knowledge", "resources", "agent", "archive", "logs")
    return [name for name in names if (config.vault / getattr(config.folders, name)).is_dir()]


def _advise(current: Session, config: Config, place: Path, any_notes: bool) -> None:
    """What is left to be done; nothing that is done already."""
    from onebrain.daemon import process
    from onebrain.models import weights

    vault = "" if place == current.terminal.cwd else f" --vault {place}"
    if not any_notes:
        current.note("ℹ️  There are no Markdown notes here yet, or `search.exclude` leaves all of them out; onebrain indexes *.md.")
    search = config.search
    prepared = search.embed_folder is not None or bool(weights.list_models(config.data_dir / "models"))
    indexed = (config.data_dir / "search" / search.collection).is_dir()
    steps = [step for step, done in (("model prepare", prepared), ("reindex", indexed)) if not done]
    if steps:
        current.note("→ Next: " + ", then ".join(f"onebrain{vault} search {step}" for step in steps))
    if process.told(config, "status", 1.0) is None:
        current.note(f"→ onebrain{vault} daemon start keeps the index in step while you edit, and answers faster")
