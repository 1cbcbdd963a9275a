"""The parts of the training pipeline that decide what the model learns from, on texts small enough to read."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import onnxruntime
import pytest

from onebrain.models.compact import pair as product_pair
from training import commits, negatives, queries, sections, sources
from training.batches import batch, pair
from training.contamination import EvaluationText
from training.export import build
from training.synonyms import Synonyms

SOURCE = sources.Source("a/b", "HEAD", "MIT", "LICENSE", "MIT License", "A. B.", "b", r"docs/(?P<lang>[a-z]+)/(?P<key>.*\.md)")
TEXT = """---
title: Backups
---
Every night the database is copied to the second disk, and every Sunday also to the one that stands in the other building.

## Restoring

```
# not a heading
```
Stop the service first. Then copy the newest snapshot back, and compare the 14 checksums before the service is started again.
Write the day and the name of whoever did it into the log on the wall next to the door of the office.
"""


def document(text: str = TEXT, lang: str = "en", path: str = "docs/en/backup.md") -> sources.Document:
    return sources.Document(SOURCE, path, lang, "b|backup.md", text)


def test_every_source_is_permissive_and_names_its_licence_file() -> None:
    found = sources.load_manifest()
    assert len(found) > 40
    assert all(len(s.commit) == 40 and s.licence_file and s.licence_phrase and s.attribution for s in found)


def test_a_licence_outside_the_list_is_refused(tmp_path: Path) -> None:
    entry = {
        "repo": "a/b", "commit": "0", "licence": "CC-BY-SA-4.0", "licence_file": "L", "licence_phrase": "x", "attribution": "A",
        "family": "b", "pick": ".*",
    }
    (tmp_path / "sources.json").write_text(json.dumps([entry]))
    with pytest.raises(sources.SourceError, match="not a permissive licence"):
        sources.load_manifest(tmp_path / "sources.json")


def test_documents_are_read_from_a_commit_after_the_licence_was_checked(tmp_path: Path) -> None:
    repo = tmp_path / "a+b" / "repo"
    (repo / "docs" / "de").mkdir(parents=True)
    (repo / "LICENSE").write_text("MIT License\n")
    (repo / "docs" / "de" / "x.md").write_text("# Titel\n")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(repo), *command], check=True)
    found = list(sources.documents(tmp_path, SOURCE))
    assert [(d.path, d.lang, d.key) for d in found] == [("docs/de/x.md", "de", "b|x.md")]
    with pytest.raises(sources.SourceError, match="does not say"):
        list(sources.documents(tmp_path, replace(SOURCE, licence_phrase="Apache License")))


@pytest.mark.parametrize(("code", "lang"), [("zh-CN", "zh"), ("pt_BR", "pt"), ("zh-TW", "zh-hant"), ("en-US", "en"), ("th", "th")])
def test_language_codes(code: str, lang: str) -> None:
    assert sources.language(code) == lang


def test_sections_follow_headings_outside_fences() -> None:
    first, second = sections.sections([document()])
    assert (first.title, first.path) == ("Backups", [])
    assert (second.path, second.heading) == (["Restoring"], "Restoring")
    assert "not a heading" in second.body


def test_a_text_seen_before_is_dropped_and_so_is_an_untranslated_copy() -> None:
    assert len(sections.sections([document(), document(path="docs/en/copy.md")])) == 2
    assert sections.sections([document(lang="th", path="docs/th/backup.md")]) == []


def test_links_images_and_comments_leave_only_words() -> None:
    assert sections.clean("See [the guide](x.md) ![i](y.png)<!-- no --> **now**") == "See the guide now"


@pytest.mark.parametrize("seed", range(8))
def test_a_statement_becomes_a_question_without_its_number(seed: int) -> None:
    text = queries.cloze("Compare the 14 checksums before the old service is started again", "en", Random(seed))
    assert text and any(w in text for w in ("how many", "what number", "when", "what year", "what", "which", "who"))


def test_the_near_miss_lacks_the_sentence_that_was_asked_about(tmp_path: Path) -> None:
    made = _maker(tmp_path)
    statements = [q for q in made if q.kind == "statement" and q.near]
    assert statements, [q.kind for q in made]
    assert all(q.near and len(q.near) < len(q.positive) for q in statements)


def test_questions_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    assert _maker(tmp_path) == _maker(tmp_path)


def _maker(folder: Path) -> list[queries.Question]:
    found = sections.sections([document(), document(TEXT.replace("database", "wiki"), path="docs/en/wiki.md")])
    return queries.QuestionMaker(found, _synonyms(folder), Random(3), scale=20).all()


def _synonyms(folder: Path) -> Synonyms:
    lines = ["start%2:30:00:: 00345761 1 50", "begin%2:30:00:: 00345761 1 60", "commence%2:30:00:: 00345761 1 0"]
    (folder / "index.sense").write_text("\n".join(lines))
    return Synonyms(folder)


def test_synonyms_come_from_senses_in_use_and_keep_the_ending(tmp_path: Path) -> None:
    words = _synonyms(tmp_path)
    assert words.of("start") == ["begin"]
    assert words.inflected("starts") == ["begins"]
    assert words.replace("it starts with these", 1.0, Random(1)) == "it begins with these"


def test_a_wider_word_comes_after_the_synonyms(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text("00000001 06 n 01 hammer 0 001 @ 00000002 n 0000 | a hand tool\n00000002 06 n 01 tool 0 000 | x\n")
    lines = ["hammer%1:06:00:: 00000001 1 9", "mallet%1:06:00:: 00000001 1 2", "tool%1:06:00:: 00000002 1 30"]
    (tmp_path / "index.sense").write_text("\n".join(lines))
    assert Synonyms(tmp_path).of("hammer") == ["mallet", "tool"]


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("docs(backup): Explain how snapshots are restored (#123)", "Explain how snapshots are restored"),
        ("Fix typo in the restore page", None),
        ("Update docs", None),
        ("[ja] Translate the page on backups", None),
    ],
)
def test_subjects_that_tell_of_content_are_kept_without_their_marks(subject: str, text: str | None) -> None:
    assert commits.subject_text(subject) == text


def test_a_subject_belongs_to_the_section_that_still_holds_its_lines() -> None:
    found = sections.sections([document()])
    line = "Stop the service first. Then copy the newest snapshot back, and compare the 14 checksums before the service is started again."
    commit = commits.Commit("Explain restoring a snapshot", [line, "A line that was taken out again some years later, as lines are."])
    assert commits.describe([commit], found) == [queries.Described(1, "Explain restoring a snapshot", [line])]
    assert commits.describe([commits.Commit("Speak of another matter", [line])], found) == []


def test_commits_are_read_with_the_lines_they_add(tmp_path: Path) -> None:
    for number, text in enumerate(("one\n", "one\ntwo\n")):
        (tmp_path / "x.md").write_text(text)
        for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", f"part {number}"]):
            subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert list(commits.history(tmp_path, "HEAD")) == [commits.Commit("part 1", ["two"]), commits.Commit("part 0", ["one"])]


def test_a_change_is_asked_with_its_section_and_a_near_miss_without_its_lines(tmp_path: Path) -> None:
    found = sections.sections([document()])
    line = "Write the day and the name of whoever did it into the log on the wall next to the door of the office."
    about = [queries.Described(1, "Add a record of restores", [line])] * 12
    changes = [q for q in queries.QuestionMaker(found, _synonyms(tmp_path), Random(1), 0, about).all() if q.kind == "change"]
    assert len(changes) == 12
    assert all("wall next to the door" in q.positive for q in changes)
    assert all("wall" not in q.near for q in changes if q.near)
    assert any(q.near for q in changes)


def test_an_attribute_is_asked_in_several_languages_and_its_near_miss_does_not_say_it(tmp_path: Path) -> None:
    text = "The night copy covers both disks. It takes three hours when the office is empty. Nobody needs to be there while it runs, " \
        "and nothing has to be switched on or off by hand before it or after it, not even on public holidays."
    found = sections.sections([document(f"# Night copy\n{text}\n")])
    made = [q for q in queries.QuestionMaker(found, _synonyms(tmp_path), Random(1), 40).all() if "attribute" in q.kind]
    assert {q.kind for q in made} == {"attribute", "cross-attribute"}
    assert len({q.lang for q in made}) > 3
    assert all("three hours" in q.positive and q.near and "three hours" not in q.near for q in made)


def test_another_page_part_is_no_wrong_answer_to_an_attribute(tmp_path: Path) -> None:
    bodies = [f"Body number {i} about subject {i}." for i in range(12)]
    found = [sections.Section(i, "a/b", f"{i // 4}.md", "en", f"b|{i // 4}|{i}|4", f"Title {i}", [], body) for i, body in enumerate(bodies)]
    vectors = np.eye(12, 384, dtype=np.float32)
    question = queries.Question("who owns body 3?", "attribute", "en", 3, found[3].body, found[3].body[:9], 2)
    for seed in range(10):
        group = negatives.Miner(found, vectors, Random(seed)).group(question, vectors[3])
        assert not {s.body for s in found[:4]} & set(group.passages[2:])


def test_bm25_ranks_the_text_with_the_words_first() -> None:
    texts = ["the backup runs nightly", "a restore needs a snapshot", "unrelated words here"]
    assert int(negatives.Bm25(texts).scores("restore from snapshot").argmax()) == 1


def test_a_group_has_the_answer_first_and_no_translation_as_a_wrong_answer(tmp_path: Path) -> None:
    bodies = [f"Body number {i} about subject {i}." for i in range(12)]
    found = [sections.Section(i, "a/b", f"{i}.md", "en", f"b|{i % 4}|0", f"Title {i}", [], body) for i, body in enumerate(bodies)]
    vectors = np.eye(12, 384, dtype=np.float32)
    question = queries.Question("what is body 3?", "statement", "en", 3, found[3].body, None, 2)
    group = negatives.Miner(found, vectors, Random(1)).group(question, vectors[3])
    assert group.passages[0] == found[3].body
    assert len(group.passages) == negatives.SIZE
    assert not {found[7].body, found[11].body} & set(group.passages[1:])


def test_many_groups_at_once_are_the_same_as_one_by_one() -> None:
    bodies = [f"Body number {i} about subject {i % 5}." for i in range(40)]
    langs = ["en", "de"] * 20
    found = [sections.Section(i, "a/b", f"{i}.md", langs[i], f"b|{i // 2}|0", f"Title {i}", [], body) for i, body in enumerate(bodies)]
    vectors = np.random.default_rng(1).normal(size=(40, 384)).astype(np.float32)
    asked = [queries.Question(f"what is {i}?", "statement", langs[(i + 1) % 2], i, found[i].body, None, 2) for i in range(0, 40, 3)]
    one = negatives.Miner(found, vectors, Random(1))
    assert negatives.Miner(found, vectors, Random(1)).groups(asked, vectors[::3]) == [one.group(q, vectors[q.section]) for q in asked]


def test_evaluation_text_is_found_in_spaced_and_unspaced_scripts(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("We moved the queue to the second machine because the first was slow on Mondays and Fridays.")
    (tmp_path / "b.md").write_text("ฐานข้อมูลถูกคัดลอกไปยังเครื่องที่สองทุกคืนและตรวจสอบทุกวันอาทิตย์")
    known = EvaluationText(tmp_path)
    assert known.holds("Note: we moved the queue to the second machine because the first was slow, they said.")
    assert known.holds("ฐานข้อมูลถูกคัดลอกไปยังเครื่องที่สองทุกคืนและตรวจสอบ")
    assert not known.holds("The queue was moved to another machine as the old one could not keep up with the load.")


def test_pairs_are_laid_out_as_the_product_reads_them() -> None:
    made = pair(np.arange(10, 60, dtype=np.int32), np.arange(100, 400, dtype=np.int32))
    assert len(made.ids) == 192
    assert made.ids[:2].tolist() == [0, 10]
    assert made.ids[41:44].tolist() == [2, 2, 100]  # a question has at most 40 tokens
    arrays = batch([made, pair(np.array([7], np.int32), np.array([8, 9], np.int32))])
    assert arrays.ids[1, :8].tolist() == [0, 7, 2, 2, 8, 9, 2, 1]
    assert arrays.side[1, :8].tolist() == [0, 0, 0, 0, 1, 1, 1, 0]
    assert arrays.mask[1].sum() == 7


def test_training_and_product_lay_out_a_pair_alike() -> None:
    question, passage = list(range(10, 30)), list(range(100, 150))
    made, sides = product_pair(question, passage)
    ours = pair(np.array(question, np.int32), np.array(passage, np.int32))
    assert ours.ids.tolist() == made.tolist()
    assert batch([ours]).side[0].tolist() == sides.tolist()


def test_the_written_graph_gives_a_pair_the_same_logit_whatever_else_is_in_the_batch() -> None:
    draw = np.random.default_rng(1)

    def weight(*shape: int) -> np.ndarray:
        return draw.normal(0, 0.05, shape).astype(np.float32)

    state = {"pos": weight(512, 384), "seg": weight(2, 384), "ln.weight": 1 + weight(384), "ln.bias": weight(384), "frozen": np.array(0)}
    shapes = {"qkv": (1152, 384), "ao": (384, 384), "fi": (1536, 384), "fo": (384, 1536)}
    for name, shape in shapes.items():
        state |= {f"layers.0.{name}.weight": weight(*shape), f"layers.0.{name}.bias": weight(shape[0])}
    for name in ("n1", "n2"):
        state |= {f"layers.0.{name}.weight": 1 + weight(384), f"layers.0.{name}.bias": weight(384)}
    state |= {"h1.weight": weight(384, 1154), "h1.bias": weight(384), "h2.weight": weight(1, 384), "h2.bias": weight(1)}
    session = onnxruntime.InferenceSession(build(state), providers=["CPUExecutionProvider"])
    words, side = weight(2, 60, 384), np.tile(np.arange(60) >= 20, (2, 1)).astype(np.int64)
    mask = np.ones((2, 60), np.int64)
    mask[0, 33:] = 0

    def logits(rows: slice, length: int) -> np.ndarray:
        inputs = {"word_vectors": words[rows, :length], "attention_mask": mask[rows, :length], "token_type": side[rows, :length]}
        return np.asarray(session.run(["logit"], inputs)[0])

    both = logits(slice(0, 2), 60)
    assert both[0] == pytest.approx(logits(slice(0, 1), 33)[0], abs=1e-3)
    assert both[1] == pytest.approx(logits(slice(1, 2), 60)[0], abs=1e-3)
    assert abs(both[0] - both[1]) > 1e-2


def test_the_learning_rate_warms_up_stays_and_cools_down_by_steps() -> None:
    pytest.importorskip("torch", reason="torch is only installed for training")
    from training.train import Plan, rate_at

    plan = Plan(steps=1000, rate=1.0, warm_up=40, cool_down=0.4)
    assert rate_at(0, plan) == pytest.approx(1 / 40)
    assert rate_at(40, plan) == rate_at(599, plan) == pytest.approx(1.0)
    assert rate_at(800, plan) == pytest.approx(0.5)
    assert rate_at(999, plan) == pytest.approx(1 / 400)


def test_a_step_changes_the_float_weights_and_the_replicas_follow_them() -> None:
    torch = pytest.importorskip("torch", reason="torch is only installed for training")
    from training.model import CrossEncoder
    from training.train import Example, Plan, Trainer

    words = np.random.default_rng(1).normal(size=(60, 384)).astype(np.float32)
    trainer = Trainer(CrossEncoder(2, 1), words, Plan(steps=10, warm_up=1, groups_per_piece=1))
    passages = [np.arange(i, i + 9, dtype=np.int32) for i in (10, 20, 30)]
    groups = [Example("x", np.arange(5, 9, dtype=np.int32), passages, True, answered) for answered in (True, False, True)]
    before = trainer.model.h1.weight.clone()
    trainer.step(groups, 0)
    assert trainer.model.h1.weight.dtype == torch.float32
    assert not torch.equal(trainer.model.h1.weight, before)
    for twin in trainer._replicas:
        assert torch.equal(twin.h1.weight, trainer.model.h1.weight)
        assert torch.equal(twin.seg, trainer.model.seg.to(torch.bfloat16))
