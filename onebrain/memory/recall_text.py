"""Recall as text, in the form of seed 001's examples: a line per layer with its hits, the answer, and what to be aware of."""

from __future__ import annotations

from collections.abc import Sequence

from onebrain.memory.audit import LineHit, plain
from onebrain.memory.recall import THRESHOLD, LayerOne, LayerState, Outcome, Recalled

_LINES = 10  # of layer 2 shown; the answer cites what matters
_NAMES = {"claude-mem": "claude-mem", "local": "onebrain"}


def text(recalled: Recalled) -> str:
    """All of an answer; ends without a line feed."""
    if recalled.outcome in (Outcome.REDIRECTED, Outcome.TOO_VAGUE):
        return recalled.say
    layers = "\n".join([*_layer_one(recalled.layer_one), _layer_two(recalled)])
    flags = "\n".join(f"Note: {flag}" for flag in recalled.flags)
    return "\n\n".join(filter(None, [layers, _answer(recalled), flags]))


def _layer_one(layer: LayerOne) -> list[str]:
    name = f"Layer 1 ({_NAMES.get(layer.name, layer.name)})"
    if layer.state is LayerState.HIDDEN:
        return []
    if layer.state is LayerState.OFF:
        return [f"{name}: off."]
    if layer.state is LayerState.UNSET:
        return [f"{name}: not configured ({layer.reason})."]
    if layer.state is LayerState.FAILED:
        return [f"{name}: failed ({layer.reason}); layer 2 alone."]
    if not layer.hits:
        return [f"{name}: 0 results above {THRESHOLD} threshold."]
    scores = _and([f"{hit.score:.2f}" for hit in layer.hits])
    plural = "s" if len(layer.hits) > 1 else ""
    head = f"{name}: {len(layer.hits)} result{plural}, score{plural} {scores} ({layer.hits[0].measure})."
    return [head, *(f'  - {hit.cite} — "{hit.text}" (score {hit.score:.2f})' for hit in layer.hits)]


def _layer_two(recalled: Recalled) -> str:
    if not recalled.total:
        words = ", ".join(f'"{word}"' for word in recalled.words)
        return f"Layer 2 (grep): 0 hits{f' for {words}' if words else ''}."
    head = f"Layer 2 (grep): {recalled.total} hit{'s' if recalled.total > 1 else ''}."
    if recalled.outcome is Outcome.TOO_MANY:
        return head
    rest = recalled.total - len(recalled.lines[:_LINES])
    return "\n".join([head, *map(_hit, recalled.lines[:_LINES]), *([f"  … and {rest} more"] if rest else [])])


def _hit(hit: LineHit) -> str:
    return f'  - {hit.citation}\n    "{plain(hit.text)}"'


def _answer(recalled: Recalled) -> str:
    if not recalled.claims:
        return f"Answer: {recalled.say}"
    lines = [f'{claim.lead}"{claim.quote}" ({claim.cite})' for claim in recalled.claims]
    return "Answer: " + "\n        ".join(lines) + "\n\nCitations: " + "; ".join(dict.fromkeys(claim.cite for claim in recalled.claims))


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def data(recalled: Recalled) -> dict[str, object]:
    """The `data` of `recall --json`. A regulated project's first layer is left out altogether."""
    layer = recalled.layer_one
    one: dict[str, object] = {"name": layer.name, "state": layer.state.value, "reason": layer.reason or None, "newest": layer.newest}
    one["hits"] = [{"score": h.score, "score_source": h.measure, "cite": h.cite, "date": h.day, "text": h.text} for h in layer.hits]
    return {
        "query": recalled.question,
        "outcome": recalled.outcome.value,
        "message": recalled.say or None,
        "answer": [{"text": c.quote, "lead": c.lead.rstrip(": ") or None, "cite": c.cite, "date": c.day} for c in recalled.claims],
        "layer1": None if layer.state is LayerState.HIDDEN else one,
        "layer2": {
            "keywords": list(recalled.words),
            "total": recalled.total,
            "hits": [{"path": h.path, "line": h.line, "text": h.text, "share": h.share, "date": h.day} for h in recalled.lines],
        },
        "flags": list(recalled.flags),
    }
