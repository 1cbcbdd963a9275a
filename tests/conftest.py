"""Fixtures that several rooms share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from onebrain.errors import ModelUnavailable
from onebrain.models.folders import ModelFolder
from onebrain.models.weights import prepare

# A busy machine is no fault of the code under test.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Beside the packages it is made from, so `make clean` removes both and one conversion serves every run.
TEST_MODELS = Path(__file__).parent.parent / ".venv" / "onebrain-test-models"


@pytest.fixture(scope="session")
def e5_folder() -> ModelFolder:
    """The real embedder's folder, converted once per checkout. Skips where the data package is not installed."""
    try:
        return prepare(TEST_MODELS)
    except ModelUnavailable as error:
        pytest.skip(f"no embedding model: {error.message}")
