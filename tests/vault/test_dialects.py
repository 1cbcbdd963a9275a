"""Notes of tools that keep more in them than text."""

from __future__ import annotations

from onebrain.text.sentences import sentences
from onebrain.vault import chunk, read_note
from onebrain.vault.note import LinkKind, Note


def note(text: str, path: str = "n.md") -> Note:
    return read_note(path, text.encode())


def told(found: Note) -> list[str]:
    return [sentence.text for passage in chunk(found) for sentence in sentences(passage.text)]


DRAWING = """---

excalidraw-plugin: parsed
tags: [excalidraw]

---
==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠== You can decompress Drawing data with the command palette.

Why we draw it: to see it. #lakes

# Excalidraw Data

## Text Elements
The pump feeds the lake ^a1B2c3D4

Only in
dry summers ^e5F6g7H8

## Element Links
a1B2c3D4: [[Pump]]

## Embedded Files
0f1e2d3c4b5a69788796a5b4c3d2e1f001234567: [[lake.png]]

76543210fedcba98765432100123456789abcdef: $$a=b$$

%%
## Drawing
```compressed-json
N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATLZMzYBXUtiRoIACyhQ4zZAHoFAc0JRJQgEYA6bGwC2CgF7N6hbEcK4OCtptbErHALRY8RMpWdx8Q1TdIEfARcZgRmBShcZQUebQB2bR4aOiCEfQQOKGZuAG1wMFAwYogSbghcMlx9AGUAdgAtAE0AKQB2BGwAFQBrJ
```
%%
"""


def test_a_drawing_is_read_by_its_words() -> None:
    found = note(DRAWING, "art/Lake.excalidraw.md")
    assert (found.title, found.tags, found.headings) == ("Lake", ("excalidraw", "lakes"), ())
    assert told(found) == ["Why we draw it: to see it.", "The pump feeds the lake", "Only in dry summers", "$$a=b$$"]
    assert [(link.target, link.kind) for link in found.links] == [("Pump", LinkKind.EMBED), ("lake.png", LinkKind.EMBED)]
    assert [(passage.line_start, "N4KA" in passage.embed_text, "EXCALIDRAW" in passage.text) for passage in chunk(found)] == [
        (9, False, False)
    ]


def test_an_older_drawing_hides_its_words_in_a_comment() -> None:
    text = "%%\n# Text Elements\nA weir. ^a1\n\n# Embedded files\nab12: https://x.y/z.png\n\n# Drawing\n{\"a\": 1}\n%%\n"
    assert told(note(f"---\nexcalidraw-plugin: raw\n---\n{text}")) == ["A weir."]


PAGE = """title:: Tree Care
tags:: [[two words]], oak, #park
alias:: Care of Trees, Pruning
type:: [[Guide]]
author:: Ann

- Water oaks weekly in summer.
  id:: 64a1b2c3-d4e5-4f60-8182-93a4b5c6d7e8
  collapsed:: true
\t- Because the soil is sandy.
\t  rating:: 5
- TODO [#A] Call the nursery
  SCHEDULED: <2023-08-01 Tue .+1w>
  :LOGBOOK:
  CLOCK: [2023-07-22 Sat 10:00:00]--[2023-07-22 Sat 10:01:00] =>  00:01:00
  :END:
- DONE Bought a saw DEADLINE: <2023-08-02 Wed>
- LATER see ((64a1b2c3-d4e5-4f60-8182-93a4b5c6d7e8)) and [the rule](((64a1b2c3-d4e5-4f60-8182-93a4b5c6d7e8)))
- ((64a1b2c3-d4e5-4f60-8182-93a4b5c6d7e8))
- {{embed ((64a1b2c3-d4e5-4f60-8182-93a4b5c6d7e8))}}
- {{embed [[Saws]]}}
- {{query (and [[oak]] (task TODO))}}
- TODO: is no marker
- ```
  id:: 64a1b2c3-d4e5-4f60-8182-93a4b5c6d7e8
  {{query x}}
  ```
"""


def test_a_page_of_logseq_is_read_as_it_shows() -> None:
    found = note(PAGE, "pages/Tree Care.md")
    assert (found.title, found.type) == ("Tree Care", "Guide")
    assert (found.tags, found.aliases) == (("two words", "oak", "park"), ("Care of Trees", "Pruning"))
    assert told(found) == [
        "author: Ann",
        "Water oaks weekly in summer.",
        "Because the soil is sandy.",
        "rating: 5",
        "Call the nursery",
        "Bought a saw",
        "see and the rule",
        "TODO: is no marker",
    ]
    assert [(link.target, link.kind) for link in found.links] == [("Guide", LinkKind.LINK), ("Saws", LinkKind.EMBED)]
    (passage,) = chunk(found)
    assert (passage.line_start, passage.line_end) == (5, PAGE.count("\n"))
    assert passage.text.split("\n")[2] == PAGE.split("\n")[6]
    assert not any(gone in passage.text.partition("```")[0] for gone in ("64a1", "query", "LOGBOOK", "CLOCK", "2023", "collapsed"))


def test_the_properties_of_a_page_may_be_its_first_block() -> None:
    found = note("- title:: A\n  tags:: x\n- tags:: y\n- We keep it.", "a.md")
    assert (found.title, found.tags) == ("A", ("x",))


def test_what_only_looks_like_logseq_stays() -> None:
    text = "Call f((a)) and {{title}}.\n\nWe use {{query}} here.\n\nThe DEADLINE: <soon>."
    text += "\n\n:LOGBOOK:\nNever closed.\n\nstd::vector is fast."
    assert [section.text for section in note(text).sections] == [text]
    assert note(text).frontmatter == {}
