"""HyDE from an endpoint the user configured."""

from __future__ import annotations

from collections.abc import Mapping

from onebrain.models.endpoint import Endpoint
from onebrain.models.ports import EndpointSettings, HydeSettings, WriterUnavailable

PROMPT = "Write one short factual passage, as it could stand in someone's notes, that answers the question. No introduction."
_MOST_CHARACTERS = 1200


class EndpointHyde:
    """A HydeWriter over HTTP; raises what Endpoint raises."""

    def __init__(self, settings: HydeSettings, environ: Mapping[str, str]) -> None:
        asked = EndpointSettings(settings.endpoint or "", settings.model, settings.key_env, settings.max_tokens)
        self._endpoint = Endpoint(asked, environ)
        self._timeout_s = settings.timeout_s

    @property
    def name(self) -> str:
        return f"endpoint {self._endpoint.host}"

    def write(self, question: str) -> str:
        return clean(self._endpoint.complete(PROMPT, question, self._timeout_s))

    def unload(self) -> None:
        """Nothing is held."""


def clean(passage: str) -> str:
    """One line, cut at 1,200 characters. Raises WriterUnavailable when nothing is left."""
    text = " ".join(passage.split())[:_MOST_CHARACTERS].strip()
    if not text:
        raise WriterUnavailable("the writer answered with nothing")
    return text
