"""What people type and what they see. Lines with `! ` went to stderr."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from onebrain.errors import IndexBusy, NoteUnreadable
from onebrain.render.json import Caution
from onebrain.search.report import IndexState, Verdict

Shell = Any


def test_a_what_question(shell: Shell) -> None:
    shell.shows(
        """
    $ onebrain search which queue do we use
    📌 Redis Streams carry all events since May. [1]

    📚 Sources (top 5 by relevance):
      1. 01-projects/queue.md:Decision — Redis Streams carry all events since May.
      2. 03-knowledge/kafka.md:10 — Kafka is a log.  ⚠️ possible match (0.41)
    """
    )


def test_a_why_question(shell: Shell, reports: Any) -> None:
    shell.brain.report = reports.WHY
    shell.shows(
        """
    $ onebrain search why did we drop kafka
    🕐 Decision chain (chronological):
      2024-01-10 · Kafka chosen · "replay for auditors" (superseded by 01-projects/adr-7.md)
      2026-04-19 · Kafka dropped · "headcount didn't justify it"

    📚 Sources: 01-projects/queue.md, 01-projects/adr-7.md
    """
    )


def test_a_why_question_without_decisions_gets_a_what_answer_and_a_note(shell: Shell, reports: Any) -> None:
    shell.brain.report = replace(reports.WHY, chain=(), notes=("No dated decision was found; this is what the notes say.",))
    shell.shows(
        """
    $ onebrain search why did we drop kafka
    📚 Sources (top 5 by relevance):
      1. 01-projects/queue.md:Decision — Redis Streams carry all events since May.

    ℹ️  No dated decision was found; this is what the notes say.
    """
    )


def test_nothing_is_found(shell: Shell, reports: Any) -> None:
    shell.brain.report = reports.NOTHING
    shell.shows(
        """
    $ onebrain search graphql federation strategy
    🔴 No strong match for "graphql federation strategy" — nothing in the vault clears the confidence bar.
    ! ℹ️  1 weaker hit(s) left out, the best at 0.12; --all shows them.
    $ onebrain search graphql -q
    🔴 No strong match for "graphql" — nothing in the vault clears the confidence bar.
    $ onebrain search graphql --all
    🔴 No strong match for "graphql" — nothing in the vault clears the confidence bar.

    Everything that was looked at (1, best first):
      1. 06-archive/mq.md:RabbitMQ — We ran RabbitMQ.  no strong match (0.12)  · superseded
    """
    )


def test_only_possible_matches_give_sources_and_no_answer(shell: Shell, reports: Any) -> None:
    shell.brain.report = replace(reports.WHAT, answer=(), sources=(reports.KAFKA,), verdict=Verdict.POSSIBLE)
    shell.shows(
        """
    $ onebrain search kafka
    📚 Sources (top 5 by relevance):
      1. 03-knowledge/kafka.md:10 — Kafka is a log.  ⚠️ possible match (0.41)
    """
    )


def test_ranked_hits(shell: Shell) -> None:
    shell.shows(
        """
    $ onebrain search query kafka
    📄  1. 01-projects/queue.md › Queue > Decision  (0.910)
        Redis Streams carry all events since May.

    📄  2. 03-knowledge/kafka.md  (0.400)  ⚠️ possible match (0.410)
        Kafka is a log.

    📄  3. 06-archive/mq.md › RabbitMQ  (0.200)  no strong match (0.120)
        We ran RabbitMQ.
    """
    )


def test_no_hits_say_whether_the_index_lags(shell: Shell, reports: Any) -> None:
    shell.brain.report = replace(reports.NOTHING, hits=(), index=IndexState(0, None))
    shell.shows(
        """
    $ onebrain search search kafka
    🔍  No results
    ℹ️  index is empty — run `onebrain search reindex` first
    """
    )
    shell.brain.report = replace(reports.NOTHING, hits=(), index=IndexState(7, "2026-05-04T08:00:00Z"))
    shell.shows(
        """
    $ onebrain search search kafka
    🔍  No results
    ℹ️  index is behind — 7 passage(s) found by words only · run `onebrain search reindex --pending-only`
    """
    )


def test_where_scores_come_from(shell: Shell) -> None:
    shell.shows(
        """
    $ onebrain search kafka --explain
    📌 Redis Streams carry all events since May. [1]

    📚 Sources (top 5 by relevance):
      1. 01-projects/queue.md:Decision — Redis Streams carry all events since May.
      2. 03-knowledge/kafka.md:10 — Kafka is a log.  ⚠️ possible match (0.41)

    🔎 Where the scores come from:
      1. 01-projects/queue.md:Decision · score 0.910 · rerank_score 0.830 · confident · lex, vec
           coverage                 +1.200
      2. 03-knowledge/kafka.md:10 · score 0.400 · rerank_score 0.410 · possible · lex, vec
       steps:
           lex          ran           1.5 ms · 2 hit(s)
           hyde         skipped       0.0 ms · no writer
    """
    )


def test_the_steps_are_told_where_asked_for_and_beside_the_answer(shell: Shell) -> None:
    told = shell("search", "kafka", "--progress").err
    assert told == (
        "→ [step 1/4] detecting question type · routing to search...\n"
        "→ [step 2/4] running search lex+vec+hyde across all sources...\n"
        "→ [step 3/4] scoring + ranking results...\n"
        "→ [step 4/4] formatting answer...\n"
    )
    assert shell("search", "kafka", err_tty=True).err == told
    assert shell("search", "kafka", "--json", "--progress").err == told
    assert shell("search", "kafka", "--progress", "--quiet", err_tty=True).err == ""
    assert shell("search", "query", "kafka", err_tty=True).err == ""


def test_status_and_reindex(shell: Shell, reports: Any) -> None:
    shell.brain.result = reports.Reindexed(added=5, updated=2, removed=1, unchanged=700, failed=1, failures=(BROKEN,))
    shell.brain.state = replace(shell.brain.state, pending_vectors=12)
    vault = shell.cwd
    shell.shows(
        f"""
    $ onebrain search reindex
    ✅  reindexed — 📄  5 added · ♻️  2 updated · 🗑️  1 removed · ⏭️  700 unchanged · ⚠️  1 failed
      ⚠️  a b.md:3 — bad YAML
    $ onebrain search status
    vault       {vault}
    collection  notes-1a2b3c
    notes       1,208
    passages    9,000
    state       behind: 12 by meaning to index
    indexed     2026-05-04T08:00:00Z
    size        93 MB
    meaning     multilingual-e5-small · ready
    reranker    onebrain-compact
    hyde        none
    owner       none
    data        /data
    """
    )
    held = "70 of 74 notes seem to be gone; is the vault mounted?"
    shell.brain.result = reports.Reindexed(unchanged=3, held_back=held, reasons=("the analyser changed",), problems=(BROKEN,))
    shell.shows(
        """
    $ onebrain search reindex
    ✅  reindexed — nothing to update
      ℹ️  the analyser changed
      ⚠️  70 of 74 notes seem to be gone; is the vault mounted?
      ℹ️  1 note(s) indexed although something is odd; --json lists them
    """
    )
    shell.brain.result = reports.Reindexed(unchanged=3)
    shell.shows(
        """
    $ onebrain search reindex
    ✅  reindexed — nothing to update
    """
    )


class BROKEN:
    path, line, reason = "a b.md", 3, "bad YAML"


def test_a_locked_index_is_never_up_to_date_and_never_a_failure(shell: Shell) -> None:
    shell.opening = IndexBusy("Another process owns the index and did not answer.", hint="Try again.")
    result = shell("search", "status")
    assert (result.code, result.err) == (0, "⚠️  Another process owns the index and did not answer. Try again.\n")
    assert "notes       unknown\n" in result.out and "state       unknown\n" in result.out and "up to date" not in result.out


def test_an_answer_of_a_reader_says_so(shell: Shell) -> None:
    shell.cautions = (Caution("W_ENGINE_BUSY", "Another process owns the index."),)
    assert shell("search", "kafka").err == "⚠️  Another process owns the index.\n"
    assert shell("search", "kafka", "--quiet").err == ""


def test_older_words_still_work_with_a_notice(shell: Shell) -> None:
    shell.shows(
        """
    $ onebrain qmd-reindex --lex-only
    ✅  reindexed — nothing to update
    ! ℹ️  `onebrain qmd-reindex` is now `onebrain search reindex`.
    $ onebrain qmd reindex
    ✅  reindexed — nothing to update
    ! ℹ️  `onebrain qmd reindex` is now `onebrain search reindex`.
    """
    )
    assert [call["lex_only"] for call in shell.brain.reindexed] == [True, False]


def test_a_note_is_printed_without_what_drives_a_terminal(shell: Shell) -> None:
    shell.shows(
        """
    $ onebrain search get a.md
    # Title[31m
    text
    $ onebrain search get a.md --line-numbers
         2  # Title[31m
         3  text
    """
    )


def test_a_note_that_is_not_there(shell: Shell) -> None:
    shell.brain.error = NoteUnreadable("There is no note kafa.md.", hint="Did you mean kafka.md?")
    shell.shows(
        """
    $ onebrain search get kafa.md
    ! ❌  There is no note kafa.md.
    ! → Did you mean kafka.md?
    [exit 1]
    """
    )


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("search", "There is no question.", 'Ask one: onebrain search "why did we drop Kafka?"'),
        ("search ''", "There is no question.", 'Ask one: onebrain search "why did we drop Kafka?"'),
        ("search x --tag ''", "--tag needs a name, not an empty text.", None),
        ("search x --min-score 7", "--min-score needs a number from 0 to 1, not 7.", None),
        ("search x --min-score nan", "--min-score needs a number from 0 to 1, not nan.", None),
        ("search query --json=1", "Option '--json' does not take a value.", "See `onebrain --help`."),
        ("search kafka --explian", "No such option: --explian (Possible options: --explain)", "See `onebrain search --help`."),
        ("search -x kafka", "No such option: -x", "See `onebrain search --help`."),
        ("search kafka -n 0", "-n needs a number of at least 1, not 0.", "--all shows every hit."),
        ("search kafka --after soon", "--after needs a day such as 2026-01-31, not 'soon'.", None),
        ("search reindex --force --lex-only", "--force, --lex-only and --pending-only exclude one another.", None),
        ("search reindex --force a.md", "--force builds the whole index, so it takes no paths.", None),
        ("kafka and redis", "No such command: kafka.", 'To ask the vault: onebrain search "kafka and redis"'),
    ],
)
def test_what_can_not_be_used(shell: Shell, line: str, message: str, hint: str | None) -> None:
    expected = f"❌  {message}\n" + (f"→ {hint}\n" if hint else "")
    result = shell(*shlex.split(line))
    assert (result.code, result.out, result.err) == (2, "", expected)


def test_no_vault(shell: Shell) -> None:
    (shell.cwd / "onebrain.yml").unlink()
    shell.shows(
        f"""
    $ onebrain search kafka
    ! ❌  No vault found: neither {shell.cwd} nor a directory above it holds onebrain.yml.
    ! → Run `onebrain init` in your vault, or name it with --vault DIR or ONEBRAIN_VAULT.
    [exit 64]
    """
    )


def test_a_broken_configuration(shell: Shell) -> None:
    file = shell.cwd / "onebrain.yml"
    file.write_text("search:\n  default_top_k: many\nregulated: 7\n")
    shell.shows(
        f"""
    $ onebrain search kafka
    ! ❌  {file} can't be used:
    !   line 2: `search.default_top_k` must be a whole number of at least 1, not 'many'
    !   line 3: `regulated` must be true or false, not '7'
    ! → Correct {file}, or run `onebrain doctor`.
    [exit 65]
    """
    )


def test_an_index_that_nobody_can_read(shell: Shell) -> None:
    shell.opening = IndexBusy("Another process owns the index.", hint="Try again.")
    shell.shows(
        """
    $ onebrain search kafka
    ! ❌  Another process owns the index.
    ! → Try again.
    [exit 77]
    """
    )


def test_a_listing_is_as_long_as_asked(shell: Shell) -> None:
    for line, paths in {
        "search query kafka": ["01-projects/queue.md", "03-knowledge/kafka.md", "06-archive/mq.md"],
        "search query kafka -n 2": ["01-projects/queue.md", "03-knowledge/kafka.md"],
        "search search kafka -n 1": ["01-projects/queue.md"],
        "search vsearch kafka -n 1 --all": ["01-projects/queue.md", "03-knowledge/kafka.md", "06-archive/mq.md"],
    }.items():
        found = json.loads(shell(*line.split(), "--json").out)["data"]["hits"]
        assert [hit["doc_path"] for hit in found] == paths, line


def test_a_page_of_question_is_not_said_back_in_full(shell: Shell, reports: Any) -> None:
    shell.brain.report = reports.NOTHING
    first = shell("search", "kafka " * 600).out.splitlines()[0]
    assert first.startswith('🔴 No strong match for "kafka kafka') and len(first) < 300
