"""The page over the small vault."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from small_vault import PORT, TOKEN, brain, config, desk, vault
from starlette.testclient import TestClient

from onebrain.daemon.desk import Desk
from onebrain.web.app import create
from onebrain.web.guard import Door

__all__ = ["brain", "config", "desk", "vault"]


@pytest.fixture
def app(desk: Desk) -> Any:
    return create(desk, Door(PORT, TOKEN), today=lambda: date(2026, 10, 13))


@pytest.fixture
def client(app: Any) -> Iterator[TestClient]:
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}", headers={"authorization": f"Bearer {TOKEN}"}) as made:
        yield made
