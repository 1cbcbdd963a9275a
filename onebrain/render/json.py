"""Answers as data: the one envelope of every `--json`, and the dictionaries that the CLI, MCP, the web page and `eval` share.

Field names are a contract with other programs. `rerank_score` is left out where nothing was ranked; unknown is null, never 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from onebrain.config import Config
from onebrain.errors import OneBrainError
from onebrain.render.state import Failure, Reindexed, Status
from onebrain.search.report import ChainLink, Hit, IndexState, Mode, Quote, Report, Stage, Worded

Data: TypeAlias = "dict[str, object]"

VERSION = "1"
EMPTY_INDEX = "index is empty — run `onebrain search reindex` first"
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Caution:
    """Something that limits an answer without preventing it; `code` is stable for programs."""

    code: str
    message: str


def dumps(value: object) -> str:
    """JSON on one line: readable letters stay, what could drive a terminal or is no UTF-8 is escaped."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False, allow_nan=False))


def envelope(
    command: str,
    data: Mapping[str, object] | None,
    *,
    vault: Path | None = None,
    cautions: Sequence[Caution] = (),
    error: OneBrainError | None = None,
) -> Data:
    whole: Data = {"version": VERSION, "command": command, "ok": error is None}
    if vault is not None:
        whole["vault"] = {"name": vault.name, "path": str(vault)}
    whole["data"] = data
    whole["warnings"] = [{"code": caution.code, "message": caution.message} for caution in cautions]
    if error is not None:
        whole["error"] = {"code": error.code, "message": error.message} | ({"hint": error.hint} if error.hint else {})
    return whole


def report_data(report: Report, config: Config, *, explain: bool = False) -> Data:
    """The `data` of `search`. `explain` adds the parts of each score as `why`."""
    data: Data = {
        "query": report.query,
        "mode": report.mode.value,
        "verdict": report.verdict.value,
        "answer": {"sentences": [_quote(quote) for quote in report.answer]} if report.answer else None,
        "chain": [_link(link) for link in report.chain] if report.mode is Mode.WHY and report.chain else None,
    }
    if report.synthesis is not None:
        worded = [_worded(sentence, report) for sentence in report.synthesis.sentences]
        data["synthesis"] = {"by": report.synthesis.by, "sentences": worded}
    data |= {
        "sources": [hit_data(hit, config, explain=explain) for hit in report.sources],
        "hits": [hit_data(hit, config, explain=explain) for hit in report.hits],
    }
    if report.below_threshold is not None:
        count, best = report.below_threshold
        data["below_threshold"] = {"count": count, "best": float(best)}
    data["notes"] = list(report.notes)
    data["stages"] = [_stage(stage) for stage in report.stages]
    data["index"] = {"pending": report.index.pending, "as_of": report.index.as_of}
    return data


def listing_data(report: Report, config: Config, *, explain: bool = False) -> Data:
    """The `data` of `search.query`, `search.lex` and `search.vec`: hits alone, and a hint where the index lags."""
    data: Data = {"hits": [hit_data(hit, config, explain=explain) for hit in report.hits]}
    if hint := index_hint(report.index, report.stages):
        data["index_hint"] = hint
    return data


def index_hint(index: IndexState, stages: Sequence[Stage] = ()) -> str | None:
    """What keeps a listing from being complete, and the command that ends it. Without a model a reindex would end nothing."""
    if index.as_of is None:
        return EMPTY_INDEX
    reasons = [stage.reason or "" for stage in stages if stage.name == "vec"]
    if index.pending and "model prepare" in "".join(reasons):
        return f"found by words only — {reasons[0]}"
    if index.pending:
        return f"index is behind — {index.pending} passage(s) found by words only · run `onebrain search reindex --pending-only`"
    return None


def hit_data(hit: Hit, config: Config, *, explain: bool = False) -> Data:
    data: Data = {
        "chunk_id": hit.chunk_id,
        "doc_path": hit.doc_path,
        "heading_path": hit.heading_path,
        "line_start": hit.line_start,
        "line_end": hit.line_end,
        "title": hit.title,
        "source": hit.source,
    }
    if hit.date is not None:
        data["date"] = hit.date
    data["score"] = float(hit.score)
    if hit.rerank_score is not None:
        data["rerank_score"] = float(hit.rerank_score)
    data |= {"band": hit.band.value, "status": hit.status, "snippet": hit.snippet, "legs": list(hit.legs)}
    if explain and hit.why:
        data["why"] = {name: float(part) for name, part in hit.why.items()}
    data["uri"] = obsidian_uri(config.vault.name, hit.doc_path)
    return data


def obsidian_uri(vault_name: str, path: str) -> str:
    return f"obsidian://open?vault={_encoded(vault_name)}&file={_encoded(path)}"


def _encoded(text: str) -> str:
    return quote(text, safe="", errors="surrogateescape")


def _quote(quoted: Quote) -> Data:
    date: Data = {} if quoted.date is None else {"date": quoted.date}
    return {"text": quoted.text, "path": quoted.path, "heading": quoted.heading, "line": quoted.line, **date}


def _worded(sentence: Worded, report: Report) -> Data:
    """`n` counts the links of the chain and then the sentences of the answer, from 1: two of them may stand in one line."""
    cites = [(n, report.quoted[n - 1]) for n in sentence.cites]
    return {"text": sentence.text, "cites": [{"n": n, "path": of.path, "heading": of.heading, "line": of.line} for n, of in cites]}


def _link(link: ChainLink) -> Data:
    data: Data = {
        "date": link.date,
        "event": link.event,
        "quote": link.quote,
        "path": link.path,
        "heading": link.heading,
        "line": link.line,
    }
    if link.rerank_score is not None:
        data["rerank_score"] = float(link.rerank_score)
    if link.superseded_by is not None:
        data["superseded_by"] = link.superseded_by
    return data


def _stage(stage: Stage) -> Data:
    return {"name": stage.name, "status": stage.status.value, "reason": stage.reason, "ms": round(float(stage.ms), 3), "hits": stage.hits}


def status_data(status: Status) -> Data:
    return {
        "collection": status.collection,
        "embed_model": status.embed_model,
        "data_dir": str(status.data_dir),
        "indexed": None if status.doc_count is None else status.last_indexed_at is not None,
        "doc_count": status.doc_count,
        "chunk_count": status.chunk_count,
        "pending_words": status.pending_words,
        "pending_vectors": status.pending_vectors,
        "failed": None if status.doc_count is None else len(status.failed),
        "failures": [failure_data(failure) for failure in status.failed],
        "last_indexed_at": status.last_indexed_at,
        "index_size_bytes": status.index_size_bytes,
        "semantic_available": status.semantic_available,
        "reranker": status.reranker,
        "hyde": status.hyde,
        "owner": status.owner,
        "status_error": status.error,
    }


def reindex_data(result: Reindexed) -> Data:
    return {
        "added": result.added,
        "updated": result.updated,
        "removed": result.removed,
        "moved": result.moved,
        "unchanged": result.unchanged,
        "failed": result.failed,
        "embedded": result.embedded,
        "failures": [failure_data(failure) for failure in result.failures],
        "problems": [failure_data(problem) for problem in result.problems],
        "held_back": result.held_back,
        "reasons": list(result.reasons),
    }


def failure_data(failure: Failure) -> Data:
    line: Data = {} if failure.line is None else {"line": failure.line}
    return {"path": failure.path, **line, "reason": failure.reason}
