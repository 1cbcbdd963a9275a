"""Recall as seed 001 describes it. Every example and every edge case of the seed is a transcript here that names its section."""

from __future__ import annotations

from pathlib import Path

import pytest

from onebrain.memory.audit import LineHit, read_archive
from onebrain.memory.export import appended
from onebrain.memory.observations import Observation
from onebrain.memory.recall import LayerOne, LayerState, Outcome, Recalled, SemanticHit, agree, recall, refusal
from onebrain.memory.recall_text import data, text

UNSET = LayerOne("claude-mem", LayerState.UNSET, "CLAUDE_MEM_API_KEY unset")
ADR = "ADR-007: dropped kafka in favor of redis streams. Headcount didn't justify kafka ops cost. Confirmed redis caps at 1M msg/day."


def at_line(number: int, text: str) -> str:
    return "\n" * (number - 1) + text + "\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    memory = tmp_path / "memory"
    memory.mkdir()
    write(tmp_path, "architecture_decisions.md", at_line(142, ADR))
    write(tmp_path, "change_log.md", at_line(88, "kafka producer code removed in PR #421"))
    write(tmp_path, "bugs_and_fixes.md", at_line(203, "redis-streams: fixed consumer-group rebalance bug left by kafka (2026-04-12)"))
    return tmp_path


def write(project: Path, name: str, content: str) -> None:
    path = project / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def ask(project: Path, question: str, layer_one: LayerOne = UNSET) -> Recalled:
    refused = refusal(question)
    return refused or recall(question, read_archive(project), layer_one)


def active(*hits: SemanticHit, newest: str | None = "2026-04-29T10:00:00.000Z") -> LayerOne:
    return LayerOne("claude-mem", LayerState.ACTIVE, hits=hits, newest=newest)


def semantic(score: float, day: str, quoted: str) -> SemanticHit:
    return SemanticHit(score, "ours: shared words", f"session s-{day} (#1, {day}T10:00:00.000Z)", day, quoted)


def test_example_1_architecture_decision_present_in_markdown(project: Path) -> None:
    """Seed 001, "Example 1 — Architecture decision, present in markdown"."""
    assert (
        text(ask(project, "why did we drop kafka"))
        == f"""\
Layer 1 (claude-mem): not configured (CLAUDE_MEM_API_KEY unset).
Layer 2 (grep): 3 hits.
  - memory/architecture_decisions.md:142
    "{ADR}"
  - memory/bugs_and_fixes.md:203
    "redis-streams: fixed consumer-group rebalance bug left by kafka (2026-04-12)"
  - memory/change_log.md:88
    "kafka producer code removed in PR #421"

Answer: "{ADR}" (memory/architecture_decisions.md:142)
        "redis-streams: fixed consumer-group rebalance bug left by kafka (2026-04-12)" (memory/bugs_and_fixes.md:203)
        "kafka producer code removed in PR #421" (memory/change_log.md:88)

Citations: memory/architecture_decisions.md:142; memory/bugs_and_fixes.md:203; memory/change_log.md:88"""
    )


def test_example_2_present_semantically_but_not_lexically(project: Path) -> None:
    """Seed 001, "Example 2 — Decision present semantically but not lexically"."""
    layer = active(
        semantic(0.87, "2026-04-22", "ADR-007: dropped kafka"), semantic(0.81, "2026-04-29", "considered SQS for X but went with redis")
    )
    shown = text(ask(project, "should we use a queue", layer))
    assert (
        shown
        == """\
Layer 1 (claude-mem): 2 results, scores 0.87 and 0.81 (ours: shared words).
  - session s-2026-04-22 (#1, 2026-04-22T10:00:00.000Z) — "ADR-007: dropped kafka" (score 0.87)
  - session s-2026-04-29 (#1, 2026-04-29T10:00:00.000Z) — "considered SQS for X but went with redis" (score 0.81)
Layer 2 (grep): 0 hits for "queue".

Answer: Layer 1: "ADR-007: dropped kafka" (session s-2026-04-22 (#1, 2026-04-22T10:00:00.000Z))
        Layer 1: "considered SQS for X but went with redis" (session s-2026-04-29 (#1, 2026-04-29T10:00:00.000Z))

Citations: session s-2026-04-22 (#1, 2026-04-22T10:00:00.000Z); session s-2026-04-29 (#1, 2026-04-29T10:00:00.000Z)

Note: The layers diverge: layer 1 has records, the files have no line with these words \
(the discussion is paraphrased there, or the export hasn't captured it yet)."""
    )


def test_example_3_both_layers_empty(project: Path) -> None:
    """Seed 001, "Example 3 — Both layers empty": "Do NOT fabricate prior context. Empty is empty."."""
    layer = active(semantic(0.3, "2026-04-22", "a strategy for caching"))
    assert (
        text(ask(project, "graphql federation strategy", layer))
        == """\
Layer 1 (claude-mem): 0 results above 0.5 threshold.
Layer 2 (grep): 0 hits for "graphql", "federation", "strategy".

Answer: No prior decision recorded about graphql federation strategy. If you're about to make a decision, consider:
- Adding an ADR to architecture/DECISIONS.md
- Recording the decision in memory/architecture_decisions.md after the session"""
    )


@pytest.mark.parametrize("question", ["auth token rotation", "why did we drop kafka", "migration that broke staging"])
def test_usage_questions_are_searched(question: str) -> None:
    """Seed 001, "Usage"."""
    assert refusal(question) is None


@pytest.mark.parametrize(
    "question", ["what did we decide", "decisions", "what did we document about this project?", "", "?", "anything", "what is it"]
)
def test_vague_questions_are_refused_with_a_question(question: str) -> None:
    """Seed 001, "Edge cases": "Query is too vague. … refuse and ask for refinement. Don't dump 100 hits."."""
    refused = refusal(question)
    assert refused is not None
    assert refused.outcome is Outcome.TOO_VAGUE
    assert refused.say.startswith("Which topic?")


@pytest.mark.parametrize("question", ["how do CCM waves work", "what does /arib-session-end write", "explain this skill"])
def test_questions_about_the_method_are_redirected(question: str) -> None:
    """Seed 001, "Edge cases": "Query is a question about CCM itself, not the project. … Redirect."."""
    refused = refusal(question)
    assert refused is not None
    assert refused.outcome is Outcome.REDIRECTED
    assert text(refused).endswith("belong in CLAUDE.md, Training/, or reference/.")


def test_agreeing_layers_give_one_answer_with_both_citations(project: Path) -> None:
    """Seed 001, "Step 4 — Reconcile": "If the two layers agree: report the unified answer with citations to both."."""
    found = ask(project, "why did we drop kafka", active(semantic(0.91, "2026-04-19", "decided to drop kafka in favor of redis streams")))
    assert "Both layers agree." in found.flags
    assert {claim.cite for claim in found.claims} >= {
        "memory/architecture_decisions.md:142",
        "session s-2026-04-19 (#1, 2026-04-19T10:00:00.000Z)",
    }


def test_diverging_layers_are_both_shown_and_flagged(project: Path) -> None:
    """Seed 001, "Step 4 — Reconcile": "If they disagree: report both and flag the divergence"; the newer one leads."""
    found = ask(project, "kafka", active(semantic(0.9, "2026-06-01", "brokers return for the billing pipeline")))
    assert found.flags[0].startswith("The layers diverge")
    assert found.claims[0].lead == "Newest, layer 1 alone: "
    assert "memory/change_log.md:88" in {claim.cite for claim in found.claims}


def test_lines_that_layer_one_lacks_are_flagged(project: Path) -> None:
    """Seed 001, "Decision tree": "Layer 2 may show a more recent markdown edit the MCP hasn't re-indexed."."""
    assert ask(project, "kafka", active()).flags == (
        "The layers diverge: the files have lines that layer 1 has not (it may not have indexed them yet).",
    )


def test_every_claim_is_cited_and_stands_there(project: Path) -> None:
    """Seed 001, "Step 5 — Cite, always"."""
    for claim in ask(project, "why did we drop kafka").claims:
        path, _, line = claim.cite.rpartition(":")
        assert claim.quote in (project / path).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def test_a_link_that_leads_out_of_the_project_is_not_read(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "diary.md"
    outside.write_text("We dropped kafka because of the password.\n", encoding="utf-8")
    (project / "memory" / "diary.md").symlink_to(outside)
    archive = read_archive(project)
    assert archive.problems == ("memory/diary.md leads out of the vault.",)
    assert "password" not in text(ask(project, "why did we drop kafka"))


def test_a_failed_layer_one_is_named(project: Path) -> None:
    """Seed 001, "Failure modes": "MCP times out: report Layer 2 results only, note the MCP failure."."""
    found = ask(project, "why did we drop kafka", LayerOne("claude-mem", LayerState.FAILED, "timed out after 3 s"))
    assert text(found).startswith("Layer 1 (claude-mem): failed (timed out after 3 s); layer 2 alone.\nLayer 2 (grep): 3 hits.")


def test_a_thousand_hits_ask_for_a_tighter_phrase(project: Path) -> None:
    """Seed 001, "Failure modes": "Grep returns 1000+ hits: narrow the query before reporting"."""
    write(project, "session_notes.md", "kafka lag again\n" * 1000)
    found = ask(project, "kafka")
    assert (
        text(found)
        == """\
Layer 1 (claude-mem): not configured (CLAUDE_MEM_API_KEY unset).
Layer 2 (grep): 1003 hits.

Answer: 1003 lines match. Please give a tighter phrase than kafka."""
    )
    assert (
        ask(project, "why did we drop kafka").outcome is Outcome.TOO_MANY or ask(project, "dropped kafka redis").outcome is Outcome.ANSWERED
    )


def test_a_stale_layer_one_is_flagged(project: Path) -> None:
    """Seed 001, "Edge cases": "Stale MCP index. If memory/semantic_export.md is newer …"."""
    write(
        project, "semantic_export.md", "# Semantic Memory Export\n\n---\n\n## Export — 2026-05-20T08:00:00Z\n\nkafka brokers switched off\n"
    )
    flags = ask(project, "kafka", active(semantic(0.9, "2026-04-29", "kafka brokers switched off"))).flags
    assert any("is newer than layer 1's newest record (2026-04-29T10:00:00.000Z)" in flag and "memory-export.sh" in flag for flag in flags)
    assert not any("newer than" in flag for flag in ask(project, "kafka").flags)


def test_an_export_of_what_layer_one_still_has_is_not_newer(project: Path) -> None:
    record = Observation(1, "s", "2026-04-29T10:00:00.000Z", "p", "", "kafka brokers switched off")
    write(project, "semantic_export.md", appended(None, [record], "2026-05-20T08:00:00Z")[0])
    assert not any("newer than" in flag for flag in ask(project, "kafka", active(semantic(0.9, "2026-04-29", "kafka"))).flags)


def test_an_export_with_only_a_header_is_no_data(project: Path) -> None:
    """Its header speaks of memory, search and claude-mem; none of it was ever recorded."""
    write(project, "semantic_export.md", appended(None, [], "2026-05-20T08:00:00Z")[0])
    assert ask(project, "live export of claude-mem").outcome is Outcome.EMPTY


def test_the_newest_of_conflicting_records_is_authoritative(project: Path) -> None:
    """Seed 001, "Edge cases": "Conflicting records … report the newest as authoritative; mention the older ones for context"."""
    write(
        project,
        "architecture_decisions.md",
        """\
## ADR-003: queue on kafka
- **Date**: 2025-10-02
- **Status**: Superseded by ADR-007

**Decision**: use a kafka queue, since events can be replayed.

## ADR-007: queue on redis streams
- **Date**: 2026-04-19
- **Status**: Accepted

**Decision**: one redis stream a carrier; four people can't look after brokers.
""",
    )
    claims = ask(project, "which queue for events, kafka?").claims
    assert [(c.lead, c.quote, c.cite) for c in claims if "architecture" in c.cite] == [
        ("", "ADR-007: queue on redis streams", "memory/architecture_decisions.md:7"),
        ("", "Decision: one redis stream a carrier; four people can't look after brokers.", "memory/architecture_decisions.md:11"),
        ("Older, for context (superseded by ADR-007): ", "ADR-003: queue on kafka", "memory/architecture_decisions.md:1"),
    ]


def test_supersession_is_followed_to_a_record_without_the_words(project: Path) -> None:
    write(
        project,
        "architecture_decisions.md",
        "## ADR-003: brokers\n- **Status**: Superseded by ADR-004\n\nZebra brokers.\n\n"
        "## ADR-004: streams\n- **Status**: Superseded by ADR-009\n\n"
        "## ADR-009: tables\n- **Date**: 2026-05-01\n- **Status**: Accepted\n",
    )
    claims = ask(project, "zebra").claims
    assert [c.quote for c in claims] == ["ADR-009: tables", "ADR-003: brokers"]


def test_a_circle_of_supersession_ends(project: Path) -> None:
    circle = "## ADR-001: zebra one\n- Status: Superseded by ADR-002\n\n## ADR-002: zebra two\n- Status: Superseded by ADR-001\n"
    write(project, "architecture_decisions.md", circle)
    assert ask(project, "zebra").outcome is Outcome.ANSWERED


def test_a_regulated_project_hears_nothing_of_layer_one(project: Path) -> None:
    """Seed 001, "Edge cases": "Regulated-data project with MCP disabled. … do not warn about Layer 1 absence."."""
    found = ask(project, "why did we drop kafka", LayerOne("claude-mem", LayerState.HIDDEN))
    assert text(found).startswith("Layer 2 (grep): 3 hits.")
    assert "ayer 1" not in text(found)
    assert data(found)["layer1"] is None


def test_missing_or_damaged_files_are_reported_and_the_rest_is_used(project: Path, tmp_path: Path) -> None:
    """Seed 001, "Failure modes (extended)": "memory/ files missing or corrupted: report what you can; flag to the user"."""
    (project / "memory/session_notes.md").write_bytes(b"kafka \xff\xfe caf\xe9\n")
    (project / "memory/testing_log.md").write_bytes(b"")
    found = ask(project, "why did we drop kafka")
    assert found.total >= 3
    assert "memory/session_notes.md: line 1 is not UTF-8" in found.flags[-1]
    assert "memory/testing_log.md is empty; a session end may have been missed." in found.flags[-1]


def test_no_memory_folder_is_said(tmp_path: Path) -> None:
    found = ask(tmp_path, "kafka")
    assert found.outcome is Outcome.EMPTY
    assert found.flags == (f"Memory needs attention before decisions rest on it: There is no memory/ folder in {tmp_path}.",)


def test_deprecated_memory_notes_of_a_vault_are_never_current(project: Path) -> None:
    write(
        project,
        "old-queue.md",
        "---\nstatus: deprecated\nsuperseded_by: new-queue.md\n---\n# Zebra queue\n\nThe zebra queue runs on kafka.\n",
    )
    write(project, "new-queue.md", "---\nstatus: active\ncreated: 2026-04-24\n---\n\n# Streams\n\nRedis it is.\n")
    claims = ask(project, "zebra").claims
    assert [(c.lead, c.cite) for c in claims] == [
        ("", "memory/new-queue.md:6"),
        ("Older, for context (superseded by new-queue): ", "memory/old-queue.md:5"),
    ]


def test_a_question_in_a_script_without_spaces(project: Path) -> None:
    write(project, "session_notes.md", "เราเลิกใช้คิวข้อความเพราะดูแลไม่ไหว\n")
    found = ask(project, "ทำไมเราเลิกใช้คิวข้อความ")
    assert [hit.citation for hit in found.lines] == ["memory/session_notes.md:1"]


def test_one_common_word_of_three_is_no_hit(project: Path) -> None:
    write(project, "session_notes.md", "our strategy for hiring\n" * 5)
    assert ask(project, "graphql federation strategy").outcome is Outcome.EMPTY


def test_export_is_append_only_and_exports_each_record_once() -> None:
    records = [Observation(n, "s", f"2026-04-{n:02}T10:00:00.000Z", "p", f"title {n}", f"text {n}") for n in (1, 2)]
    first, added = appended(None, records[:1], "2026-05-01T00:00:00Z")
    assert added == 1
    assert first.endswith("---\n\n## Export — 2026-05-01T00:00:00Z\n\n- session s (#1, 2026-04-01T10:00:00.000Z): title 1. text 1\n")
    second, added = appended(first, records, "2026-05-02T00:00:00Z")
    assert added == 1
    assert second == first + "\n## Export — 2026-05-02T00:00:00Z\n\n- session s (#2, 2026-04-02T10:00:00.000Z): title 2. text 2\n"
    assert appended(second, records, "2026-05-03T00:00:00Z") == (second, 0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("decided to drop kafka in favor of redis streams", "ADR-007: dropped kafka in favor of redis streams", True),
        ("ADR-007 was accepted", "see ADR-007 for brokers", True),
        ("brokers return for the billing pipeline", "kafka producer code removed in PR #421", False),
    ],
)
def test_agreement(one: str, other: str, same: bool) -> None:
    assert agree(one, other) is same


def test_hits_name_their_place() -> None:
    assert LineHit("memory/a.md", 3, "x", 1.0, None, None).citation == "memory/a.md:3"
