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
