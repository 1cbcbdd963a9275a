"""What a note is: from the bytes of a Markdown file to notes, passages, links and dated decisions."""

from onebrain.vault.chunk import CHUNKER_VERSION, chunk
from onebrain.vault.links import LinkResolver
from onebrain.vault.parse import PARSER_VERSION, Settings, parse, read_note

__all__ = ["CHUNKER_VERSION", "PARSER_VERSION", "LinkResolver", "Settings", "chunk", "parse", "read_note"]
