"""Who writes the hypothetical passage where none came with the question: the user's endpoint, or the small local model."""

from __future__ import annotations

from collections.abc import Mapping

from onebrain.models.hyde_endpoint import EndpointHyde
from onebrain.models.hyde_local import LocalHyde, smollm2_data
from onebrain.models.ports import HydeSettings, HydeWriter


def make_writer(settings: HydeSettings, environ: Mapping[str, str]) -> HydeWriter | None:
    """The writer to use, None when there is none. Raises ModelUnavailable for an endpoint that is no address."""
    if settings.endpoint:
        return EndpointHyde(settings, environ)
    data = smollm2_data() if settings.local else None
    return LocalHyde(data, settings) if data else None
