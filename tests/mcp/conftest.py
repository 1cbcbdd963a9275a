"""MCP over the small vault."""

from __future__ import annotations

from small_vault import brain, config, desk, vault

__all__ = ["brain", "config", "desk", "vault"]
