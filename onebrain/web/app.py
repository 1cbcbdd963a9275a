"""The search page: one Starlette application over a Desk. Routes turn a query string into a Request and a Report into HTML, no more.

What must stay true: nothing is changed by any route (all are GET), every path is read through `vault.files`, and a page can be rebuilt
from its address alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from onebrain.daemon.desk import Desk
from onebrain.errors import NoteUnreadable, OneBrainError
from onebrain.render.json import obsidian_uri
from onebrain.render.plain import clean
from onebrain.search.report import Mode, Verdict
from onebrain.vault import files
from onebrain.vault.library import Library, NoteRecord
from onebrain.vault.links import LinkResolver
from onebrain.vault.note import EventKind, Status
from onebrain.vault.parse import line_at
from onebrain.web import markdown, omnisearch, views
from onebrain.web.guard import Door, Guard
from onebrain.web.views import Stage

T = TypeVar("T")

HERE = Path(__file__).parent
LATELY = 6  # decisions on the empty page


def create(desk: Desk, door: Door, today: Callable[[], date] = date.today) -> ASGIApp:
    """The application behind its gate. `door.tokenless` should hold `/search` where the user opened it."""
    page = Page(desk, today)
    routes = [
        Route("/", page.home),
        Route("/answer", page.answer),
        Route("/note", page.note),
        Route("/health", page.health),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]
    if desk.config.web.omnisearch:
        routes.append(Route("/search", page.omnisearch))
    return Guard(Starlette(routes=routes), door)


def templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(day=views.day, plain=views.plain, marked=views.marked, band=views.band, clean=clean)
    environment.filters["key"] = lambda text: hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    environment.filters["stem"] = _stem
    environment.globals.update(note_url=markdown.note_url, cited=views.cited, others=views.others, timeline=views.timeline)
    environment.globals.update(Mode=Mode, Verdict=Verdict, troubles=views.troubles, worded=views.worded)
    return environment


class Page:
    """The handlers, with what they share: the desk, the templates, and the link table of the index generation last seen."""

    def __init__(self, desk: Desk, today: Callable[[], date]) -> None:
        self._desk = desk
        self._today = today
        self._links: tuple[int, LinkResolver] | None = None
        self._templates = templates()
        vault = desk.config.vault
        self._templates.globals.update(vault=vault.name, obsidian=partial(obsidian_uri, vault.name))

    async def home(self, request: HttpRequest) -> Response:
        """The whole page. A question in the address is answered by words at once, then wholly (`stage=full`: wholly at once)."""
        form, results = views.Asked(), ""
        try:
            form = views.asked(request.query_params)
            results = await self._results(form, _stage(request), then=Stage.FULL)
        except OneBrainError as error:
            results = self._fragment("problem.html", error=error)
        facets = await self._peek(lambda library: views.facets(library.notes().values()))
        return HTMLResponse(self._fragment("page.html", form=form, facets=facets or views.Facets(), results=results))

    async def answer(self, request: HttpRequest) -> Response:
        try:
            form = views.asked(request.query_params)
            body = await self._results(form, _stage(request), then=Stage.MEANING)
        except OneBrainError as error:
            return HTMLResponse(self._fragment("problem.html", error=error))
        query = form.query_string()
        return HTMLResponse(body, headers={"HX-Replace-Url": f"/?{query}" if query else "/"})

    async def _results(self, form: views.Asked, stage: Stage, then: Stage) -> str:
        """What `stage` finds; the fragment of the words alone asks for `then` by itself."""
        if not form.q:
            vault = self._desk.config.vault
            return self._fragment("empty.html", lately=await self._peek(lambda library: _lately(library, vault)) or ())
        if not await run_in_threadpool(self._desk.has_index):
            return self._fragment("no_index.html")
        report = await run_in_threadpool(self._desk.ask, views.request_of(form, self._today(), stage))
        if stage is Stage.WORDS:
            return self._fragment("words.html", form=form, report=report, next=then)
        return self._fragment("report.html", form=form, report=report, said=views.summary(report))

    async def note(self, request: HttpRequest) -> Response:
        """A note with lines `line`..`end` marked: a fragment for the reader, a page of its own for everybody else."""
        path = request.query_params.get("path", "")
        first = _number(request.query_params.get("line"))
        last = max(first, _number(request.query_params.get("end")))
        whole = "HX-Request" not in request.headers
        try:
            text = await run_in_threadpool(self._text, path)
        except NoteUnreadable as error:
            return HTMLResponse(self._fragment("problem.html", error=error, whole=whole), status_code=404)
        if not first and (place := request.query_params.get("at")):
            first = last = line_at(text, place) or 0
        record, resolver = await self._peek(lambda library: self._context(library, path)) or (None, None)
        title = record.title if record else _stem(path)
        shown, left_out = views.excerpt(text, first)
        html = await run_in_threadpool(
            markdown.to_html,
            shown,
            first=first - left_out,
            last=last - left_out,
            title=title,
            resolve=lambda target: path if target.startswith("#") else resolver.resolve(target, path) if resolver else None,
        )
        return HTMLResponse(
            self._fragment(
                "note.html", path=path, title=title, record=record, html=html, line=first, partial=len(shown) < len(text), whole=whole
            )
        )

    def _text(self, path: str) -> str:
        config = self._desk.config
        if not files.is_note(path, config.search.exclude):
            raise NoteUnreadable(f"{path!r} is not a note of this vault", hint="Only Markdown notes inside the vault are shown.")
        return files.decode(files.read(config.vault, path))[0]

    def _context(self, library: Library, path: str) -> tuple[NoteRecord | None, LinkResolver]:
        notes = library.notes()
        if self._links is None or self._links[0] != library.generation:
            aliases = {note.path: note.aliases for note in notes.values() if note.aliases}
            self._links = library.generation, LinkResolver(notes, aliases, {note.path: note.title for note in notes.values()})
        record = notes.get(path)
        return record if record is not None and files.unchanged(self._desk.config.vault, record) else None, self._links[1]

    async def health(self, request: HttpRequest) -> Response:
        try:
            health = views.health(await run_in_threadpool(self._desk.status))
        except OneBrainError as error:
            health = views.Health("bad", error.message)
        return HTMLResponse(self._fragment("health.html", health=health))

    async def omnisearch(self, request: HttpRequest) -> Response:
        question = request.query_params.get("q", "").strip()[: views.LONGEST]
        if not question or not await run_in_threadpool(self._desk.has_index):
            return JSONResponse([])
        found = await run_in_threadpool(self._desk.ask, omnisearch.request_of(question, self._today()))
        return JSONResponse(omnisearch.results(found, self._desk.config.vault.name))

    async def _peek(self, look: Callable[[Library], T]) -> T | None:
        """What the index holds; None where there is none yet, or where it can't be read: its health says why."""
        try:
            return await run_in_threadpool(self._desk.peek, look) if await run_in_threadpool(self._desk.has_index) else None
        except OneBrainError:
            return None

    def _fragment(self, name: str, **values: Any) -> str:
        return self._templates.get_template(name).render({"whole": False, **values})


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def _stage(request: HttpRequest) -> Stage:
    named = request.query_params.get("stage", "")
    return Stage(named) if named in set(Stage) else Stage.WORDS


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else 0


def _lately(library: Library, vault: Path) -> tuple[Mapping[str, Any], ...]:
    """The newest decisions that stand, each once: from decision records and decision tables, where a line surely is one. Of notes that
    went or changed since they were indexed none is shown."""
    notes = library.notes()
    paths = [note.path for note in notes.values() if note.has_events and note.status is Status.ACTIVE]
    found = [
        (event.date, event.what, path, event.line)
        for path, events in library.events(paths).items()
        for event in events
        if event.kind in (EventKind.RECORD, EventKind.TABLE) and event.status is Status.ACTIVE
    ]
    newest: dict[str, Mapping[str, Any]] = {}
    for day, what, path, line in sorted(found, key=lambda each: (each[0], each[2], -each[3]), reverse=True):
        if len(newest) == LATELY:
            break
        if day not in newest and files.unchanged(vault, notes[path]):
            newest[day] = {"date": day, "what": what, "path": path, "line": line}
    return tuple(newest.values())
