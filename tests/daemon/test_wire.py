from __future__ import annotations

import ast
import importlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from onebrain import __version__, config
from onebrain.daemon import client, wire

PACKAGE = Path(client.__file__).parent.parent


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["search", "why did we drop Kafka?"], "search"),
        (["--vault", "search", "recall", "x"], "recall"),
        (["--vault=v", "--json", "search", "x"], "search"),
        (["search", "--", "model", "x"], "search"),
        (["search", "model", "prepare"], None),
        (["daemon", "status"], "daemon"),
        (["--help"], None),
        (["--version", "search"], None),
        ([], None),
        (["--", "search"], None),
    ],
)
def test_the_first_word_decides(argv: list[str], word: str | None) -> None:
    assert client.first_word(argv) == word


@pytest.mark.parametrize(
    ("argv", "repeatable"),
    [
        (["search", "memory add"], True),
        (["memory", "search", "add"], True),
        (["--vault", "v", "memory", "--json", "list"], True),
        (["--vault", "v", "memory", "add", "search"], False),
        (["memory", "confirm", "x"], False),
        (["memory", "supersede", "x", "--by", "y"], False),
        (["memory", "import", "x.db"], False),
        (["memory", "export", "x.json"], False),
        (["recall", "export"], False),
        (["recall", "status"], True),
    ],
)
def test_what_changes_a_file_is_not_done_twice(argv: list[str], repeatable: bool) -> None:
    assert client.repeatable(argv) is repeatable


@pytest.mark.parametrize("argv", [["daemon", "stop"], ["init"], ["mcp"], ["serve"], ["doctor"], ["eval"], ["search", "x", "--no-daemon"]])
def test_some_commands_never_leave_this_process(argv: list[str], tmp_path: Path) -> None:
    assert client.forward(argv, {"ONEBRAIN_DATA_DIR": str(tmp_path)}, str(tmp_path)) is None


def test_the_vault_is_found_as_the_configuration_finds_it(tmp_path: Path) -> None:
    (tmp_path / "repo/sub/deep").mkdir(parents=True)
    (tmp_path / "repo/onebrain.yml").write_text("search: {}\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/vault.yml").write_text("")
    deep = str(tmp_path / "repo/sub/deep")
    table: list[tuple[list[str], dict[str, str], str, Path]] = [
        ([], {}, deep, tmp_path / "repo"),
        (["search", "x"], {"ONEBRAIN_VAULT": str(tmp_path / "old")}, deep, tmp_path / "old"),
        (["--vault", str(tmp_path / "repo"), "search"], {"ONEBRAIN_VAULT": str(tmp_path / "old")}, "/", tmp_path / "repo"),
        (["--vault=../..", "search"], {}, deep, tmp_path / "repo"),
        (["--vault", str(tmp_path / "repo/onebrain.yml"), "search"], {}, "/", tmp_path / "repo"),
    ]
    for argv, env, cwd, expected in table:
        found = wire.vault_directory(argv, env, cwd)
        assert found is not None and Path(found) == expected
        named = wire._option(argv, "--vault")
        loaded = config.load(Path(named) if named else None, {**env, "ONEBRAIN_DATA_DIR": str(tmp_path)}, Path(cwd))
        assert loaded.file is not None and loaded.file.parent == expected
    assert wire.vault_directory(["search", "--", "--vault", "x"], {}, "/") is None


@pytest.mark.parametrize("env", [{}, {"ONEBRAIN_DATA_DIR": "own"}, {"ONEBRAIN_DATA_DIR": "/x/../own"}, {"ONEBRAIN_DATA_DIR": "~/own"}])
def test_the_data_directory_is_the_one_of_the_configuration(env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    loaded = config.load(tmp_path, env, tmp_path)
    assert Path(wire.data_dir({"XDG_DATA_HOME": str(tmp_path / "share"), **env}, str(tmp_path))) == loaded.data_dir


def test_one_key_for_one_directory_however_it_is_reached(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert wire.key(str(tmp_path / "link")) == wire.key(str(tmp_path)) != wire.key(str(tmp_path.parent))
    assert len(wire.key("/")) == 16


def test_frames_survive_being_cut_into_pieces() -> None:
    stream = io.BytesIO(wire.frame(wire.OUT, "grüß".encode()) + wire.frame(wire.EXIT, b"0"))
    assert wire.read_frame(lambda _: stream.read(1)) == (b"o", "grüß".encode())
    assert wire.read_frame(lambda _: stream.read(1)) == (b"x", b"0")
    with pytest.raises(ConnectionError):
        wire.read_frame(lambda _: stream.read(1))


@pytest.mark.parametrize("text", ["ascii", "日本語 🐘", "odd\udcff bytes"])
def test_every_argument_travels(text: str) -> None:
    packed = wire.packed({"argv": [text]})
    assert int.from_bytes(packed[:4], "big") == len(packed) - 4
    assert json.loads(packed[4:]) == {"argv": [text]}


@pytest.mark.parametrize("version", ["0.1.0", "0.1", "0.10.2rc1", "1", "", "x.1"])
def test_releases_compare_by_number(version: str) -> None:
    assert {"0.1.0": (0, 1, 0), "0.1": (0, 1), "0.10.2rc1": (0, 10, 2), "1": (1,), "": (), "x.1": ()}[version] == wire.release(version)
    assert wire.release("0.10.0") > wire.release("0.9.3")


def test_an_unreadable_address_is_no_address(tmp_path: Path) -> None:
    for number, text in enumerate(["", "{", "[1]", "null", '"x"']):
        path = tmp_path / str(number)
        path.write_text(text)
        assert wire.read_address(str(path)) is None
    assert wire.read_address(str(tmp_path / "none")) is None


def test_the_request_carries_no_secret_and_little_environment(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": "sk-1", "AWS_SECRET": "x", "ONEBRAIN_VAULT": "v", "NO_COLOR": "1", "COLUMNS": "42", "PATH": "/bin"}
    request = client.command(["search", "x"], env, str(tmp_path))
    assert request["env"] == {"ONEBRAIN_VAULT": "v", "NO_COLOR": "1"}
    assert request["width"] == 42 and request["version"] == __version__ and request["stdin"] is None


def test_what_commands_read_of_their_environment_travels_and_nothing_else() -> None:
    read: set[str] = set()
    for path in [*PACKAGE.glob("cli/*.py"), *PACKAGE.glob("memory/*.py")]:
        constants = vars(importlib.import_module(f"onebrain.{path.parent.name}.{path.stem}"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = _variable(node)
            if name is not None:
                read.add(str(name.value) if isinstance(name, ast.Constant) else constants[name.id])
    assert {name for name in read if not name.startswith("ONEBRAIN_")} == client.ENVIRONMENT


def _variable(node: ast.AST) -> ast.Constant | ast.Name | None:
    """The name in `env.get(NAME)` and `env[NAME]`, where `env` may be anybody's (`terminal.env`, `os.environ`)."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[name, *_]) | ast.Subscript(value=owner, slice=name):
            spelled = ast.unparse(owner).rpartition(".")[2]
            return name if spelled in ("env", "environ") and isinstance(name, (ast.Constant, ast.Name)) else None
    return None


def test_the_client_imports_neither_grammar_nor_engines() -> None:
    """What makes a question through the daemon quick: measured imports, not intentions."""
    client_alone = modules_after("from onebrain.daemon import client")
    bare = modules_after("pass")  # an editable install or a coverage hook may have imported some already
    heavy = [
        "typer",
        "click",
        "whoosh",
        "chromadb",
        "numpy",
        "onnxruntime",
        "yaml",
        "rich",
        "socket",
        "hashlib",
        "pathlib",
        "typing",
        "dataclasses",
    ]
    assert not (client_alone - bare) & set(heavy)
    ours = {name for name in client_alone if name.startswith("onebrain")}
    assert ours == {"onebrain", "onebrain.daemon", "onebrain.daemon.client", "onebrain.daemon.wire"}


def modules_after(code: str) -> set[str]:
    command = [sys.executable, "-I", "-c", f"import sys; {code}; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
