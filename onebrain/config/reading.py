"""From the surroundings of a command to its Config: where the vault is, and what its file says."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from onebrain.config.nouns import ChromaServer, Config, Daemon, Embed, Folders, Scheduled, Search, Web, Writer
from onebrain.config.section import Section, compose
from onebrain.errors import BadConfig, ConfigProblem, VaultNotFound

FILE_NAME = "onebrain.yml"
OLDER_FILE_NAME = "vault.yml"
_SYNTHESIS_WRITERS = ("auto", "off", "endpoint", "ollama")
_HYDE_WRITERS = (*_SYNTHESIS_WRITERS, "local")
_SYNTHESIS_SECONDS = 20.0  # it reads the quotes and writes sentences: on a CPU that takes longer than a passage
_DATE_ORDERS = ("dmy", "mdy", "ymd")
_FOLDERS = ("inbox", "projects", "areas", "knowledge", "resources", "agent", "archive", "logs")


def load(vault: Path | None = None, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Config:
    """Find the vault and read its configuration.

    Order: `vault` (a directory, or a configuration file), `ONEBRAIN_VAULT`, the nearest directory from `cwd` upwards that
    holds `onebrain.yml` or the older `vault.yml`. Raises VaultNotFound, or BadConfig with every problem of the file.
    """
    env = os.environ if env is None else env
    cwd = Path.cwd() if cwd is None else cwd
    file, folder = _locate(vault, env, cwd)
    data_dir = _data_dir(env, cwd)
    if file is None:
        return Config(vault=folder, file=None, data_dir=data_dir, search=Search(collection=_collection_name(folder)))
    config = _read(file, data_dir)
    if file.name != OLDER_FILE_NAME:
        return config
    return replace(config, notices=(f"Read the older {OLDER_FILE_NAME}; rename it to {FILE_NAME}.",))


def _locate(vault: Path | None, env: Mapping[str, str], cwd: Path) -> tuple[Path | None, Path]:
    """The configuration file, if there is one, and the directory it was looked for in."""
    if vault is not None:
        return _named(str(vault), "--vault", cwd)
    if env.get("ONEBRAIN_VAULT"):
        return _named(env["ONEBRAIN_VAULT"], "ONEBRAIN_VAULT", cwd)
    upwards = (cwd, *cwd.parents)
    for place in upwards:
        if file := _file_in(place):
            return file, place
    obsidian = next((place for place in upwards if (place / ".obsidian").is_dir()), None)
    raise VaultNotFound(
        f"No vault found: neither {cwd} nor a directory above it holds {FILE_NAME}.",
        hint=f"Run `onebrain init` in {obsidian or 'your vault'}, or name it with --vault DIR or ONEBRAIN_VAULT.",
    )


def _named(text: str, origin: str, cwd: Path) -> tuple[Path | None, Path]:
    place = _absolute(text, cwd)
    if place.is_dir():
        return _file_in(place), place
    if place.is_file() and place.suffix in (".yml", ".yaml"):
        return place, place.parent
    raise VaultNotFound(f"{origin} names {place}, which is not a directory.", hint="Give the directory that holds your notes.")


def _absolute(text: str, base: Path) -> Path:
    """Lexically absolute: `..` is folded, links are kept, so that one vault has one name."""
    try:
        return Path(os.path.normpath(base / Path(text).expanduser()))
    except RuntimeError:  # `~someone` who doesn't exist here
        return Path(os.path.normpath(base / text))


def _file_in(place: Path) -> Path | None:
    return next((place / name for name in (FILE_NAME, OLDER_FILE_NAME) if (place / name).is_file()), None)


def _data_dir(env: Mapping[str, str], cwd: Path) -> Path:
    if named := env.get("ONEBRAIN_DATA_DIR"):
        return _absolute(named, cwd)
    from platformdirs import user_data_path

    return user_data_path("onebrain", appauthor=False)


def _collection_name(vault: Path) -> str:
    """The original's rule: directory name and six digits of the hash of its path, so that two vaults of one name differ."""
    return f"{vault.name or 'vault'}-{hashlib.sha256(os.fsencode(vault)).hexdigest()[:6]}"


def _read(file: Path, data_dir: Path) -> Config:
    problems: list[ConfigProblem] = []
    top = Section(compose(file), "", problems)
    vault = _absolute(top.text("vault", "."), file.parent)
    if not vault.is_dir():
        top.fault("vault", f"`vault` names {vault}, which is not a directory")
    config = Config(
        vault=vault,
        file=file,
        data_dir=data_dir,
        search=_search(top, vault, file.parent),
        folders=_folders(top.section("folders")),
        daemon=_daemon(top.section("daemon")),
        schedule=_schedule(top),
        web=_web(top.section("web")),
        regulated=top.flag("regulated", False),
    )
    if problems:
        raise BadConfig(str(file), tuple(sorted(problems, key=lambda problem: problem.line or 0)))
    return config


def _search(top: Section, vault: Path, beside: Path) -> Search:
    section, base = top.section("search"), Search(collection="")
    embed = section.section("embed")
    reranker = base.rerank_model if section.section("reranker").flag("enabled", True) else "off"  # the original's switch
    reranker = section.switchable("rerank_model", reranker)
    folder = section.optional("embed_folder")
    return Search(
        collection=_collection(top, section) or _collection_name(vault),
        embed_model=section.text("embed_model", base.embed_model),
        embed_folder=_absolute(folder, beside) if folder else None,
        rerank_model=reranker if reranker in (base.rerank_model, "off") else str(_absolute(reranker, beside)),
        default_top_k=section.whole("default_top_k", base.default_top_k, least=1),
        exclude=section.texts("exclude", base.exclude),
        date_order=section.choice("date_order", "", _DATE_ORDERS) or None,
        embed=Embed(auto=embed.flag("auto", True), schedule=embed.optional("schedule")),
        hyde=_writer(section, "hyde", _HYDE_WRITERS, Writer()),
        synthesis=_writer(section, "synthesis", _SYNTHESIS_WRITERS, Writer(timeout_seconds=_SYNTHESIS_SECONDS))
        if section.has("synthesis")
        else None,
        chroma=_chroma(section) if section.has("chroma") else None,
    )


def _collection(top: Section, search: Section) -> str:
    owner, key = (search, "collection") if search.has("collection") else (top, "qmd_collection")
    name = owner.text(key, "")
    if name in (".", "..") or re.search(r"[/\\\x00-\x1f]", name):
        owner.fault(key, f"`{key}` also names a directory of the index, so it can't be {name!r}")
    return name


def _writer(search: Section, key: str, writers: tuple[str, ...], base: Writer) -> Writer:
    if search.kind(key) == "scalar" and search.switchable(key, "") == "off":
        return Writer(writer="off")
    section = search.section(key)
    url = section.optional("url")
    if url and not url.startswith(("http://", "https://")):
        section.fault("url", f"`search.{key}.url` must begin with http:// or https://, not {url!r}")
    writer = section.choice("writer", base.writer, writers)
    if writer == "endpoint" and not url:
        section.fault("writer", f"`search.{key}.writer: endpoint` needs `search.{key}.url` as well")
    return Writer(
        writer=writer,
        url=url,
        model=section.optional("model"),
        api_key_env=_variable(section, "api_key_env"),
        timeout_seconds=section.number("timeout_seconds", base.timeout_seconds, least=0.1),
    )


def _chroma(search: Section) -> ChromaServer:
    section = search.section("chroma")
    url = section.text("url", "")
    if search.kind("chroma") == "mapping" and not url.startswith(("http://", "https://")):
        search.fault("chroma", "`search.chroma` needs a `url` that begins with http:// or https://")
    return ChromaServer(url=url, token_env=_variable(section, "token_env"))


def _variable(section: Section, key: str) -> str | None:
    """The name of an environment variable. What isn't one may be the key itself, which must not be said back."""
    name = section.optional(key)
    if name and not re.fullmatch(r"[A-Za-z_]\w*", name):
        section.fault(key, f"`{key}` must name the environment variable that holds the key, not be the key")
        return None
    return name


def _folders(section: Section) -> Folders:
    base = Folders()
    return Folders(**{key: _folder(section, key, getattr(base, key)) for key in _FOLDERS})


def _folder(section: Section, key: str, default: str) -> str:
    given = section.text(key, default)
    name = given.removeprefix("./").rstrip("/")
    if not name or name.startswith(("/", "~")) or ".." in name.split("/") or "\\" in name:
        section.fault(key, f"`folders.{key}` must be a folder inside the vault, not {given!r}")
    return name


def _daemon(section: Section) -> Daemon:
    base = Daemon()
    quiet = section.whole("quiet_ms", base.quiet_ms)
    cap = section.whole("cap_ms", max(base.cap_ms, quiet))
    if cap < quiet:
        section.fault("cap_ms", f"`daemon.cap_ms` ({cap}) must not be below `daemon.quiet_ms` ({quiet})")
    return Daemon(
        idle_minutes=section.number("idle_minutes", base.idle_minutes),
        quiet_ms=quiet,
        cap_ms=cap,
        rescan_minutes=section.number("rescan_minutes", base.rescan_minutes, least=0.1),
    )


def _web(section: Section) -> Web:
    return Web(port=section.whole("port", 0, most=65535), omnisearch=section.flag("omnisearch", False))


def _schedule(top: Section) -> tuple[Scheduled, ...]:
    """Entries that run `onebrain` or ask `/search` a question. Entries for other skills belong to other programs."""
    found = []
    for entry in top.items("schedule"):
        argv = _scheduled_argv(entry)
        if argv is None:
            continue
        cron, at = entry.optional("cron"), entry.optional("at")
        if (cron is None) == (at is None):
            entry.fault(None, "an entry of `schedule` needs exactly one of `cron` and `at`")
        found.append(Scheduled(argv=argv, cron=cron, at=at))
    return tuple(found)


def _scheduled_argv(entry: Section) -> tuple[str, ...] | None:
    if entry.text("skill", "").lstrip("/") == "search":
        query = entry.optional("query") or _query_of_args(entry)
        if not query:
            entry.fault(None, "a scheduled /search needs its question in `query`")
        return ("search", "--", query or "")
    command = _words(entry.text("command", ""))
    if not command or command[0].rsplit("/", 1)[-1] != "onebrain":
        return None
    argv = (*command[1:], *entry.texts("args", ()))
    if not argv:
        entry.fault(None, "a scheduled `onebrain` needs `args`, such as [search, reindex]")
    return argv


def _query_of_args(entry: Section) -> str | None:
    if entry.kind("args") == "mapping":
        return entry.section("args").optional("query")
    return " ".join(entry.texts("args", ())) or None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a lone quote: one odd word, which no rule knows
        return [command]
