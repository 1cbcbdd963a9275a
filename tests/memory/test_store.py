"""Keys of a memory's note are set where they stand; the rest of the note stays as it was."""

from __future__ import annotations

import pytest

from onebrain.errors import BadRequest
from onebrain.memory.store import with_keys
from onebrain.vault import frontmatter

CHANGES = {"status": "deprecated", "superseded_by": "new.md", "verified": "2026-03-04", "confidence": "0.9"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "---\nstatus: active # yet\nconf: high\n---\nbody",
            "---\nstatus: deprecated # yet\nconf: high\nsuperseded_by: new.md\nverified: 2026-03-04\nconfidence: 0.9\n---\nbody",
        ),
        (
            "\ufeff---\r\nstatus: active\r\n...\r\nbody",
            "\ufeff---\r\nstatus: deprecated\r\nsuperseded_by: new.md\r\nverified: 2026-03-04\r\nconfidence: 0.9\r\n...\r\nbody",
        ),
        ("\ufeffbody", "\ufeff---\nstatus: deprecated\nsuperseded_by: new.md\nverified: 2026-03-04\nconfidence: 0.9\n---\n\nbody"),
        (
            '+++\n# mine\nstatus = "active" # yet\nconfidence = 0.5\n\n[extra]\nstatus = "other"\n+++\nbody',
            '+++\n# mine\nstatus = "deprecated" # yet\nconfidence = 0.9\nsuperseded_by = "new.md"\nverified = 2026-03-04\n\n'
            '[extra]\nstatus = "other"\n+++\nbody',
        ),
        (
            "+++\r\n[extra]\r\nx = 1\r\n+++\r\nbody",
            '+++\r\nstatus = "deprecated"\r\nsuperseded_by = "new.md"\r\nverified = 2026-03-04\r\nconfidence = 0.9\r\n[extra]\r\nx = 1\r\n'
            "+++\r\nbody",
        ),
    ],
)
def test_keys_are_set_and_the_rest_stays(before: str, after: str) -> None:
    assert with_keys(before, CHANGES) == after
    read = frontmatter.read(after.removeprefix("\ufeff").replace("\r\n", "\n"))
    assert {key: read.values[key] for key in CHANGES} == CHANGES


@pytest.mark.parametrize("block", ['status = """\nactive"""', "status = [\n  'a',\n]", 'text = """\nstatus = 1\n"""'])
def test_toml_that_would_be_harmed_is_refused(block: str) -> None:
    with pytest.raises(BadRequest, match="without harm"):
        with_keys(f"+++\n{block}\n+++\nbody", CHANGES)
