"""Markdown as sentences a reader can be shown."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebrain.text.sentences import Kind, cells, plain, sentences


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("**Bold** and *it* and ***both*** and ~~gone~~ and ==lit==", "Bold and it and both and gone and lit"),
        ("snake_case_name stays, __strong__ goes", "snake_case_name stays, strong goes"),
        ("2 * 3 * 4 and 2*3*4", "2 * 3 * 4 and 2*3*4"),
        ("`code_x` and ``a ` b``", "code_x and a ` b"),
        ("[text](http://x.y/z_(a)) and [ref][1] and <https://a.b>", "text and ref and https://a.b"),
        ("[[Note#Part|alias]], [[folder/Note#Part]], [[Note]]", "alias, Note > Part, Note"),
        ("![alt](x.png) ![[img.png|300]]", "alt img.png"),
        ("A line. ^block-1", "A line."),
        ("| a |\n^block-1\nMore of x^2", "| a | More of x^2"),
        ("a claim[^1] and <b>html</b>&amp;<br>more", "a claim and html& more"),
        ("seen %%hidden%% here <!-- not this -->", "seen here"),
        ("[rating:: 5], due:: 2024-01-02 and (key:: v)", "rating: 5, due: 2024-01-02 and key: v"),
        ("- [x] done", "done"),
        ("> [!note]- Title", "Title"),
        ("### Heading", "Heading"),
        ("\\*literal\\* \\[x\\]", "*literal* [x]"),
        ("``t_t``, :ref:`packaging:core-metadata`, :pep:`345`", "t_t, packaging:core-metadata, PEP 345"),
        ("`Text <http://u>`__ and `Core Metadata`_ [1]_", "Text and Core Metadata"),
        ("bell\x07 and zero\u200bwidth and\u00a0space", "bell and zerowidth and space"),
        ("C:\\dir\\x", "C:\\dir\\x"),
        ('{{< figure src="a.png" caption="A <b>map</b> of \\"Ulm\\"" >}}', 'A map of "Ulm"'),
        ('[x]({{< relref "x.md" >}}), [y]({% link _posts/y.md %}) and `{{< ref >}}`', "x, y and {{< ref >}}"),
        ('!!! note "Mind the gap"', "Mind the gap"),
        (":::tip[Title]{open}\nText\n:::", "Title Text"),
        ("one\\\nline, and C:\\", "one line, and C:\\"),
        ("`<style>` and `_._.x`", "<style> and _._.x"),
        ("日本語の**強調**です", "日本語の強調です"),
    ],
)
def test_marks_go_and_words_stay(markdown: str, words: str) -> None:
    assert plain(markdown) == words


def test_a_hard_break_is_no_word() -> None:
    text = "Release of 3.0.0.\\\nThe most important change is the merge.\\\nIt stands in C:\\"
    told = sentences(text)
    assert [s.text for s in told] == ["Release of 3.0.0.", "The most important change is the merge.", "It stands in C:\\"]
    assert [text[s.start : s.end] for s in told] == [s.text for s in told]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We use e.g. v1.2, i.e. 3.5 of file.md. Next.", ["We use e.g. v1.2, i.e. 3.5 of file.md.", "Next."]),
        ("Dr. Smith agreed! Really? Yes.", ["Dr. Smith agreed!", "Really?", "Yes."]),
        ("As ADR 0033. The rest follows it.", ["As ADR 0033. The rest follows it."]),
        ("See [036. Multi-cluster](036.md). Then stop.", ["See 036. Multi-cluster.", "Then stop."]),
        ("Run `a. B` first. Then go.", ["Run a. B first.", "Then go."]),
        ("It broke (badly. Very) at night. Fixed.", ["It broke (badly. Very) at night.", "Fixed."]),
        ("这是第一句。这是第二句！好吗？是的。", ["这是第一句。", "这是第二句！", "好吗？", "是的。"]),
        ("メールにした。費用がないため。", ["メールにした。", "費用がないため。"]),
        ("لماذا تغير النظام؟ لأنه بطيء.", ["لماذا تغير النظام؟", "لأنه بطيء."]),
        ("Das gilt z.B. hier. Und bzw. dort.", ["Das gilt z.B. hier.", "Und bzw. dort."]),
        ("Rules hold. [#tz]_ This allows it.", ["Rules hold.", "This allows it."]),
    ],
)
def test_a_sentence_ends_where_it_ends(text: str, found: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == found


def test_wrapped_prose_is_one_sentence_and_a_short_line_is_its_own() -> None:
    wrapped = "This is a long line of prose that the author wrapped at\neighty columns or so. It goes on."
    assert [s.text for s in sentences(wrapped)] == [
        "This is a long line of prose that the author wrapped at eighty columns or so.",
        "It goes on.",
    ]
    short = "This is a long line of prose that the author wrapped at some\ncolumn or so, as in\nPEP 318 and others."
    assert len(sentences(short)) == 1
    assert [s.text for s in sentences("Virtualization\nXen uses HVM\n")] == ["Virtualization", "Xen uses HVM"]


def test_thai_is_cut_at_spaces_into_readable_pieces() -> None:
    text = "ทีมงานตัดสินใจใช้ระบบใหม่เพราะระบบเดิมมีปัญหาเรื่องความเร็วและการดูแลรักษามากเกินไปในปีที่ผ่านมา " * 3
    found = [s.text for s in sentences(text.strip())]
    assert len(found) == 3
    assert " ".join(found) == text.strip()


DOCUMENT = """\
---
author: "[[Kevin Kelly]]"
---
# Title

Date: 2018-12-17
Amended: 2019-01-29

- item one. Second part
  continues
- [ ] item two
    - nested

| When | What | Why |
|------|------|-----|
| 2024-01-02 | Use `a|b` | x \\| y |
| 2024-01-03 | [[N|n]] | |

> [!warning] Careful
> line one
> goes on.

```py
x = "A. B"
```

Example::

    Metadata-Version: 1.2

.. code-block:: python

    print()

Setext
------
Last line.
"""


def test_every_line_is_a_unit_of_its_kind() -> None:
    found = [(s.kind, s.line_offset, s.text) for s in sentences(DOCUMENT, code=True)]
    assert found == [
        (Kind.FIELD, 1, 'author: "Kevin Kelly"'),
        (Kind.FIELD, 5, "Date: 2018-12-17"),
        (Kind.FIELD, 6, "Amended: 2019-01-29"),
        (Kind.ITEM, 8, "item one."),
        (Kind.ITEM, 8, "Second part continues"),
        (Kind.ITEM, 10, "item two"),
        (Kind.ITEM, 11, "nested"),
        (Kind.ROW, 15, "When: 2024-01-02 · What: Use a|b · Why: x | y"),
        (Kind.ROW, 16, "When: 2024-01-03 · What: n"),
        (Kind.PROSE, 18, "Careful"),
        (Kind.PROSE, 19, "line one goes on."),
        (Kind.CODE, 22, 'x = "A. B"'),
        (Kind.FIELD, 26, "Example::"),
        (Kind.PROSE, 36, "Last line."),
    ]
    assert Kind.CODE not in {s.kind for s in sentences(DOCUMENT)}


GENERATED = """\
import Tabs from '@theme/Tabs';
export const size = 1;

{{< figure src="/a. b.png" caption="Fig. 1: One. Two." >}}

{{% notice tip %}}
Keep the key safe.
{{% /notice %}}

See [descent]({{<relref "gradient_descent.md#" >}}) for more. An {{< icon "x" >}} icon.

{{< hint >}}On one line.{{< /hint >}}

:PROPERTIES:
:ID:       d2a-1
:END:
:LOGBOOK:
- State "DONE" from "TODO"
CLOCK: [2020-01-01 Wed 10:00]
:END:
#+title: An export
#+begin_src sh
ls -l. Done.
#+end_src

Before the fold.
<!--more-->

{% include toc.html %}
{% raw %}
Raw text stays.
{% endraw %}
{% highlight ruby %}
puts "A. B."
{% endhighlight %}
{{< highlight go "linenos=table" >}}
fmt.Println("x. Y.")
{{< /highlight >}}

!!! note "Mind the gap"
    Indented text.

    Its second paragraph.

??? question
    Folded answer.

=== "Tab one"

    In the tab.

:::note Be careful
The fenced text stands.
:::

:::tip[Title]{open}

A tip.

:::

{{< figure
  src="x.png"
  title="Two lines"
>}}
Last words. {/* hidden. */} The end.

Term
: What it means.
"""


def test_what_a_site_generator_reads_is_no_sentence_and_the_words_around_it_are() -> None:
    assert [(s.line_offset + 1, s.text) for s in sentences(GENERATED)] == [
        (7, "Keep the key safe."),
        (10, "See descent for more."),
        (10, "An icon."),
        (12, "On one line."),
        (26, "Before the fold."),
        (31, "Raw text stays."),
        (41, "Indented text."),
        (43, "Its second paragraph."),
        (46, "Folded answer."),
        (50, "In the tab."),
        (53, "The fenced text stands."),
        (58, "A tip."),
        (66, "Last words. The end."),
        (68, "Term: What it means."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "We export default settings to a file.",
        "The import of 'x' failed.",
        "A set {x % 2} of braces.",
        "Use {{</* figure */>}} for pictures.",
        "Write {{title}} into the template.",
        "Ratio 3:::4 is odd.",
    ],
)
def test_prose_that_looks_like_a_generators_mark_stays(text: str) -> None:
    assert [s.text for s in sentences(text)] == [text]


def test_a_comment_of_several_paragraphs_is_no_sentence() -> None:
    text = "One. %% Hid. Two. %% Three.\n\n%%\nhid.\n\nhid too.\n%%\n\n<!-- hid\n\nhid. -->\nFour.\n\n"
    text += "`%%time` and `%%bash` stay.\n\n%% open\n\nFive."
    assert [s.text for s in sentences(text)] == ["One.", "Three.", "Four.", "%%time and %%bash stay.", "%% open", "Five."]


def test_a_line_of_tags_is_no_sentence() -> None:
    text = "We moved to Ulm. #moved\n#move #team/north #two words#\n\n#2026/plans, #ideas\n\n- #todo\n- #todo call Ann\n\n#12 is fixed."
    text += "\n\n#12\n\n#日本語、これは文です。"
    told = ["We moved to Ulm.", "#todo call Ann", "#12 is fixed.", "#12", "#日本語、これは文です。"]
    assert [s.text for s in sentences(text)] == told
    assert sentences("#lone #tags\n\n**Tags**: #a #b\n\nTags:\n#c") == []


def test_the_id_of_a_block_is_never_said() -> None:
    text = "Keep it cold. ^tip-1\n\n- Item one. ^a1\n- Item two ^a2\n\n> quoted\n\n^blk\n\nLast words\n^b-3"
    assert [s.text for s in sentences(text)] == ["Keep it cold.", "Item one.", "Item two", "quoted", "Last words"]


def test_a_lone_heading_is_better_than_nothing() -> None:
    assert [(s.kind, s.text) for s in sentences("## Only this")] == [(Kind.HEADING, "Only this")]


def test_two_column_metadata_reads_as_fields() -> None:
    table = "| Metadata | Value |\n|---|---|\n| Date | 2021-06-30 |"
    assert [s.text for s in sentences(table)] == ["Date: 2021-06-30"]


def test_rows_of_a_table_whose_header_is_elsewhere() -> None:
    assert [s.text for s in sentences("| a | b |\n| c | |")] == ["a · b", "c"]


def test_a_fence_ends_with_its_own_mark() -> None:
    found = sentences("a\n~~~~\n```\n~~~~\nb", code=True)
    assert [(s.kind, s.line_offset, s.text) for s in found] == [(Kind.PROSE, 0, "a"), (Kind.CODE, 1, "```"), (Kind.PROSE, 4, "b")]


def test_cells() -> None:
    assert cells(r"| a \| b | `c|d` | [[e|f]] |") == ["a | b", "`c|d`", "[[e|f]]"]


@settings(deadline=None)
@given(st.text(alphabet="ab .!?*_`[]()|#->~\n\t<&\\。ไทย:=%^", max_size=120))
def test_offsets_point_at_the_sentence(text: str) -> None:
    for sentence in sentences(text, code=True):
        assert 0 <= sentence.start <= sentence.end <= len(text)
        assert text.count("\n", 0, sentence.start) == sentence.line_offset
        assert "\n" not in sentence.text or sentence.kind is Kind.CODE


@settings(deadline=None)
@given(st.text(alphabet=st.characters(categories=("L", "N"), include_characters=" ,"), max_size=80))
def test_plain_text_is_left_alone(text: str) -> None:
    assert plain(text) == " ".join(text.split())
