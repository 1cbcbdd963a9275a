"""Who writes the hypothetical passage: the caller's own text, the user's endpoint, or the small local model, in this order."""

from __future__ import annotations

from collections.abc import Mapping

from onebrain.models.hyde_endpoint import EndpointHyde
from onebrain.models.hyde_local import LocalHyde, smollm2_data
from onebrain.models.ports import HydeSettings, HydeWriter, WriterUnavailable


class GivenHyde:
    """The passage came with the question (`--hyde TEXT`)."""

    name = "given"

    def __init__(self, passage: str) -> None:
        self._passage = passage.strip()

    def write(self, question: str) -> str:
        if not self._passage:
            raise WriterUnavailable("the given passage is empty")
        return self._passage

    def unload(self) -> None:
        """Nothing is held."""


def make_writer(settings: HydeSettings, environ: Mapping[str, str]) -> HydeWriter | None:
    """The writer to use, None when there is none. Raises ModelUnavailable for an endpoint that is no address."""
    if settings.endpoint:
        return EndpointHyde(settings, environ)
    data = smollm2_data() if settings.local else None
    return LocalHyde(data, settings) if data else None
