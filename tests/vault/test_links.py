"""What a note points at, and where that is."""

from __future__ import annotations

import pytest

from onebrain.vault import LinkResolver, read_note
from onebrain.vault.links import block_line, line_of, number_of
from onebrain.vault.note import LinkKind
from onebrain.vault.parse import headings

LINK, EMBED, SUPERSEDES, BY = LinkKind.LINK, LinkKind.EMBED, LinkKind.SUPERSEDES, LinkKind.SUPERSEDED_BY


def links(text: str, path: str = "adr/0009-this.md") -> list[tuple[str, LinkKind]]:
    return [(link.target, link.kind) for link in read_note(path, text.encode()).links]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Note]] and [[folder/Other#Part|alias]] and ![[pic.png]]", [("Note", LINK), ("folder/Other#Part", LINK), ("pic.png", EMBED)]),
        ("[a](b.md) [c](<d e.md>) [f](g%20h.md#i) ![j](k.png)", [("b.md", LINK), ("d e.md", LINK), ("g h.md#i", LINK), ("k.png", EMBED)]),
        ("[web](https://x.y) [mail](mailto:a@b) [here](#part)", []),
        ("[ref][1]\n\n[1]: other.md 'Title'\n[2]: https://x.y", [("other.md", LINK)]),
        (
            "ADR 12, ADR-0033, PEP 345 and RFC 2119 and :pep:`20`",
            [("ADR 12", LINK), ("ADR 33", LINK), ("PEP 345", LINK), ("RFC 2119", LINK), ("PEP 20", LINK)],
        ),
        ("`[[code]]`\n\n```\n[[fence]]\n```\n\n[[Real]]", [("Real", LINK)]),
        ("| [[A\\|b]] | x |", [("A", LINK)]),
        (
            '[a]({{<relref "a.md#" >}}) [b]({{% ref "/posts/b" %}}) [c]({% link _x/c.md %}) `[d]({{< ref "d" >}})`',
            [("a.md#", LINK), ("/posts/b", LINK), ("_x/c.md", LINK)],
        ),
        ("---\nauthor: '[[Kevin Kelly]]'\n---\n", [("Kevin Kelly", LINK)]),
        ("RFC1918 and PEP8 and x-ADR-1-y", [("RFC 1918", LINK), ("PEP 8", LINK)]),
    ],
)
def test_links_as_written(text: str, expected: list[tuple[str, LinkKind]]) -> None:
    assert links(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nreplaces: [345]\nsuperseded-by: 566, 567\n---\n", [("345", SUPERSEDES), ("566", BY), ("567", BY)]),
        ("---\nsupersedes: '[[ADR-003 Kafka]]'\n---\n", [("ADR-003 Kafka", SUPERSEDES)]),
        ("---\nsuperseded_by: kafka-new.md\n---\n", [("kafka-new.md", BY)]),
        ("## Status\n\nSuperseded by [DNS](0015-dns.md)", [("0015-dns.md", BY)]),
        ("## Status\n\n⌛️ Superseded by [036. Multi](036-multi.md)", [("036-multi.md", BY)]),
        ("## Status\n\n⌛️ Superseded [0019](0019-x.md)", [("0019-x.md", BY)]),
        (
            "## Status\n\nAccepted\n\nSupersedes [1. X](0001-x.md)\nSuperceded by [3. Y](0003-y.md)",
            [("0001-x.md", SUPERSEDES), ("0003-y.md", BY)],
        ),
        ("Date: 2018-12-12\nSuperseded: 2019-12-19 by [ADR 14](0014-x.md)", [("0014-x.md", BY)]),
        ("This ADR in part supersedes [0003](0003-net.md).", [("0003-net.md", SUPERSEDES)]),
        ("This PEP supersedes PEP 345 and was superseded by PEP 566.", [("PEP 345", SUPERSEDES), ("PEP 566", BY)]),
        (".. superseded:: 750", [("PEP 750", BY)]),
        ("| Replaces | [[ADR-002 S\\|ADR-002]] |", [("ADR-002 S", SUPERSEDES)]),
        ("- **Status**: Superseded by ADR-007", [("ADR 7", BY)]),
        ("* Status: superseded by [ADR-0005](0005-example.md)", [("0005-example.md", BY)]),
    ],
)
def test_supersession_of_itself(text: str, expected: list[tuple[str, LinkKind]]) -> None:
    assert [link for link in links(text) if link[1] in (SUPERSEDES, BY)] == expected


@pytest.mark.parametrize(
    "text",
    ["PEP 426 supersedes PEP 345.", "It was said that X is superseded by [Y](y.md).", "## Status\n\nDeprecated (no superseding ADR)"],
)
def test_supersession_of_others_is_none_of_its_business(text: str) -> None:
    assert not [link for link in links(text) if link[1] in (SUPERSEDES, BY)]


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("setup", 3),
        ("Set up `it`", 3),
        ("set up it", 3),
        ("set-up-it", 3),
        ("Top#More, and more!", 5),
        ("more-and-more", 5),
        ("More%2C%20and%20more!", 5),
        ("Setup", 7),
        ("nowhere", None),
        ("", None),
    ],
)
def test_a_heading_is_meant_by_its_id_its_words_or_their_slug(place: str, line: int | None) -> None:
    text = "# Top\n\n## Set up `it` {#setup}\n\n## More, and more!\n\n## Setup\n"
    assert line_of(headings(text), place) == line


@pytest.mark.parametrize(("place", "line"), [("^a-1", 2), ("Note#^a-1", 2), ("^t", 5), ("^a", None), ("a-1", None), ("", None)])
def test_a_block_is_meant_by_its_id(place: str, line: int | None) -> None:
    lines = ["See [[x#^a-1]].", "Keep it cold. ^a-1", "", "| a |", "| b |", "", "^t"]
    assert block_line(lines, place) == line


def test_a_link_knows_its_place() -> None:
    (link,) = read_note("n.md", b"# A\n\n## B\n\nsee [[Note|n]]\n").links
    assert (link.line, link.heading, link.alias) == (5, "B", "n")


NOTION = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
PATHS = [
    "Note.md",
    "deep/Note.md",
    "deep/er/Only.md",
    "Café.md",
    "deep/Case.md",
    "adr/0014-new.md",
    "adr/0003-old.md",
    "other/0014-else.md",
    "peps/pep-0345-metadata.md",
    "nats/ADR-14.md",
    "with space/A b.md",
    "2024-01-02.md",
    "nats/ADR-8.md",
    f"Team {NOTION}/Road Map {NOTION}.md",
]
RESOLVER = LinkResolver(PATHS, {"deep/er/Only.md": ("The One",)}, {"adr/0014-new.md": "A New Way"})


@pytest.mark.parametrize(
    ("source", "target", "path"),
    [
        ("x.md", "Note", "Note.md"),
        ("deep/x.md", "Note", "deep/Note.md"),
        ("deep/x.md", "/Note.md", "deep/Note.md"),
        ("x.md", "deep/Note", "deep/Note.md"),
        ("x.md", "er/Only", "deep/er/Only.md"),
        ("x.md", "Only#Part^b", "deep/er/Only.md"),
        ("x.md", "case", "deep/Case.md"),
        ("x.md", "Cafe\u0301", "Café.md"),
        ("adr/x.md", "0003-old.md", "adr/0003-old.md"),
        ("adr/x.md", "./0003-old.md", "adr/0003-old.md"),
        ("adr/x.md", "../Note.md", "Note.md"),
        ("x.md", "with%20space/A%20b.md", "with space/A b.md"),
        ("adr/0001-x.md", "ADR 14", "adr/0014-new.md"),
        ("nats/ADR-1.md", "ADR 14", "nats/ADR-14.md"),
        ("peps/pep-0001.md", "PEP 345", "peps/pep-0345-metadata.md"),
        ("peps/pep-0001.md", "345", "peps/pep-0345-metadata.md"),
        ("x.md", "ADR 8", "nats/ADR-8.md"),
        ("x.md", "The One", "deep/er/Only.md"),
        ("x.md", "a new way", "adr/0014-new.md"),
        ("x.md", "2024-01-02", "2024-01-02.md"),
        ("x.md", "Nothing", None),
        ("x.md", "345", None),
        ("x.md", "../../etc/passwd", None),
        ("x.md", "#Part", None),
        ("x.md", f"Team%20{NOTION}/Road%20Map%20{NOTION}.md", f"Team {NOTION}/Road Map {NOTION}.md"),
        (f"Team {NOTION}/x.md", f"Road%20Map%20{NOTION}.md#part", f"Team {NOTION}/Road Map {NOTION}.md"),
        ("x.md", "Road Map", f"Team {NOTION}/Road Map {NOTION}.md"),
    ],
)
def test_targets_become_paths(source: str, target: str, path: str | None) -> None:
    assert RESOLVER.resolve(target, source) == path


def test_the_links_of_a_note_are_paths_once_each_and_never_itself() -> None:
    note = read_note(
        "adr/0003-old.md",
        b"## Status\n\nSuperseded by [14](0014-new.md)\n\n[[0014-new]] [[Note]] [[Note|n]] ![[Note]] [[0003-old]] [[None]]",
    )
    assert RESOLVER.links(note) == (("adr/0014-new.md", BY), ("Note.md", LINK), ("Note.md", EMBED))


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("a/0033-ip.md", (None, 33)),
        ("pep-0345-x.md", ("pep", 345)),
        ("ADR-14.md", ("adr", 14)),
        ("ADR-001 - Names.md", ("adr", 1)),
        ("2024-01-02.md", None),
        ("Note.md", None),
        ("001 Intro.md", (None, 1)),
    ],
)
def test_numbers_of_records(path: str, number: tuple[str | None, int] | None) -> None:
    assert number_of(path) == number
