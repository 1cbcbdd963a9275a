"""The MCP tools through the SDK's own client, in memory: what they take, what they give, what they refuse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from small_vault import ADR3, ADR7, NOTES, PORT, TOKEN, WHAT, WORDED, WORDED_WHY, FakeBrain, hit
from starlette.testclient import TestClient

from onebrain.config import Config
from onebrain.daemon.desk import Desk
from onebrain.errors import BadRequest, IndexDamaged
from onebrain.mcp import NO_INDEX, chosen_paths, create, http_app, search_prompt
from onebrain.search.question import Filters
from onebrain.search.report import Band
from onebrain.web.guard import Door

T = TypeVar("T")
TODAY = date(2026, 10, 13)


def with_client(desk: Desk, use: Callable[[Client], Awaitable[T]]) -> T:
    async def main() -> T:
        async with Client(create(desk, lambda: TODAY)) as client:
            return await use(client)

    return anyio.run(main)


def call(desk: Desk, tool: str, **arguments: Any) -> Any:
    return with_client(desk, lambda client: client.call_tool(tool, arguments))


def given(desk: Desk, tool: str, **arguments: Any) -> dict[str, Any]:
    result = call(desk, tool, **arguments)
    assert not result.is_error, result.content
    structured: dict[str, Any] = result.structured_content
    return structured


def refused(desk: Desk, tool: str, **arguments: Any) -> str:
    result = call(desk, tool, **arguments)
    assert result.is_error
    return str(result.content[0].text)


def test_tools_have_typed_inputs_and_outputs_and_touch_no_index(config: Config) -> None:
    desk = Desk(config, {}, lambda owner: pytest.fail("an index was opened"))
    tools = {tool.name: tool for tool in with_client(desk, lambda client: client.list_tools()).tools}
    assert list(tools) == ["query", "why", "get", "multi_get", "status", "remember"]
    for tool in tools.values():
        assert tool.description and tool.output_schema and tool.output_schema["type"] == "object"
    inputs = tools["query"].input_schema["properties"]
    qmd = {"searches", "limit", "minScore", "candidateLimit", "collections", "intent", "rerank"}
    assert qmd <= set(inputs)
    assert [tool.annotations.read_only_hint for tool in tools.values() if tool.annotations] == [True] * 5 + [False]


def test_query_takes_qmds_parameters_and_the_first_plain_search_is_the_question(desk: Desk, brain: FakeBrain) -> None:
    searches = [
        {"type": "lex", "query": "kafka"},
        {"type": "vec", "query": "what replaced kafka"},
        {"type": "hyde", "query": "Redis Streams replaced Kafka."},
    ]
    given(desk, "query", searches=searches, limit=3, minScore=0.1, candidateLimit=40, collections=["notes"], intent="x", rerank=False)
    asked = brain.asked[-1]
    assert (asked.text, asked.lex, asked.vec, asked.hyde) == ("what replaced kafka", ("kafka",), (), ("Redis Streams replaced Kafka.",))
    assert (asked.limit, asked.min_score, asked.rerank, asked.mode, asked.now) == (3, 0.1, False, "what", TODAY)


def test_unknown_parameters_are_accepted_as_qmd_does(desk: Desk) -> None:
    assert given(desk, "query", query="kafka", chunkStrategy="auto")["results"]


def test_results_carry_place_score_and_band(desk: Desk, brain: FakeBrain) -> None:
    found = given(desk, "query", query="what replaced kafka", paths=["01-projects"], tags=["adr"], after="2026-01-01")
    assert brain.asked[-1].filters == Filters(("01-projects",), ("adr",), (), "2026-01-01", None)
    assert found["results"][0] == {
        "docid": f"{ADR7}#1", "file": ADR7, "title": "ADR-007: Redis Streams", "score": 0.9, "context": "ADR-007 > Decision", "line": 12,
        "snippet": "We dropped Kafka.", "band": "confident", "rerank_score": 0.87, "date": "2026-04-19", "status": "active",
    }  # fmt: skip
    assert [result["band"] for result in found["results"]] == ["confident", "possible", "weak"]
    assert found["verdict"] == "confident"
    assert found["answer"][0]["file"] == ADR7 and found["answer"][0]["line"] == 12
    assert found["note"] == "2 passage(s) are found by words only until their meaning is indexed."


def test_least_score_and_limit_bound_the_results(desk: Desk) -> None:
    assert [r["rerank_score"] for r in given(desk, "query", query="what replaced kafka", minScore=0.3)["results"]] == [0.87, 0.41]
    assert len(given(desk, "query", query="what replaced kafka", limit=1)["results"]) == 1


def test_a_hit_that_was_not_judged_has_no_rerank_score_rather_than_none_or_nought(desk: Desk, brain: FakeBrain) -> None:
    unranked = hit(band=Band.UNRANKED, score=None)
    brain.ask = lambda request: replace(WHAT, hits=(unranked,))  # type: ignore[method-assign]
    result = given(desk, "query", query="kafka")["results"][0]
    assert "rerank_score" not in result
    assert result["band"] == "unranked"


def test_why_gives_the_chain_oldest_first(desk: Desk, brain: FakeBrain) -> None:
    found = given(desk, "why", question="why did we drop kafka?")
    assert brain.asked[-1].mode == "why"
    assert [(link["date"], link["file"], link.get("superseded_by")) for link in found["chain"]] == [
        ("2025-10-02", ADR3, ADR7),
        ("2026-04-19", ADR7, None),
    ]
    assert found["chain"][1]["quote"] == "the headcount didn't justify Kafka's ops cost"


def test_a_synthesis_comes_beside_the_quotes_and_only_where_there_is_one(desk: Desk, brain: FakeBrain) -> None:
    found = given(desk, "query", query="what replaced kafka")
    assert "synthesis" not in found and brain.asked[-1].write_synthesis
    assert "synthesis" not in given(desk, "why", question="why did we drop kafka?")
    brain.ask = lambda request: WORDED_WHY if request.mode == "why" else WORDED  # type: ignore[method-assign]
    worded = given(desk, "query", query="what replaced kafka")
    assert worded["answer"] == found["answer"]
    assert worded["synthesis"]["sentences"][0]["cites"] == [{"n": 1, "file": ADR7, "heading": "ADR-007 > Decision", "line": 12}]
    synthesis = given(desk, "why", question="why did we drop kafka?")["synthesis"]
    assert synthesis["by"].startswith("llama3.2 at") and [c["file"] for c in synthesis["sentences"][1]["cites"]] == [ADR7, ADR3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "There is no question."),
        ({"searches": []}, "There is no question."),
        ({"query": "  "}, "There is no question."),
        ({"searches": [{"type": "regex", "query": "x"}]}, "searches.0.type"),
        ({"searches": [{"type": "lex", "query": "x"}] * 11}, "searches"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "after": "soon"}, "after"),
    ],
)
def test_a_query_that_can_not_be_meant_is_refused_in_words(desk: Desk, arguments: dict[str, Any], words: str) -> None:
    assert words in refused(desk, "query", **arguments)


def test_without_an_index_results_are_empty_and_say_what_to_run(desk: Desk, brain: FakeBrain) -> None:
    brain.status_now.doc_count, brain.status_now.last_indexed_at = 0, None
    assert given(desk, "query", query="kafka") == {"results": [], "verdict": "none", "answer": [], "note": NO_INDEX}
    assert given(desk, "why", question="why kafka")["note"] == NO_INDEX
    assert brain.asked == [] and "words" not in brain.log
    assert given(desk, "status")["indexed"] is False


def test_trouble_is_told_with_its_remedy(desk: Desk, brain: FakeBrain) -> None:
    def broken(request: Any) -> Any:
        raise IndexDamaged("The index can't be read.", hint="Run `onebrain search reindex --force`.")

    brain.ask = broken  # type: ignore[method-assign]
    assert refused(desk, "query", query="x").endswith("The index can't be read. Run `onebrain search reindex --force`.")


def test_status_keeps_unknown_as_null(desk: Desk, brain: FakeBrain) -> None:
    brain.status_now.doc_count, brain.status_now.error = None, "the index is busy"
    state = given(desk, "status")
    assert (state["vault"], state["doc_count"], state["indexed"], state["failed"]) == ("My Vault", None, None, None)
    assert state["status_error"] == "the index is busy"


@pytest.mark.parametrize(
    "name",
    [ADR7, f"{ADR7}:12", f"{ADR7}#4", "ADR-007 Redis Streams", "adr-007 redis streams.md", f"onebrain://note/{ADR7}"],
)
def test_get_takes_paths_docids_and_names(desk: Desk, name: str) -> None:
    result = call(desk, "get", file=name)
    assert result.structured_content["file"] == ADR7
    assert result.content[0].text == result.structured_content["text"]


def test_get_reads_the_live_file_from_a_line_on(desk: Desk, vault: Path) -> None:
    (vault / ADR7).write_text("one\r\ntwo\nthree\n", encoding="utf-8")
    note = given(desk, "get", file=ADR7, fromLine=2, maxLines=1)
    assert note == {"file": ADR7, "text": "two", "line_start": 2, "line_end": 2, "lines": 3}
    assert given(desk, "get", file=f"{ADR7}:3")["text"] == "three"
    assert given(desk, "get", file=ADR7, fromLine=99)["text"] == "three"
    assert call(desk, "get", file=ADR7, fromLine=2, lineNumbers=True).content[0].text == "2: two\n3: three"
    (vault / ADR7).write_text("one\n\n## Set up {#setup}\ntwo\n", encoding="utf-8")
    assert [given(desk, "get", file=f"{ADR7}#{place}")["line_start"] for place in ("setup", "Set up", "nowhere", "2")] == [3, 3, 1, 1]


OUTSIDE = ("../outside.md", "/etc/passwd", ".obsidian/app.md", "attachments/secret.md", "03-knowledge/data.txt", "link.md", "\x00")


@pytest.mark.parametrize("file", OUTSIDE)
def test_nothing_but_notes_of_the_vault_is_read(desk: Desk, vault: Path, tmp_path: Path, file: str) -> None:
    (tmp_path / "outside.md").write_text("TOP SECRET", encoding="utf-8")
    (vault / "link.md").symlink_to(tmp_path / "outside.md")
    told = refused(desk, "get", file=file)
    assert "SECRET" not in told and "Traceback" not in told
    assert "SECRET" not in str(call(desk, "multi_get", pattern=file).content)

    async def read(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.read_resource(f"onebrain://note/{file}")

    with_client(desk, read)


def test_a_miss_names_notes_like_it(desk: Desk) -> None:
    assert "Did you mean 03-knowledge/Glossary.md?" in refused(desk, "get", file="Glosary")


def test_multi_get_takes_globs_and_lists_and_reports_what_it_left_out(desk: Desk, vault: Path) -> None:
    (vault / "03-knowledge/Big.md").write_text("x" * 20_000, encoding="utf-8")
    found = given(desk, "multi_get", pattern="03-knowledge/*.md", maxLines=1)
    assert [note["file"].removeprefix("03-knowledge/") for note in found["notes"]] == ["Glossary.md", "Hostile.md", "返品の手順.md"]
    assert found["skipped"] == [{"file": "03-knowledge/Big.md", "reason": "20,000 bytes, more than maxBytes 10,240; use get"}]
    text = call(desk, "multi_get", pattern="Glossary.md, No Such.md", maxLines=1).content[0].text
    assert text == "--- 03-knowledge/Glossary.md\n# Glossary\n\n--- No Such.md\n(skipped: There is no note 'No Such.md' in this vault.)"
    assert call(desk, "multi_get", pattern="zzz/*.md").content[0].text == "no files matched"


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.md", ["a.md", "b/c.md", "b/d/e, f.md"]),
        ("b/*.md", ["b/c.md"]),
        ("b/**/*.md", ["b/c.md", "b/d/e, f.md"]),
        ("**/c.md", ["b/c.md"]),
        ("b/d/e, f.md", ["b/d/e, f.md"]),  # a comma in a name
        ("b/c.md#2,a.md", ["b/c.md", "a.md"]),
        ("?.md", ["a.md", "b/c.md"]),
        ("[a].md", ["[a].md"]),
        (" , ", []),
    ],
)
def test_patterns(pattern: str, paths: list[str]) -> None:
    assert chosen_paths(pattern, dict.fromkeys(["a.md", "b/c.md", "b/d/e, f.md"])) == paths


def test_notes_are_resources(desk: Desk) -> None:
    templates = with_client(desk, lambda client: client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == ["onebrain://note/{+path}"]
    contents = with_client(
        desk, lambda client: client.read_resource("onebrain://note/03-knowledge/%E8%BF%94%E5%93%81%E3%81%AE%E6%89%8B%E9%A0%86.md")
    )
    assert contents.contents[0].text == NOTES["03-knowledge/返品の手順.md"].rstrip("\n")  # type: ignore[union-attr]
    assert contents.contents[0].mime_type == "text/markdown"


def test_the_prompt_carries_the_rules_of_the_skill(desk: Desk) -> None:
    prompts = with_client(desk, lambda client: client.list_prompts()).prompts
    assert [(prompt.name, [each.name for each in prompt.arguments or ()]) for prompt in prompts] == [("search", ["query"])]
    rules = with_client(desk, lambda client: client.get_prompt("search", {"query": "why kafka?"})).messages[0].content.text  # type: ignore[union-attr]
    assert "Answer this from the vault: why kafka?" in rules and "Call `why` first" in rules
    for words in ("📌", "📚 Sources (top 5 by relevance):", "🕐 Decision chain (chronological):", "🔴 No strong match for", "0.60", "0.30"):
        assert words in rules
    assert "Call `query` first" in search_prompt("what is {braces}?")


def test_remember_writes_through_the_command_line(desk: Desk, vault: Path) -> None:
    kept = given(desk, "remember", text="Noor prefers tea.", subject="Noor", type="preference")
    assert kept["action"] == "added"
    note = (vault / kept["path"]).read_text(encoding="utf-8")
    assert "Noor prefers tea." in note and "subject: Noor" in note
    again = given(desk, "remember", text="Noor prefers tea.", subject="Noor", type="preference")
    assert (again["action"], again["id"], again["confirmed"]) == ("confirmed", kept["id"], 2)


def test_a_secret_is_not_remembered(desk: Desk, vault: Path) -> None:
    before = sorted(vault.rglob("*"))
    assert "isn't kept" in refused(desk, "remember", text="The key is AKIA" + "IOSFODNN7EXAMPLE")
    assert "text" in refused(desk, "remember", text="-")
    assert sorted(vault.rglob("*")) == before


def rpc(client: TestClient, **headers: str) -> Any:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return client.post("/mcp", json=body, headers={"accept": "application/json, text/event-stream", **headers})


def test_over_http_the_token_our_host_and_no_other_origin_are_needed(desk: Desk) -> None:
    app = http_app(create(desk), Door(PORT, TOKEN))
    bearer = {"authorization": f"Bearer {TOKEN}"}
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        assert rpc(client).status_code == 403
        assert rpc(client, authorization="Bearer wrong").status_code == 403
        assert rpc(client, **bearer, origin="https://evil.example").status_code == 403
        assert rpc(client, **bearer, host="evil.example").status_code == 421
        answer = rpc(client, **bearer)
        assert answer.status_code == 200
        assert '"name":"onebrain"' in answer.text
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_bad_port_is_told() -> None:
    from onebrain.web import serve

    listener = serve.take_port(0)
    with pytest.raises(BadRequest, match="can't be used"):
        serve.take_port(listener.getsockname()[1])
    with pytest.raises(BadRequest, match="There is no port 70000"):
        serve.take_port(70_000)
    listener.close()
