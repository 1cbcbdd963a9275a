"""`onebrain.yml` as a frozen value. Read once at the edge; every problem of the file is reported together.

What must stay true: unknown keys are ignored and kept, absent and empty keys mean the default, reading never writes,
and a write sets one value: comments, key order and line ends stay.
"""

from onebrain.config.nouns import ChromaServer, Config, Daemon, Embed, Folders, Scheduled, Search, Web, Writer
from onebrain.config.reading import FILE_NAME, OLDER_FILE_NAME, load
from onebrain.config.writing import has_key, remove_key, set_value, write_commented

__all__ = [
    "FILE_NAME",
    "OLDER_FILE_NAME",
    "ChromaServer",
    "Config",
    "Daemon",
    "Embed",
    "Folders",
    "Scheduled",
    "Search",
    "Web",
    "Writer",
    "has_key",
    "load",
    "remove_key",
    "set_value",
    "write_commented",
]
