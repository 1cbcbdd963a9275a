"""Who words an answer from its quotes: an endpoint the user configured, and nobody else."""

from __future__ import annotations

from collections.abc import Mapping

from onebrain.errors import ModelUnavailable
from onebrain.models.endpoint import Endpoint
from onebrain.models.ports import EndpointSettings


class EndpointSynthesis:
    """A SynthesisWriter over HTTP, with `timeout_s` for each answer. `here_only` refuses, at once, an address that isn't this machine's."""

    def __init__(self, settings: EndpointSettings, environ: Mapping[str, str], timeout_s: float, *, here_only: bool = False) -> None:
        self._endpoint = Endpoint(settings, environ)
        self._model = settings.model
        self._timeout_s = timeout_s
        if here_only and not self._endpoint.is_here:
            raise ModelUnavailable(f"the vault is regulated: nothing is sent to {self._endpoint.host}, only to an address of this machine")

    @property
    def name(self) -> str:
        return f"{self._model or 'a model'} at {self._endpoint.host}"

    def write(self, instructions: str, quotes: str) -> str:
        return self._endpoint.complete(instructions, quotes, self._timeout_s)
