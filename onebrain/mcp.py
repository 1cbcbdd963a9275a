"""Answers for agents over MCP: qmd's tools and parameter names, our bands and quotes.

What must stay true: `tools/list` is answered before an index or a model is touched; nothing but the protocol reaches stdout; every tool
but `remember` only reads, and only notes of the vault; the process ends with whoever started it.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from onebrain import __version__
from onebrain.daemon.desk import Desk
from onebrain.errors import NoteUnreadable, OneBrainError
from onebrain.search.question import Filters, Request
from onebrain.search.report import ChainLink, Hit, Quote, Report
from onebrain.vault import files
from onebrain.vault.links import LinkResolver
from onebrain.vault.parse import line_at

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from onebrain.web.guard import Door

NO_INDEX = "No search index for this vault yet — run `onebrain search reindex`, or fall back to filesystem search (grep/Read)."
MOST_TEXT = 200_000  # characters of one `get`; clients cut longer results at a place of their own choosing
MOST_FILES = 50  # of one `multi_get`
PARENT_SECONDS = 1.0

INSTRUCTIONS = """Search over a Markdown vault, with answers quoted from its notes.
Ask `query` first for anything the notes may hold; use `why` for reasons and for how something came to be; `get` reads a note.
rerank_score is the chance that a passage answers: >= 0.60 (confident) may be cited as fact, 0.30-0.60 (possible) is a lead to read,
below 0.30 (weak) is no match. Never present a weak hit as an answer; say that nothing was found."""

RULES = """Answer this from the vault: {query}

1. Call `{tool}` first. Write several searches for `query`: `lex` with the exact words and names, `vec` with the question in plain words,
   and `hyde` with a sentence as the answer might read, when the question is vague.
2. Judge each hit by rerank_score. >= 0.60: confident, cite it. 0.30-0.60: possible, list it among the sources, never as settled fact.
   < 0.30: no match, leave it out.
3. Search files with grep only when the tool fails, when nothing reaches 0.30, or when a note was written a moment ago.
4. Quote, don't embellish: every sentence of the answer and every link of a chain comes from a note you name as path:heading.
5. Don't narrate how you searched.

For a what-question print:
📌 <direct answer, 1-3 sentences>

📚 Sources (top 5 by relevance):
  1. <path>:<heading> — <one-line excerpt>

For a why-question print the decisions, oldest first:
🕐 Decision chain (chronological):
  YYYY-MM-DD · <event/decision> · "<key quote or rationale>"
📚 Sources: <files of the chain>

When nothing clears 0.30:
🔴 No strong match for "<query>" — nothing in the vault clears the confidence bar."""


def _absent(value: object) -> bool:
    """What is unknown is left out, as everywhere: a missing rerank_score is no score, not nought."""
    return value is None


class Search(BaseModel):
    """One sub-query: exact words (`lex`), a question in plain language (`vec`), or a passage as the answer might read (`hyde`)."""

    type: Literal["lex", "vec", "hyde"]
    query: str = Field(min_length=1, max_length=5000)


class Result(BaseModel):
    """A passage. `score` orders this list; `rerank_score` (0-1, left out when not judged) and `band` say how far to trust it."""

    docid: str = Field(description="`path#n`; `get` takes the path")
    file: str = Field(description="Path inside the vault")
    title: str
    score: float
    context: str = Field(description="Heading path")
    line: int = Field(description="First line of the passage")
    snippet: str
    band: str = Field(description="confident, possible, weak, or unranked")
    rerank_score: float | None = Field(None, exclude_if=_absent)
    date: str | None = Field(None, exclude_if=_absent)
    status: str = "active"


class Sentence(BaseModel):
    """A sentence or list of a note, verbatim. `date`: its section's or note's, where the question asks when and the words don't tell."""

    text: str
    file: str
    heading: str
    line: int
    date: str | None = Field(None, exclude_if=_absent)


class Decision(BaseModel):
    """A dated decision. `superseded_by` names the note that replaced it; empty when it no longer holds but nothing says what did."""

    date: str
    event: str
    quote: str
    file: str
    heading: str
    line: int
    rerank_score: float | None = Field(None, exclude_if=_absent)
    superseded_by: str | None = Field(None, exclude_if=_absent)


class Cite(BaseModel):
    """The `n`th quote (of `chain`, then of `answer`), counted from 1, and where it stands."""

    n: int
    file: str
    heading: str
    line: int


class WordedSentence(BaseModel):
    text: str
    cites: list[Cite]


class Worded(BaseModel):
    """The quotes in other words, by the model the user configured. Each sentence shares its words with the quotes it cites; no source."""

    by: str
    sentences: list[WordedSentence]


class Found(BaseModel):
    """Hits, best first, and the sentences that answer when one is confident. `note` says what limits the answer."""

    results: list[Result]
    verdict: str = Field(description="confident, possible, or none: whether the vault answers at all")
    answer: list[Sentence] = []
    synthesis: Worded | None = Field(None, exclude_if=_absent)
    note: str | None = Field(None, exclude_if=_absent)


class Reasons(BaseModel):
    """Decisions, oldest first; where none of them gives a reason, `answer` holds what does. Without dated decisions the chain is empty and
    `answer` and `results` hold what was found."""

    query: str
    verdict: str
    chain: list[Decision]
    answer: list[Sentence]
    synthesis: Worded | None = Field(None, exclude_if=_absent)
    results: list[Result]
    note: str | None = Field(None, exclude_if=_absent)


class NoteText(BaseModel):
    """Lines `line_start`..`line_end` (1-based, inclusive) of a note of `lines` lines."""

    file: str
    text: str
    line_start: int
    line_end: int
    lines: int


class Passed(BaseModel):
    file: str
    reason: str


class NoteTexts(BaseModel):
    notes: list[NoteText]
    skipped: list[Passed] = []


class Failure(BaseModel):
    path: str
    reason: str
    line: int | None = Field(None, exclude_if=_absent)


class State(BaseModel):
    """The index. Null is unknown, never nought."""

    vault: str
    collection: str
    embed_model: str
    indexed: bool | None
    doc_count: int | None
    chunk_count: int | None
    pending_words: int | None
    pending_vectors: int | None
    failed: int | None
    failures: list[Failure]
    last_indexed_at: str | None
    index_size_bytes: int | None
    semantic_available: bool
    reranker: str | None
    hyde: str | None
    owner: str | None
    status_error: str | None


class Remembered(BaseModel):
    """What became of it: `added` as a new note, or `confirmed`, being known; `confirmed` counts how often it was said."""

    action: str
    id: str
    path: str
    confirmed: int = 1


Limit = Annotated[int, Field(ge=1, le=50, description="Most results")]
Paths = Annotated[list[str], Field(description="Only these folders or notes, vault-relative")]
Tags = Annotated[list[str], Field(description="Only notes with one of these tags; `a` also means `a/b`")]
Types = Annotated[list[str], Field(description="Only these kinds: session, project, decision, knowledge, memory, daily, ...")]
Day = Annotated[str | None, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="YYYY-MM-DD, inclusive")]
FromLine = Annotated[int | None, Field(ge=1, description="First line to read")]
MaxLines = Annotated[int | None, Field(ge=1, description="Most lines to read")]
LineNumbers = Annotated[bool, Field(description="Number the lines")]
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)


def create(desk: Desk, today: Callable[[], date] = date.today) -> MCPServer[Any]:
    """The server over a Desk; run it on stdio, or as an ASGI application with `http_app`."""
    server: MCPServer[Any] = MCPServer(
        "onebrain", title=f"onebrain: {desk.config.vault.name}", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    tools = Tools(desk, today)
    server.add_tool(tools.query, title="Search the vault", annotations=READS)
    server.add_tool(tools.why, title="Why: the chain of decisions", annotations=READS)
    server.add_tool(tools.get, title="Read a note", annotations=READS)
    server.add_tool(tools.multi_get, title="Read several notes", annotations=READS)
    server.add_tool(tools.status, title="State of the index", annotations=READS)
    server.add_tool(tools.remember, title="Remember a fact", annotations=ADDS)
    server.resource("onebrain://note/{+path}", name="note", title="A note of the vault", mime_type="text/markdown")(tools.resource)
    rules = "The rules of the /search skill: cascade, confidence bands, output form."
    server.prompt("search", title="Search the vault", description=rules)(search_prompt)
    return server


def search_prompt(query: str) -> str:
    return RULES.format(query=query, tool="why" if re.match(r"(?i)\s*(?:why|when did)\b", query) else "query")


class Tools:
    """The tools by their names; the docstrings are what agents read."""

    def __init__(self, desk: Desk, today: Callable[[], date]) -> None:
        self._desk = desk
        self._today = today

    def query(
        self,
        searches: Annotated[list[Search] | None, Field(max_length=10, description="Sub-queries; the first counts as the question")] = None,
        query: Annotated[str | None, Field(description="The question in plain words, instead of or besides `searches`")] = None,
        limit: Limit = 10,
        minScore: Annotated[float, Field(ge=0, le=1, description="Least rerank_score")] = 0.0,
        paths: Paths = [],  # noqa: B006 - read only, and a plain default in the schema
        tags: Tags = [],  # noqa: B006
        types: Types = [],  # noqa: B006
        after: Day = None,
        before: Day = None,
        rerank: Annotated[bool, Field(description="Judge how well each hit answers")] = True,
        intent: Annotated[str | None, Field(description="Accepted for compatibility")] = None,
        collections: Annotated[list[str] | None, Field(description="Accepted for compatibility: there is one collection")] = None,
        candidateLimit: Annotated[int | None, Field(description="Accepted for compatibility")] = None,
    ) -> Found:
        """Search the vault's notes by words and by meaning. Give sub-queries: `lex` (exact words, names, "a phrase", -without), `vec` (a
        question in plain words), `hyde` (a sentence as the answer might read). Trust each hit by its band, not by its score."""
        with _told():
            if not searches and not (query and query.strip()):
                raise ToolError("There is no question. Give `query`, or `searches` such as [{type: 'vec', query: '...'}].")
            request = self._request(query, searches or [], limit, Filters(tuple(paths), tuple(tags), tuple(types), after, before))
            report = self._ask(request, rerank=rerank, mode="what", min_score=minScore or None)
            if report is None:
                return Found(results=[], verdict="none", synthesis=None, note=NO_INDEX)
            hits = [hit for hit in report.hits if not minScore or (hit.rerank_score or 0.0) >= minScore][:limit]
            return Found(
                results=[_result(hit) for hit in hits],
                verdict=report.verdict.value,
                answer=_sentences(report.answer),
                synthesis=_synthesis(report),
                note=_note(report),
            )

    def why(
        self,
        question: Annotated[str, Field(min_length=1, max_length=5000, description="What to explain: `why did we drop Kafka?`")],
        limit: Limit = 5,
        paths: Paths = [],  # noqa: B006
        tags: Tags = [],  # noqa: B006
        types: Types = [],  # noqa: B006
        after: Day = None,
        before: Day = None,
    ) -> Reasons:
        """Why something is as it is: the decisions that led there, oldest first, each with its date, the reason quoted and where it stands.
        Superseded ones are marked. Every link is quoted from a note; nothing is inferred."""
        with _told():
            request = self._request(question, [], limit, Filters(tuple(paths), tuple(tags), tuple(types), after, before))
            report = self._ask(request, rerank=True, mode="why", min_score=None)
            if report is None:
                return Reasons(query=question, verdict="none", chain=[], answer=[], synthesis=None, results=[], note=NO_INDEX)
            return Reasons(
                query=report.query,
                verdict=report.verdict.value,
                chain=[_decision(link) for link in report.chain],
                answer=_sentences(report.answer),
                synthesis=_synthesis(report),
                results=[_result(hit) for hit in report.sources],
                note=_note(report),
            )

    def get(
        self,
        file: Annotated[str, Field(min_length=1, description="Path inside the vault, `path:LINE`, a docid, or a note's name")],
        fromLine: FromLine = None,
        maxLines: MaxLines = None,
        lineNumbers: LineNumbers = False,
    ) -> Annotated[CallToolResult, NoteText]:
        """Read a note as it stands on the disk, wholly or from a line on."""
        with _told():
            note = self._read(file, fromLine, maxLines)
            return _texts(note.text if not lineNumbers else _numbered(note), note)

    def multi_get(
        self,
        pattern: Annotated[str, Field(min_length=1, description="A glob (`01-projects/**/*.md`), or paths with commas between")],
        maxLines: MaxLines = None,
        maxBytes: Annotated[int, Field(ge=1, description="Leave out notes larger than this")] = 10_240,
        lineNumbers: LineNumbers = False,
    ) -> Annotated[CallToolResult, NoteTexts]:
        """Read several notes at once. Larger ones are named and left out; read them with `get`."""
        with _told():
            config = self._desk.config
            stats = files.stat_all(config.vault, config.search.exclude).stats
            chosen = chosen_paths(pattern, stats)
            found = NoteTexts(notes=[])
            for path in chosen[:MOST_FILES]:
                size = stats[path].size if path in stats else 0
                if size > maxBytes:
                    found.skipped.append(Passed(file=path, reason=f"{size:,} bytes, more than maxBytes {maxBytes:,}; use get"))
                    continue
                try:
                    found.notes.append(self._read(path, None, maxLines))
                except OneBrainError as error:
                    found.skipped.append(Passed(file=path, reason=error.message))
            found.skipped += [Passed(file=path, reason=f"more than {MOST_FILES} notes") for path in chosen[MOST_FILES:]]
            blocks = [f"--- {note.file}\n{_numbered(note) if lineNumbers else note.text}" for note in found.notes]
            blocks += [f"--- {passed.file}\n(skipped: {passed.reason})" for passed in found.skipped]
            return _texts("\n\n".join(blocks) or "no files matched", found)

    def status(self) -> State:
        """Whether the vault is indexed, what waits, and whether search by meaning is available."""
        from onebrain.render.json import status_data

        with _told():
            data = {name: value for name, value in status_data(self._desk.status()).items() if name in State.model_fields}
            return State.model_validate({"vault": self._desk.config.vault.name, **data})

    def remember(
        self,
        text: Annotated[str, Field(pattern=r"\w", max_length=5000, description="One fact, in one or two sentences")],
        subject: Annotated[str | None, Field(description="Whom or what it is about: `user`, a name, a project")] = None,
        type: Annotated[Literal["fact", "preference", "event", "relationship", "insight", "context"], Field()] = "fact",
    ) -> Remembered:
        """Keep a fact as a Markdown note in the vault, so that it is found later. Only when the user asks to remember something or agrees
        to it. Saying a known fact again confirms it. Keys, tokens and passwords are refused."""
        options = ["--json", "--type", type, *(["--subject", subject] if subject else [])]
        with _told():
            data = self._desk.run(["memory", "add", *options, "--", text])
            return Remembered(**{name: data[name] for name in Remembered.model_fields})

    def resource(self, path: str) -> str:
        """The text of a note."""
        try:
            return self._read(path, None, None).text
        except OneBrainError as error:
            raise ResourceNotFoundError(_words(error)) from error

    def _request(self, query: str | None, searches: Sequence[Search], limit: int, filters: Filters) -> Request:
        """The question is `query`, else the first search in plain words, else the first one; the others add to it."""
        rest = list(searches)
        if not (query and query.strip()):
            first = next((search for search in rest if search.type == "vec"), rest[0])
            rest.remove(first)
            query = first.query
        by = {kind: tuple(search.query for search in rest if search.type == kind) for kind in ("lex", "vec", "hyde")}
        return Request(text=query.strip(), now=self._today(), filters=filters, limit=limit, lex=by["lex"], vec=by["vec"], hyde=by["hyde"])

    def _ask(self, request: Request, *, rerank: bool, mode: str, min_score: float | None) -> Report | None:
        from dataclasses import replace

        if not self._desk.has_index():
            return None
        return self._desk.ask(replace(request, rerank=rerank, mode=mode, min_score=min_score, write_synthesis=True))

    def _read(self, target: str, from_line: int | None, max_lines: int | None) -> NoteText:
        config = self._desk.config
        path, line = _place(target)
        if not files.is_note(path, config.search.exclude) or files.stat(config.vault, path) is None:
            path = self._resolved(target, path)
        whole = files.decode(files.read(config.vault, path))[0]
        lines = whole.split("\n")
        place = target.partition("#")[2]
        if not (line or place.isdigit()):
            line = line_at(whole, place)
        if lines and not lines[-1]:
            lines.pop()  # a line end is no line
        start = min(from_line or line or 1, max(1, len(lines)))
        shown = lines[start - 1 : start - 1 + max_lines if max_lines else None]
        text = "\n".join(shown)
        if len(text) > MOST_TEXT:
            shown = text[:MOST_TEXT].split("\n")[:-1] or [text[:MOST_TEXT]]
            text = "\n".join(shown)
        return NoteText(file=path, text=text, line_start=start, line_end=start + max(0, len(shown) - 1), lines=len(lines))

    def _resolved(self, target: str, path: str) -> str:
        """The note a name means, by Obsidian's rules. NoteUnreadable with names like it where there is none."""
        config = self._desk.config
        stats = files.stat_all(config.vault, config.search.exclude).stats
        for name in (target, path):
            if found := LinkResolver(stats).resolve(name, ""):
                return found
        names = {_stem(known).casefold(): known for known in stats}
        near = difflib.get_close_matches(_stem(path).casefold(), names, n=3, cutoff=0.6)
        hint = f"Did you mean {', '.join(names[name] for name in near)}?" if near else "Search for it with `query`."
        raise NoteUnreadable(f"There is no note {path!r} in this vault.", hint=hint)


def chosen_paths(pattern: str, known: Mapping[str, object]) -> list[str]:
    """The vault paths that a glob means, in order; of a list with commas each in turn. A path that isn't known is kept, to be reported."""
    parts = [pattern] if pattern in known else [part.strip() for part in pattern.split(",") if part.strip()]
    chosen: dict[str, None] = {}
    for part in parts:
        path = _place(part)[0]
        if path in known or not re.search(r"[*?]", part):
            chosen[path] = None
        else:
            whole = re.compile(_glob(part))
            chosen.update(dict.fromkeys(sorted(each for each in known if whole.fullmatch(each))))
    return list(chosen)


def _glob(pattern: str) -> str:
    """`*` and `?` within a folder, `**/` through any; a pattern without `/` matches names anywhere."""
    whole = pattern if "/" in pattern else f"**/{pattern}"
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(pieces.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", whole))


def _place(target: str) -> tuple[str, int | None]:
    """`path:12` and the docid `path#3` by their path; a line where one is named."""
    name = target.strip().removeprefix("onebrain://note/")
    if match := re.fullmatch(r"(.+\.md):(\d{1,9})", name, re.IGNORECASE):
        return match[1], int(match[2])
    if match := re.fullmatch(r"(.+\.md)#\d+", name, re.IGNORECASE):
        return match[1], None
    return name, None


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def _numbered(note: NoteText) -> str:
    return "\n".join(f"{number}: {line}" for number, line in enumerate(note.text.split("\n"), note.line_start))


def _texts(text: str, structured: BaseModel) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured.model_dump(mode="json"))


def _result(hit: Hit) -> Result:
    return Result(
        docid=hit.chunk_id,
        file=hit.doc_path,
        title=hit.title,
        score=round(hit.score, 4),
        context=hit.heading_path,
        line=hit.line_start,
        snippet=hit.snippet,
        band=hit.band.value,
        rerank_score=None if hit.rerank_score is None else round(hit.rerank_score, 4),
        date=hit.date,
        status=hit.status,
    )


def _sentences(quotes: Sequence[Quote]) -> list[Sentence]:
    return [Sentence(text=quote.text, file=quote.path, heading=quote.heading, line=quote.line, date=quote.date) for quote in quotes]


def _synthesis(report: Report) -> Worded | None:
    if report.synthesis is None:
        return None
    cites = [Cite(n=n, file=quote.path, heading=quote.heading, line=quote.line) for n, quote in enumerate(report.quoted, 1)]
    sentences = [WordedSentence(text=worded.text, cites=[cites[n - 1] for n in worded.cites]) for worded in report.synthesis.sentences]
    return Worded(by=report.synthesis.by, sentences=sentences)


def _decision(link: ChainLink) -> Decision:
    return Decision(
        date=link.date,
        event=link.event,
        quote=link.quote,
        file=link.path,
        heading=link.heading,
        line=link.line,
        rerank_score=link.rerank_score,
        superseded_by=link.superseded_by,
    )


def _note(report: Report) -> str | None:
    """What limits the answer, in a line: notes of the search, and passages whose meaning isn't indexed yet."""
    notes = list(report.notes)
    if report.index.pending:
        notes.append(f"{report.index.pending} passage(s) are found by words only until their meaning is indexed.")
    return " ".join(notes) or None


@contextmanager
def _told() -> Iterator[None]:
    """Our errors as the tool's: what happened and what to do next."""
    try:
        yield
    except OneBrainError as error:
        raise ToolError(_words(error)) from error


def _words(error: OneBrainError) -> str:
    return f"{error.message} {error.hint}" if error.hint else error.message


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve until stdin ends, or until the parent is gone though somebody else still holds our stdin open."""
    _end_with_parent()
    server.run("stdio")


def _end_with_parent() -> None:
    if sys.platform == "win32":
        return
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os._exit(0)  # the kernel lets go of the lock; nothing of ours is half written that a crash would not heal

    threading.Thread(target=watch, name="onebrain-parent", daemon=True).start()


def http_app(server: MCPServer[Any], door: Door) -> ASGIApp:
    """The streamable HTTP transport at `/mcp`, behind the gate: `Authorization: Bearer <token>`."""
    from mcp.server.transport_security import TransportSecuritySettings

    from onebrain.web.guard import Guard

    allowed = TransportSecuritySettings(allowed_hosts=sorted(door.hosts), allowed_origins=[f"http://{host}" for host in sorted(door.hosts)])
    return Guard(server.streamable_http_app(transport_security=allowed), door)
