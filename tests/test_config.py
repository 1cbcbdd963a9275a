"""What `onebrain.yml` may say, what happens when it is wrong, and that writing it changes one value alone."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from onebrain.config import Folders, Scheduled, Writer, load, remove_key, set_value, write_commented
from onebrain.errors import BadConfig, StorageFull, VaultNotFound


def vault(tmp_path: Path, text: str | None = "", name: str = "onebrain.yml") -> Path:
    place = tmp_path / "vault"
    place.mkdir()
    if text is not None:
        (place / name).write_text(text, encoding="utf-8")
    return place


def problems(tmp_path: Path, text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(BadConfig) as caught:
        load(vault(tmp_path, text), {}, tmp_path)
    assert caught.value.exit_code == 65
    return [(problem.line, problem.message) for problem in caught.value.problems]


# Where the vault is


def test_the_vault_option_comes_before_the_environment_and_the_directory(tmp_path: Path) -> None:
    here, named, other = (tmp_path / name for name in ("here", "named", "other"))
    for place in (here, named, other):
        place.mkdir()
        (place / "onebrain.yml").touch()
    env = {"ONEBRAIN_VAULT": str(other)}
    assert load(named, env, here).vault == named
    assert load(None, env, here).vault == other
    assert load(None, {"ONEBRAIN_VAULT": ""}, here).vault == here


def test_a_relative_vault_counts_from_the_working_directory(tmp_path: Path) -> None:
    place = vault(tmp_path)
    assert load(Path("vault"), {}, tmp_path).vault == place
    assert load(None, {"ONEBRAIN_VAULT": "../vault"}, place).vault == place


def test_the_nearest_directory_upwards_wins(tmp_path: Path) -> None:
    place = vault(tmp_path)
    (tmp_path / "onebrain.yml").touch()
    deep = place / "a" / "b"
    deep.mkdir(parents=True)
    assert load(None, {}, deep).vault == place


def test_a_directory_named_by_option_needs_no_file(tmp_path: Path) -> None:
    place = vault(tmp_path, None)
    config = load(place, {"ONEBRAIN_DATA_DIR": str(tmp_path / "data")}, tmp_path)
    assert (config.file, config.vault, config.data_dir) == (None, place, tmp_path / "data")
    assert config.folders == Folders()


def test_the_file_may_point_to_the_vault(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "onebrain.yml").write_text("vault: notes\n")
    assert load(None, {}, tmp_path).vault == tmp_path / "notes"
    assert load(tmp_path, {}, Path("/")).vault == tmp_path / "notes"
    assert load(tmp_path / "onebrain.yml", {}, Path("/")).vault == tmp_path / "notes"


def test_the_older_file_is_read_with_a_notice_and_the_newer_one_wins(tmp_path: Path) -> None:
    place = vault(tmp_path, "qmd_collection: old\n", "vault.yml")
    config = load(None, {}, place)
    assert config.search.collection == "old"
    assert config.notices == ("Read the older vault.yml; rename it to onebrain.yml.",)
    (place / "onebrain.yml").write_text("search: {collection: new}\n")
    assert (load(None, {}, place).search.collection, load(None, {}, place).notices) == ("new", ())


def test_no_vault_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound, match="neither .* nor a directory above it holds onebrain.yml") as caught:
        load(None, {}, tmp_path)
    assert caught.value.exit_code == 64
    assert caught.value.hint == "Run `onebrain init` in your vault, or name it with --vault DIR or ONEBRAIN_VAULT."
    (tmp_path / ".obsidian").mkdir()
    with pytest.raises(VaultNotFound) as caught:
        load(None, {}, tmp_path)
    assert f"`onebrain init` in {tmp_path}" in (caught.value.hint or "")


@pytest.mark.parametrize("origin", ["--vault", "ONEBRAIN_VAULT"])
def test_a_vault_that_is_not_there(tmp_path: Path, origin: str) -> None:
    named = tmp_path / "gone"
    with pytest.raises(VaultNotFound, match=f"{origin} names .*gone, which is not a directory"):
        load(named if origin == "--vault" else None, {"ONEBRAIN_VAULT": str(named)}, tmp_path)


# What it says


def test_the_collection_is_named_after_the_vault(tmp_path: Path) -> None:
    place = vault(tmp_path)
    digits = hashlib.sha256(str(place).encode()).hexdigest()[:6]
    assert load(place, {}, tmp_path).search.collection == f"vault-{digits}"


def test_the_older_key_counts_only_without_the_newer(tmp_path: Path) -> None:
    place = vault(tmp_path, "qmd_collection: old\nsearch:\n  collection:\n")
    assert load(place, {}, tmp_path).search.collection == "old"
    (place / "onebrain.yml").write_text("qmd_collection: old\nsearch:\n  collection: new\n")
    assert load(place, {}, tmp_path).search.collection == "new"


def test_everything_can_be_said(tmp_path: Path) -> None:
    config = load(
        vault(
            tmp_path,
            """
folders: {inbox: Eingang, archive: 2024, logs: logs/}
search:
  embed_folder: ../models/e5
  rerank_model: off
  default_top_k: 3
  exclude: [attachments, private/diary]
  date_order: dmy
  embed: {auto: no, schedule: "0 3 * * 0"}
  hyde: {writer: endpoint, url: "http://localhost:8080", model: small, api_key_env: KEY, timeout_seconds: 1.5}
  synthesis: {writer: ollama}
  chroma: {url: "https://chroma.example", token_env: TOKEN}
daemon: {idle_minutes: 0.5, quiet_ms: 300, cap_ms: 900, rescan_minutes: 20}
web: {port: 8181, omnisearch: true}
regulated: true
""",
        ),
        {},
        tmp_path,
    )
    search = config.search
    assert config.folders == Folders(inbox="Eingang", archive="2024", logs="logs")
    assert (search.embed_folder, search.rerank_model, search.default_top_k) == (tmp_path / "models" / "e5", "off", 3)
    assert (search.exclude, search.date_order) == (("attachments", "private/diary"), "dmy")
    assert (search.embed.auto, search.embed.schedule) == (False, "0 3 * * 0")
    assert search.hyde == Writer("endpoint", "http://localhost:8080", "small", "KEY", 1.5)
    assert search.synthesis is not None and search.synthesis.writer == "ollama"
    assert search.chroma is not None and (search.chroma.url, search.chroma.token_env) == ("https://chroma.example", "TOKEN")
    assert (config.daemon.idle_minutes, config.daemon.cap_ms, config.web.port, config.regulated) == (0.5, 900, 8181, True)


@pytest.mark.parametrize("text", ["off", "'off'", "{writer: off}", "{writer: false}"])
def test_hyde_can_be_switched_off(tmp_path: Path, text: str) -> None:
    assert load(vault(tmp_path, f"search: {{hyde: {text}}}"), {}, tmp_path).search.hyde.writer == "off"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("off", Writer("off")),
        ("{url: 'http://localhost:11434', model: llama3.2}", Writer("auto", "http://localhost:11434", "llama3.2", None, 20.0)),
        ("{url: 'https://x/v1', writer: off, api_key_env: K, timeout_seconds: 4}", Writer("off", "https://x/v1", None, "K", 4.0)),
    ],
)
def test_who_words_answers(tmp_path: Path, text: str, expected: Writer | None) -> None:
    synthesis = load(vault(tmp_path, f"search:\n  synthesis: {text}"), {}, tmp_path).search.synthesis
    assert synthesis == expected
    assert (synthesis.endpoint if synthesis else None) == (synthesis.url if synthesis and synthesis.writer == "auto" else None)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("onebrain-compact", "onebrain-compact"),
        ("no", "off"),
        ("models/mine", "vault/models/mine"),
        ("mine", "vault/mine"),
        ("BAAI/bge-reranker-base", "vault/BAAI/bge-reranker-base"),
        ("/models/mine", "/models/mine"),
    ],
)
def test_a_cross_encoder_is_a_folder_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, meant: str) -> None:
    place = vault(tmp_path, f"search: {{rerank_model: {written}}}")
    monkeypatch.chdir("/")  # as a daemon stands
    found = load(place, {}, tmp_path).search.rerank_model
    assert found == (str(tmp_path / meant) if meant.startswith("vault") else meant)


def test_the_originals_reranker_switch_is_honoured(tmp_path: Path) -> None:
    assert load(vault(tmp_path, "search: {reranker: {enabled: false}}"), {}, tmp_path).search.rerank_model == "off"


def test_a_file_of_the_original_reads_without_a_word(tmp_path: Path) -> None:
    """Keys of other programs, empty sections and other skills' schedules are no faults."""
    text = """\
\ufeffupdate_channel: stable
folders:
  import_inbox: 00-inbox/imports
  inbox:
checkpoint: {messages: 15, minutes: 30}
search:
  embed: {threshold: 10, debounce_seconds: 45}
  reranker: {enabled: true, model: onebrain-rerank-v1}
  exclude: []
schedule:
  - {cron: "0 9 * * *", skill: /digest, harness: claude}
  - {cron: "0 3 * * 0", command: onebrain, args: [search, reindex]}
  - {at: "2026-12-01 09:00", skill: /search, query: why did we drop Kafka?}
  - {cron: "0 8 * * 1", skill: search, args: {query: "open questions"}}
  - {cron: "0 8 * * 2", command: "/usr/bin/onebrain search 'two words'"}
stats: {last_recap: 2026-01-01}
? [a, b]
: c
"""
    config = load(vault(tmp_path, text.replace("\n", "\r\n")), {}, tmp_path)
    assert (config.search.exclude, config.folders) == ((), Folders())
    assert config.schedule == (
        Scheduled(("search", "reindex"), cron="0 3 * * 0"),
        Scheduled(("search", "--", "why did we drop Kafka?"), at="2026-12-01 09:00"),
        Scheduled(("search", "--", "open questions"), cron="0 8 * * 1"),
        Scheduled(("search", "two words"), cron="0 8 * * 2"),
    )


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "~\n"])
def test_an_empty_file_means_the_defaults(tmp_path: Path, text: str) -> None:
    assert load(vault(tmp_path, text), {}, tmp_path).search.default_top_k == 10


# When it is wrong


def test_all_problems_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    text = """\
vault: elsewhere
folders:
  inbox: ../outside
  logs: [a]
search:
  collection: a/b
  default_top_k: none
  exclude: {a: b}
  date_order: us
  embed: yes
  hyde:
    writer: endpoint
    timeout_seconds: 0
  chroma: {url: localhost}
  synthesis: {writer: local}
daemon:
  quiet_ms: 500
  cap_ms: 100
web:
  port: 99999
  omnisearch: maybe
schedule:
  - skill: /search
    cron: "0 8 * * 1"
  - command: onebrain
    args: [search, reindex]
  - nonsense
regulated: 1
regulated: true
"""
    found = problems(tmp_path, text)
    assert found == [
        (1, f"`vault` names {tmp_path / 'vault' / 'elsewhere'}, which is not a directory"),
        (3, "`folders.inbox` must be a folder inside the vault, not '../outside'"),
        (4, "`folders.logs` must be text, not a list"),
        (6, "`collection` also names a directory of the index, so it can't be 'a/b'"),
        (7, "`search.default_top_k` must be a whole number of at least 1, not 'none'"),
        (8, "`search.exclude` must be a list of texts, not a section"),
        (9, "`search.date_order` must be one of dmy, mdy, ymd, not 'us'"),
        (10, "`search.embed` must be a section, not 'yes'"),
        (12, "`search.hyde.writer: endpoint` needs `search.hyde.url` as well"),
        (13, "`search.hyde.timeout_seconds` must be a number of at least 0.1, not '0'"),
        (14, "`search.chroma` needs a `url` that begins with http:// or https://"),
        (15, "`search.synthesis.writer` must be one of auto, off, endpoint, ollama, not 'local'"),
        (18, "`daemon.cap_ms` (100) must not be below `daemon.quiet_ms` (500)"),
        (20, "`web.port` must be a whole number from 0 to 65535, not '99999'"),
        (21, "`web.omnisearch` must be true or false, not 'maybe'"),
        (23, "a scheduled /search needs its question in `query`"),
        (25, "an entry of `schedule` needs exactly one of `cron` and `at`"),
        (27, "every entry of `schedule` must be a section"),
        (29, "`regulated` is given twice"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1\nb: 2\n", [(2, "not valid YAML: did not find expected ',' or ']'")]),
        ("search:\n\tcollection: x\n\texclude: []\n", [(n, "a tab stands where YAML wants spaces") for n in (2, 3)]),
        ("title: a: b\n", [(1, "not valid YAML: mapping values are not allowed in this context")]),
        ("- a\n- b\n", [(1, "the file must hold `key: value` lines")]),
        ("just text\n", [(1, "the file must hold `key: value` lines")]),
        ("a: 1\n---\nb: 2\n", [(2, "not valid YAML: but found another document")]),
    ],
)
def test_what_is_no_yaml(tmp_path: Path, text: str, expected: list[tuple[int, str]]) -> None:
    assert problems(tmp_path, text) == expected


def test_text_that_is_not_utf8_names_its_line(tmp_path: Path) -> None:
    place = vault(tmp_path, None)
    (place / "onebrain.yml").write_bytes(b"# ok\nsearch:\n  collection: caf\xe9\n")
    with pytest.raises(BadConfig) as caught:
        load(place, {}, tmp_path)
    assert str(caught.value) == f"{place / 'onebrain.yml'} can't be used:\n  line 3: this is not UTF-8 text; save the file as UTF-8"


# Writing it

WRITTEN = """\
# my vault

update_channel: "stable"   # keep
folders:
    inbox: 00-inbox
    list:
        - a
        - 'b'

# about search
search:
    collection: old # the name
    unknown: {a: 1}
tail: >
    folded text that is
    long
"""


def test_writing_changes_one_value_and_nothing_else(tmp_path: Path) -> None:
    file = vault(tmp_path, WRITTEN) / "onebrain.yml"
    file.chmod(0o640)
    set_value(file, "search.collection", "new")
    assert file.read_text() == WRITTEN.replace("collection: old #", "collection: new #")
    assert file.stat().st_mode & 0o777 == 0o640
    assert os.listdir(file.parent) == ["onebrain.yml"]


@pytest.mark.parametrize("items", ["\n  - a\n  - b\n", "\n    - a\n    - b\n", " [a, b]\n"])
def test_lists_stay_as_they_are_laid_out(tmp_path: Path, items: str) -> None:
    text = f"search:\n  exclude:{items}"
    file = vault(tmp_path, text) / "onebrain.yml"
    set_value(file, "search.collection", "c")
    assert file.read_text() == text + "  collection: c\n"


def test_line_ends_of_windows_stay(tmp_path: Path) -> None:
    file = vault(tmp_path, None) / "onebrain.yml"
    file.write_bytes(b"# a\r\nsearch:\r\n  collection: old\r\n# b\r\n")
    set_value(file, "search.collection", "new")
    assert file.read_bytes() == b"# a\r\nsearch:\r\n  collection: new\r\n# b\r\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "search:\n  collection: c\n"),
        ("# mine\n", "# mine\n\nsearch:\n  collection: c\n"),
        ("a: 1\n", "a: 1\nsearch:\n  collection: c\n"),
    ],
)
def test_missing_sections_are_made(tmp_path: Path, before: str, after: str) -> None:
    file = vault(tmp_path, before) / "onebrain.yml"
    set_value(file, "search.collection", "c")
    assert file.read_text() == after
    assert load(file.parent, {}, tmp_path).search.collection == "c"


def test_a_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    set_value(tmp_path / "onebrain.yml", "search.default_top_k", 7)
    assert (tmp_path / "onebrain.yml").read_text() == "search:\n  default_top_k: 7\n"


def test_a_broken_file_is_not_touched(tmp_path: Path) -> None:
    file = vault(tmp_path, "a: [1\n") / "onebrain.yml"
    with pytest.raises(BadConfig, match="line 2"):
        set_value(file, "search.collection", "c")
    with pytest.raises(BadConfig, match="`search` is not a section"):
        file.write_text("search: text\n")
        set_value(file, "search.collection", "c")
    assert file.read_text() == "search: text\n"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory_is_a_clear_error(tmp_path: Path) -> None:
    file = vault(tmp_path, "a: 1\n") / "onebrain.yml"
    file.parent.chmod(0o500)
    try:
        with pytest.raises(StorageFull, match="can't be written"):
            set_value(file, "search.collection", "c")
    finally:
        file.parent.chmod(0o700)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    place = vault(tmp_path, None)
    (tmp_path / "real.yml").write_text("a: 1\n")
    (place / "onebrain.yml").symlink_to(tmp_path / "real.yml")
    set_value(place / "onebrain.yml", "a", 2)
    assert (place / "onebrain.yml").is_symlink() and (tmp_path / "real.yml").read_text() == "a: 2\n"


def test_removing_a_key_leaves_its_neighbours_and_their_comments(tmp_path: Path) -> None:
    file = vault(tmp_path, "# top\nqmd_collection: old # legacy\n\n# Folders\nfolders: {}\n") / "onebrain.yml"
    remove_key(file, "qmd_collection")
    remove_key(file, "nothing")
    assert file.read_text() == "# top\n\n# Folders\nfolders: {}\n"


def test_the_commented_file_is_read_as_defaults_and_written_once(tmp_path: Path) -> None:
    place = vault(tmp_path, None)
    bare = load(place, {"ONEBRAIN_DATA_DIR": "/d"}, tmp_path)
    assert write_commented(place) == place / "onebrain.yml"
    written = load(place, {"ONEBRAIN_DATA_DIR": "/d"}, tmp_path)
    assert (written.search, written.folders, written.daemon) == (bare.search, bare.folders, bare.daemon)
    assert write_commented(place) is None


def test_the_commented_file_is_valid_with_every_comment_taken_away(tmp_path: Path) -> None:
    place = vault(tmp_path, None)
    write_commented(place)
    file = place / "onebrain.yml"
    lines = file.read_text().splitlines()[1:]
    file.write_text("\n".join(line.removeprefix("# ") for line in lines))
    config = load(place, {}, tmp_path)
    assert (config.search.collection, config.schedule[0].cron) == ("my-notes", "0 8 * * 1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("search: {exclude: 5}", "`search.exclude` must be a list of texts, not '5'"),
        ("search: {exclude: true}", "`search.exclude` must be a list of texts, not 'true'"),
        ("search: {exclude: [drafts, yes]}", "every entry of `search.exclude` must be text; put it in quotes if it is a name"),
        ("search: {exclude: [[drafts]]}", "every entry of `search.exclude` must be text; put it in quotes if it is a name"),
        ("search: {collection: true}", "`search.collection` must be text, not 'true'"),
        ("search: {rerank_model: on}", "`search.rerank_model` must be text, not 'on'"),
        ("folders: {inbox: no}", "`folders.inbox` must be text, not 'no'"),
        ("search: {chroma: 5}", "`search.chroma` must be a section, not '5'"),
        ("search: {hyde: {api_key_env: sk-1234}}", "`api_key_env` must name the environment variable that holds the key, not be the key"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_once(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadConfig) as caught:
        load(vault(tmp_path, text), {}, tmp_path)
    assert [problem.message for problem in caught.value.problems] == [said]


def test_a_folder_may_be_named_by_a_number(tmp_path: Path) -> None:
    config = load(vault(tmp_path, 'search: {exclude: [2024, "yes"]}\nfolders: {archive: 2024}\n'), {}, tmp_path)
    assert (config.search.exclude, config.folders.archive) == (("2024", "yes"), "2024")
