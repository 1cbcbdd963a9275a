"""`recall export`: what claude-mem holds, appended to `memory/semantic_export.md` so that layer 2 can find and cite it.

What must stay true: append-only. Not a byte that stands in the file changes, and each record is exported once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from onebrain.memory.observations import Observation

HEADER = """# Semantic Memory Export

> **No live export has run yet.** Exports of claude-mem are appended below by `onebrain recall export`.

---
"""
_RECORD = re.compile(r"^- session .*?\(#(?P<id>\d+), \d{4}-", re.MULTILINE)


def appended(existing: str | None, records: Sequence[Observation], when: str) -> tuple[str, int]:
    """The file's next text and how many records were added. `when` is UTC ISO; without new records the text stays as it is."""
    known = {int(match["id"]) for match in _RECORD.finditer(existing or "")}
    new = [record for record in records if record.id not in known]
    before = HEADER if existing is None or not existing.strip() else existing
    if not new:
        return before, 0
    lines = "\n".join(f"- {record.citation}: {record.content}" for record in new)
    gap = "" if before.endswith("\n") else "\n"
    return f"{before}{gap}\n## Export — {when}\n\n{lines}\n", len(new)
