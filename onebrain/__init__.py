"""Ask a Markdown vault what was decided and why. Imported by the thin client on every call: nothing else belongs here."""

__version__ = "0.1.0"
