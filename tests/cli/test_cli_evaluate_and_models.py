"""`eval run` and `eval score` from questions to page, and `search model` over a cache on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onebrain.errors import IndexDamaged, ModelUnavailable
from onebrain.models.folders import write_folder

Shell = Any

QUESTIONS = [
    {"id": "q1", "corpus": "notes", "query": "which queue", "mode": "what", "kind": "exact", "answerable": True,
     "relevant": [{"path": "01-projects/queue.md", "heading": "Decision"}]},
    {"id": "q2", "corpus": "other", "query": "graphql", "mode": "what", "kind": "absent", "answerable": False, "relevant": []},
]  # fmt: skip


@pytest.fixture
def asked(shell: Shell) -> Path:
    file: Path = shell.cwd / "questions.jsonl"
    file.write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    return file


def test_questions_of_the_vaults_corpus_are_asked_once(shell: Shell, asked: Path) -> None:
    vault = shell.cwd
    shell.shows(
        f"""
    $ onebrain eval run questions.jsonl --out out.jsonl
    ✅  1 asked · 0 kept from before · 0 failed → {vault}/out.jsonl
    $ onebrain eval run questions.jsonl --out out.jsonl
    ✅  0 asked · 1 kept from before · 0 failed → {vault}/out.jsonl
    $ onebrain eval run questions.jsonl --out out.jsonl --corpus other
    ✅  1 asked · 0 kept from before · 0 failed → {vault}/out.jsonl
    $ onebrain eval run questions.jsonl --out out.jsonl --fresh --now 2026-01-01
    ✅  1 asked · 0 kept from before · 0 failed → {vault}/out.jsonl
    """
    )
    assert [(request.text, str(request.now), request.everything) for request in shell.brain.asked] == [
        ("which queue", "2026-05-04", True),
        ("graphql", "2026-05-04", True),
        ("which queue", "2026-01-01", True),
    ]
    assert len(shell.brain.reindexed) == 4  # each run measures the whole vault as it is
    record = json.loads((vault / "out.jsonl").read_text())
    assert (record["id"], record["report"]["verdict"], sorted(record)) == ("q1", "confident", ["id", "ms", "report"])


def test_figures(shell: Shell, asked: Path) -> None:
    shell("eval", "run", "questions.jsonl", "--out", "out.jsonl")
    result = shell("eval", "score", "questions.jsonl", "--results", "out.jsonl", "--html", "page.html", "--title", "Queues")
    assert result.out.splitlines()[:2] == [
        "Ranking                        n        hit1        hit5    heading5         mrr      ndcg10",
        "  exact                        1       1.000       1.000       1.000       1.000       1.000",
    ]
    assert result.err == f"ℹ️  Wrote {shell.cwd}/page.html.\n"
    assert "<title>Queues</title>" in (shell.cwd / "page.html").read_text()
    data = json.loads(shell("eval", "score", "questions.jsonl", "--results", "out.jsonl", "--json").out)["data"]
    assert (data["kinds"]["exact"]["hit1"], data["kinds"]["absent"]["false_answer"], data["summary"]["missing"]) == (1.0, 0.0, 1)


def test_a_run_with_failures_ends_with_1(shell: Shell, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.brain.error = IndexDamaged("damaged")
    monkeypatch.setattr(shell.brain, "reindex", lambda **how: None)
    result = shell("eval", "run", "questions.jsonl", "--out", "out.jsonl")
    assert (result.code, result.err) == (1, "⚠️  q1: damaged\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("eval run gone.jsonl --out o", "gone.jsonl can't be read: No such file or directory."),
        ("eval run questions.jsonl --out o --corpus nope", "No questions for nope; they are about: notes, other."),
        ("eval run questions.jsonl --out o --now soon", "--now needs a day such as 2026-01-31, not 'soon'."),
        ("eval run questions.jsonl", "Missing option '--out'."),
        ("eval score notes.jsonl --results questions.jsonl", "notes.jsonl:1 is no record: it needs an `id`."),
        ("eval score half.jsonl --results questions.jsonl", "A question or a result lacks a field or has it wrong: 'relevant'."),
    ],
)
def test_what_can_not_be_measured(shell: Shell, asked: Path, line: str, message: str) -> None:
    (shell.cwd / "notes.jsonl").write_text("{}\n")
    (shell.cwd / "half.jsonl").write_text('{"id": "x"}\n')
    result = shell(*line.split())
    assert (result.code, result.err.splitlines()[0].removeprefix("❌  ").removeprefix(f"{shell.cwd}/")) == (2, message)


@pytest.fixture
def model(shell: Shell) -> Path:
    def fill(making: Path) -> None:
        (making / "model.onnx").write_bytes(b"x" * 2_000_000)

    place = Path(shell.env["ONEBRAIN_DATA_DIR"]) / "models" / "tiny"
    write_folder(place, "f", "a test", fill)
    return place


def test_models_are_listed_chosen_and_removed(shell: Shell, model: Path) -> None:
    shell.shows(
        """
    $ onebrain search model list
      tiny  2 MB  from a test
    $ onebrain search model set tiny
    ✅  onebrain.yml: search.embed_model is tiny
    ! ℹ️  The next reindex embeds the vault anew with this model.
    $ onebrain search model list
    * tiny  2 MB  from a test
    $ onebrain search model set huge
    ! ❌  There is no model 'huge' here.
    ! → Ready: tiny.
    [exit 2]
    $ onebrain search model remove tiny
    🗑️  removed tiny
    $ onebrain search model remove ../models
    ! ❌  There is no model '../models' here.
    ! → See `onebrain search model list`.
    [exit 2]
    $ onebrain search model list
    No model yet: search works by words. Run `onebrain search model prepare`.
    """
    )
    assert (shell.cwd / "onebrain.yml").read_text() == "search: {collection: notes-1a2b3c, embed_model: tiny}\n"
    assert not model.exists()


def test_models_in_json(shell: Shell, model: Path) -> None:
    found = json.loads(shell("search", "model", "list", "--json").out)
    assert found["command"] == "search.model.list"
    (row,) = found["data"]["models"]
    assert (row["id"], row["path"], row["origin"], row["used"]) == ("tiny", str(model), "a test", False)


def test_preparing_tells_each_step_and_what_to_do_without_weights(shell: Shell, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onebrain.models import weights
    from onebrain.models.folders import read_recorded

    calls: list[dict[str, Any]] = []

    def prepare(cache: Path, **how: Any) -> Any:
        calls.append({"cache": cache, "download": how["download"], "folder": how["folder"]})
        how["progress"]("converting")
        if not how["download"]:
            raise ModelUnavailable("There is no embedding model yet.", hint="Use --download.")
        return read_recorded(model)

    monkeypatch.setattr(weights, "prepare", prepare)
    shell.shows(
        """
    $ onebrain search model prepare
    ! → converting
    ! ❌  There is no embedding model yet.
    ! → Use --download.
    [exit 1]
    $ onebrain search model prepare --download
    ✅  tiny is ready (2 MB, from a test)
    ! → converting
    """
    )
    assert calls[0] == {"cache": model.parent, "download": False, "folder": None}
