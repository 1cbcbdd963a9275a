"""The demo vault is documentation and fixture at once: what the README asks of it must stay in it.

Nothing of onebrain is imported here, so a change in the program cannot quietly redefine what the vault contains.
"""

import hashlib
import json
import re
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

VAULT = Path(__file__).resolve().parent.parent / "vault_example"

BROKEN = {
    "00-inbox/2026-02-30-phone-notes.md",  # a date that does not exist, a list indented with tabs
    "00-inbox/2026-09-02-cafe-notes.md",  # Latin-1 bytes
    "00-inbox/Template Draft.md",  # template placeholders, `a: b: c`, an open bracket
}
UNWRITTEN = {"Queue Budget 2027"}  # linked on purpose before it exists

KAFKA = ["2025-10-02", "2026-01-19", "2026-03-12", "2026-04-19", "2026-04-22", "2026-07-08", "2026-09-16"]
LOGIN = ["2025-09-23", "2025-12-09", "2026-03-26", "2026-06-11"]

SESSION_PATH = re.compile(r"07-logs/session/(\d{4})/(\d{2})/(\d{4})-(\d{2})-\d{2}-session-\d{2}\.md")
FLAT_SESSION_PATH = re.compile(r"07-logs/(\d{4})/(\d{2})/(\d{4})-(\d{2})-\d{2}-session-\d{2}\.md")
CHECKPOINT_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-.+-checkpoint-\d{2}\.md")
WIKILINK = re.compile(r"!?\[\[([^\]]+?)\]\]")
DATED_FILES = re.compile(r"(20\d\d-\d\d-\d\d)")


def note_paths() -> list[str]:
    found = (path.relative_to(VAULT).as_posix() for path in VAULT.rglob("*.md"))
    return sorted(path for path in found if not path.startswith("."))


def readable_paths() -> list[str]:
    return [path for path in note_paths() if path not in BROKEN]


def text(path: str) -> str:
    return (VAULT / path).read_text(encoding="utf-8")


def properties(path: str) -> dict[str, Any]:
    match = re.match(r"---\n(.*?)\n---\n", text(path), re.DOTALL)
    return (yaml.safe_load(match[1]) or {}) if match else {}


def section(path: str, heading: str) -> list[str]:
    lines = text(path).splitlines()
    start = lines.index(heading) + 1
    end = next((n for n in range(start, len(lines)) if lines[n].startswith("## ")), len(lines))
    return [line for line in lines[start:end] if line.strip()]


def sessions() -> list[str]:
    return [path for path in note_paths() if re.search(r"-session-\d+\.md$", path)]


def checkpoints() -> list[str]:
    return [path for path in note_paths() if path.startswith("07-logs/checkpoint/")]


def memories() -> dict[str, dict[str, Any]]:
    return {PurePosixPath(path).name: properties(path) for path in note_paths() if path.startswith("05-agent/memory/")}


def test_the_vault_is_small_and_laid_out_as_the_original() -> None:
    assert 52 <= len(note_paths()) <= 68
    folders = {path.name for path in VAULT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    numbered = "00-inbox 01-projects 02-areas 03-knowledge 04-resources 05-agent 06-archive 07-logs"
    assert folders == {*numbered.split(), "attachments"}
    assert not (VAULT / "onebrain.yml").exists()


def test_notes_are_short_and_never_empty() -> None:
    lengths = {path: len(text(path).split()) for path in readable_paths()}
    assert max(lengths.values()) <= 450
    assert [path for path, words in lengths.items() if words < 15] == ["07-logs/pause/_active.md"]


def test_exactly_three_notes_cannot_be_read() -> None:
    def readable(path: str) -> bool:
        try:
            properties(path)
        except (ValueError, yaml.YAMLError):  # a bad encoding and an impossible date are ValueErrors
            return False
        return True

    assert {path for path in note_paths() if not readable(path)} == BROKEN


def test_every_broken_note_still_holds_words_worth_finding() -> None:
    for path in BROKEN:
        assert len((VAULT / path).read_bytes().decode("latin-1").split()) > 25


def test_session_logs_keep_the_original_names_and_one_the_older_layout() -> None:
    assert len(sessions()) == 12
    nested = [match for path in sessions() if (match := SESSION_PATH.fullmatch(path))]
    flat = [match for path in sessions() if (match := FLAT_SESSION_PATH.fullmatch(path))]
    assert (len(nested), len(flat)) == (11, 1)
    assert all(match.groups()[:2] == match.groups()[2:] for match in nested + flat)


@pytest.mark.parametrize("path", sessions())
def test_a_session_log_has_its_heading_sections_and_date(path: str) -> None:
    found = properties(path)
    assert found["tags"] == ["session-log"]
    assert path.rsplit("/", 1)[1].startswith(found["date"].isoformat())
    assert {"session_token", "session"} <= found.keys()
    month_day_year = f"{found['date']:%B} {found['date'].day}, {found['date'].year}"
    assert f"\n# Session Summary : {month_day_year} (Session {found['session']})\n" in text(path)
    headings = re.findall(r"^## (.+)$", text(path), re.MULTILINE)
    assert headings == [
        "What We Worked On",
        "Key Decisions",
        "Insights & Learnings",
        "What Worked / Didn't Work",
        "Action Items",
        "Open Questions",
    ]


@pytest.mark.parametrize("path", sessions())
def test_a_session_log_decides_something_and_says_why(path: str) -> None:
    bullets = section(path, "## Key Decisions")
    assert all(line.startswith("- ") for line in bullets)
    assert any("because" in line for line in bullets)


def test_a_checkpoint_repeats_a_decision_of_the_log_that_absorbed_it() -> None:
    assert all(CHECKPOINT_NAME.fullmatch(path.rsplit("/", 1)[1]) for path in checkpoints())
    checkpoint = "07-logs/checkpoint/2026-04-22-b7e405-checkpoint-01.md"
    session = "07-logs/session/2026/04/2026-04-22-session-01.md"
    shared = set(section(checkpoint, "## Key Decisions")) & set(section(session, "## Key Decisions"))
    assert len(shared) == 1 and "cap of 1M msg/day; revisit at 800K" in shared.pop()
    assert properties(checkpoint)["session_token"] == properties(session)["session_token"]
    digest = hashlib.sha256((VAULT / checkpoint).read_bytes()).hexdigest()[:16]
    assert properties(session)["consumed"] == [{"file": PurePosixPath(checkpoint).name, "sha256": digest}]


def test_another_checkpoint_has_not_been_absorbed_yet() -> None:
    tokens = {properties(path)["session_token"] for path in sessions()}
    assert [path for path in checkpoints() if properties(path)["session_token"] not in tokens] == [
        "07-logs/checkpoint/2026-10-13-1f6ad8-checkpoint-01.md"
    ]


def test_the_pause_note_is_the_active_one() -> None:
    (pause,) = (path for path in note_paths() if path.startswith("07-logs/pause/2"))
    slug = text("07-logs/pause/_active.md").strip()
    assert properties(pause)["task_slug"] == slug
    assert pause.endswith(f"-{slug}-pause-01.md")
    assert section(pause, "## Where I Stopped") and section(pause, "## Resume With")


def test_the_audit_log_has_runs() -> None:
    path = "07-logs/log/2026/10/2026-10-09-recap.md"
    assert properties(path)["tags"] == ["audit-log", "recap"]
    assert re.findall(r"^## Run \d\d:\d\d$", text(path), re.MULTILINE)


def test_memory_notes_carry_the_original_properties() -> None:
    required = {"tags", "created", "source", "topics", "type", "status", "conf", "verified", "updated"}
    original = {"behavioral", "context", "dev", "project", "reference"}
    of_people = {"fact", "preference"}
    for name, found in memories().items():
        assert required <= found.keys(), name
        assert found["tags"] == ["agent-memory"]
        assert found["type"] in original | of_people
        assert found["status"] in {"active", "needs-review", "deprecated"}
        assert found["conf"] in {"high", "medium", "low"}
        assert 2 <= len(found["topics"]) <= 4
        assert re.fullmatch(r"[a-z]+(-[a-z]+){0,4}\.md", name)


def test_one_memory_was_deprecated_and_one_superseded() -> None:
    kept = memories()
    assert {name for name, found in kept.items() if found["status"] == "deprecated"} == {
        "kafka-event-transport.md",
        "standup-at-nine.md",
    }
    (old,) = (name for name, found in kept.items() if "superseded_by" in found)
    (new,) = (name for name, found in kept.items() if "supersedes" in found)
    assert kept[old]["superseded_by"] == new
    assert kept[new]["supersedes"] == old
    assert (old, new) == ("kafka-event-transport.md", "redis-streams-queue.md")
    assert kept[new]["status"] == "active"


def test_memories_about_people_say_who_and_how_sure() -> None:
    about = {name: found for name, found in memories().items() if "subject" in found}
    assert {found["subject"] for found in about.values()} == {"user", "Pim"}
    for found in about.values():
        assert 1 <= found["importance"] <= 10
        assert 0 <= found["confidence"] <= 1
        assert found["confirmed"] >= 1
        assert found["last_confirmed"] <= found["updated"]


def test_the_memory_index_lists_what_is_not_deprecated() -> None:
    path = "05-agent/MEMORY-INDEX.md"
    rows = [line for line in text(path).splitlines() if line.startswith("|")]
    assert rows[0] == "| File | Topics | Type | Status | Description |"
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]
    listed = {f"{file.removeprefix('[[memory/').removesuffix(']]')}.md": rest for file, *rest in cells}
    kept = {name: found for name, found in memories().items() if found["status"] != "deprecated"}
    assert listed.keys() == kept.keys()
    for name, (topics, kind, status, description) in listed.items():
        assert (topics.split(", "), kind, status) == (kept[name]["topics"], kept[name]["type"], kept[name]["status"])
        assert description
    states = [found["status"] for found in kept.values()]
    totals = properties(path)
    assert (totals["total_active"], totals["total_needs_review"]) == (states.count("active"), states.count("needs-review"))


def test_memory_md_has_the_three_sections() -> None:
    assert re.findall(r"^##? .+$", text("05-agent/MEMORY.md"), re.MULTILINE) == [
        "# OneBrain Memory",
        "## Identity & Personality",
        "## Active Projects",
        "## Critical Behaviors",
    ]


def decision_rows(path: str) -> list[str]:
    return [line for line in section(path, "## Decisions Log") if line.startswith("|")][2:]


def test_the_kafka_decisions_stand_in_the_table_and_on_the_days_they_were_taken() -> None:
    rows = decision_rows("01-projects/beacon/Beacon.md")
    assert [row.split("|")[1].strip() for row in rows] == KAFKA
    about = [path for path in sessions() if any(re.search("kafka", line, re.I) for line in section(path, "## Key Decisions"))]
    days = {match[1] for path in about if (match := DATED_FILES.search(path))}
    assert set(KAFKA) <= days
    assert "because the team headcount didn't justify Kafka's ops cost" in text(
        "01-projects/beacon/ADR-007 Redis Streams for Event Transport.md"
    )


def test_the_sign_in_decision_is_taken_revised_and_reversed() -> None:
    rows = decision_rows("01-projects/harbor/Harbor.md")
    for row, day in zip(rows, ["23 Sep 2025", "9 Dec 2025", "26 Mar 2026", "[[2026-06-11]]", "27 Aug 2026"], strict=True):
        assert row.split("|")[1].strip() == day
    days = {properties(path)["date"].isoformat() for path in sessions()}
    assert set(LOGIN) <= days


def test_what_was_settled_and_what_was_replaced_both_exist() -> None:
    assert "We settled on Redis Streams for every queue" in text("01-projects/beacon/Beacon.md")
    assert "queues run on Kafka" in text("05-agent/memory/kafka-event-transport.md")


def decision_records() -> list[str]:
    return [path for path in note_paths() if re.search(r"/ADR-\d{3} ", path)]


@pytest.mark.parametrize("path", decision_records())
def test_a_decision_record_states_its_date_status_and_reason(path: str) -> None:
    body = text(path)
    assert re.search(r"^(?:date: |Date: |\| Date \| )20\d\d-\d\d-\d\d", body, re.MULTILINE)
    assert re.search(r"^(?:status: |## Status$|\| Status \| )", body, re.MULTILINE)
    assert re.search(r"\b(?:because|costs less than)\b", body)


def test_there_are_six_records_and_numbers_are_unique() -> None:
    numbers = [PurePosixPath(path).name[:7] for path in decision_records()]
    assert sorted(numbers) == ["ADR-002", "ADR-003", "ADR-004", "ADR-005", "ADR-007", "ADR-008"]


def test_notes_in_thai_japanese_and_german() -> None:
    languages = [properties(path).get("lang") for path in readable_paths()]
    assert {code: languages.count(code) for code in ("th", "ja", "de")} == {"th": 2, "ja": 2, "de": 2}
    assert "ย้ายคลังสินค้าไปชลบุรี" in text("02-areas/operations/การย้ายคลังสินค้า.md")
    assert "メールからSMSに変更" in text("02-areas/operations/配達通知の方針.md")
    assert "Wir wechseln den Lieferanten" in text("02-areas/operations/Verpackungslieferant.md")


def linkable() -> dict[str, str]:
    files = [path for path in VAULT.rglob("*") if path.is_file() and not path.relative_to(VAULT).parts[0].startswith(".")]
    relative = {path.relative_to(VAULT).as_posix(): path for path in files}
    targets: dict[str, str] = {}
    for path in relative:
        parts = PurePosixPath(path.removesuffix(".md")).parts
        targets.update({"/".join(parts[n:]).casefold(): path for n in range(len(parts))})
    return targets


def anchor_exists(path: str, anchor: str) -> bool:
    if anchor.startswith("^"):
        return re.search(rf" {re.escape(anchor)}$", text(path), re.MULTILINE) is not None
    plain = re.sub(r"[:|#^\[\]]", "", anchor)
    headings = re.findall(r"^#+ (.+)$", text(path), re.MULTILINE)
    return plain in {re.sub(r"[:|#^\[\]]", "", heading) for heading in headings}


def test_wikilinks_lead_somewhere() -> None:
    targets = linkable()
    dangling = set()
    for path in readable_paths():
        for inner in WIKILINK.findall(text(path)):
            link = re.split(r"\\?\|", inner)[0]
            name, _, anchor = link.partition("#")
            found = targets.get(name.casefold()) if name else path
            if found is None or (anchor and not anchor_exists(found, anchor)):
                dangling.add(link)
    assert dangling == UNWRITTEN


@pytest.mark.parametrize(
    "pattern",
    [
        r"^> \[!\w+\]",
        r"^> \[!\w+\]-",
        r"!\[\[[^\]]+#\^",
        r"!\[\[[^\]]+\.png\]\]",
        r"!\[\[[^\]]+\.canvas\]\]",
        r" \^[a-z-]+$",
        r"^aliases: \[",
        r"\[\[[^\]|#]+#[^\]|]+\|",
        r"^- \[ \] .+📅 \d{4}-\d{2}-\d{2}",
        r"^- \[x\] .+✅ \d{4}-\d{2}-\d{2}",
        r"(?:^| )#\w+/\w+",
        r"^\w+:: ",
        r"^%% .+ %%$",
        r"^```$",
    ],
)
def test_the_vault_shows_what_markdown_vaults_use(pattern: str) -> None:
    assert any(re.search(pattern, text(path), re.MULTILINE) for path in readable_paths())


def test_the_image_and_the_canvas_are_whole() -> None:
    image = (VAULT / "attachments/images/beacon-topology.png").read_bytes()
    assert image.startswith(b"\x89PNG\r\n\x1a\n") and len(image) < 20_000
    start = image.index(b"IDAT")
    length = int.from_bytes(image[start - 4 : start])
    width, height = (int.from_bytes(image[n : n + 4]) for n in (16, 20))
    assert len(zlib.decompress(image[start + 4 : start + 4 + length])) == height * (1 + 3 * width)
    canvas = json.loads(text("01-projects/beacon/Beacon Topology.canvas"))
    ids = {node["id"] for node in canvas["nodes"]}
    assert all({edge["fromNode"], edge["toNode"]} <= ids for edge in canvas["edges"])
    assert all((VAULT / node["file"]).is_file() for node in canvas["nodes"] if node["type"] == "file")


def test_session_memory_cards_and_events() -> None:
    cards = [properties(f".claude/memory/cards/{path.name}") for path in (VAULT / ".claude/memory/cards").glob("*.md")]
    assert len(cards) == 5
    assert {card["type"] for card in cards} == {"decision", "gotcha", "constraint", "runbook"}
    assert [card["id"] for card in cards if card["status"] == "deprecated"] == ["topic-naming"]
    logs = (VAULT / ".claude/memory/events").glob("*.jsonl")
    events = [json.loads(line) for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
    assert len(events) == 12
    assert all(event.keys() == {"ts", "tool", "summary", "importance", "files", "author", "session"} for event in events)


def test_the_story_stays_within_its_fourteen_months() -> None:
    days = {day for path in readable_paths() for day in DATED_FILES.findall(path)}
    assert min(days) >= "2025-09-01" and max(days) <= "2026-10-31"
