"""What the user can configure, as frozen values. The names are those of `onebrain.yml`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folders:
    """The eight remappable folders of the OneBrain layout, vault-relative."""

    inbox: str = "00-inbox"
    projects: str = "01-projects"
    areas: str = "02-areas"
    knowledge: str = "03-knowledge"
    resources: str = "04-resources"
    agent: str = "05-agent"
    archive: str = "06-archive"
    logs: str = "07-logs"


@dataclass(frozen=True, slots=True)
class Embed:
    """`schedule` is a cron expression for a full plan; `auto` lets the daemon embed in the background."""

    auto: bool = True
    schedule: str | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes a hypothetical passage: `auto` (endpoint if `url`, else the local model), `off`, `endpoint`, `ollama`, `local`. A
    synthesis is written by an endpoint alone, and only where `url` is set.
    """

    writer: str = "auto"
    url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    timeout_seconds: float = 3.0

    @property
    def endpoint(self) -> str | None:
        """The address to ask, None where none is configured or none is wanted."""
        return self.url if self.writer in ("auto", "endpoint", "ollama") else None


@dataclass(frozen=True, slots=True)
class ChromaServer:
    url: str
    token_env: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    collection: str
    embed_model: str = "multilingual-e5-small"
    embed_folder: Path | None = None
    rerank_model: str = "onebrain-compact"  # or a folder (absolute), or `off`
    default_top_k: int = 10
    exclude: tuple[str, ...] = ("attachments",)
    date_order: str | None = None  # `dmy`, `mdy`, `ymd` for dates a note itself leaves ambiguous
    embed: Embed = Embed()
    hyde: Writer = Writer()
    synthesis: Writer | None = None  # an endpoint that may word the answer from the quoted sentences
    chroma: ChromaServer | None = None


@dataclass(frozen=True, slots=True)
class Daemon:
    idle_minutes: float = 5.0  # models and engines are unloaded after this
    quiet_ms: int = 400
    cap_ms: int = 2000
    rescan_minutes: float = 10.0


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One entry of `schedule:`. Exactly one of `cron` and `at`; `argv` is what `onebrain` is run with."""

    argv: tuple[str, ...]
    cron: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Web:
    port: int = 0
    omnisearch: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    vault: Path
    file: Path | None
    data_dir: Path
    search: Search
    folders: Folders = Folders()
    daemon: Daemon = Daemon()
    schedule: tuple[Scheduled, ...] = ()
    web: Web = Web()
    regulated: bool = False
    notices: tuple[str, ...] = field(default=())  # e.g. the older `vault.yml` was read

    @property
    def key_variables(self) -> dict[str, str]:
        """The environment variables that hold the keys in use, by the option that names them."""
        search = self.search
        writers = {"search.hyde.api_key_env": search.hyde, "search.synthesis.api_key_env": search.synthesis}
        found = {option: writer.api_key_env for option, writer in writers.items() if writer is not None and writer.endpoint}
        found["search.chroma.token_env"] = search.chroma.token_env if search.chroma is not None else None
        return {option: name for option, name in found.items() if name}
