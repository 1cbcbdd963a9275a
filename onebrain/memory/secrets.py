"""Whether a text to be remembered holds a secret. Notes are synced, indexed and quoted: a key has no place in them.

Nothing is verified over a network: the patterns alone decide. High-entropy guessing is left off, since commit ids and hashes are
things people do want to remember.
"""

from __future__ import annotations

import re
import threading

_DETECTORS = (
    "ArtifactoryDetector AWSKeyDetector AzureStorageKeyDetector BasicAuthDetector CloudantDetector DiscordBotTokenDetector"
    " GitHubTokenDetector GitLabTokenDetector IbmCloudIamDetector IbmCosHmacDetector JwtTokenDetector KeywordDetector MailchimpDetector"
    " NpmDetector OpenAIDetector PrivateKeyDetector PypiTokenDetector SendGridDetector SlackDetector SoftlayerDetector"
    " SquareOAuthDetector StripeDetector TelegramBotTokenDetector TwilioKeyDetector"
)
_VALUE = r"[\"'`]?(?=\S*\d)(?=\S*[A-Za-z])(?P<value>[^\s\"'`]{%d,})"
# How people say it: "my password is hunter2", "token: 3f786850…". A value has letters and digits.
_SAID = (
    (re.compile(r"\b(?:password|passwd|passphrase|passcode|pwd)\b\s*(?:is|was|=|:)\s*" + _VALUE % 5, re.IGNORECASE), "a password"),
    (re.compile(r"\b(?:secret|token|api[ _-]?key|access[ _-]?key)\b\s*(?:is|was|=|:)\s*" + _VALUE % 16, re.IGNORECASE), "a token or key"),
)
_SCANNER = threading.Lock()  # detect-secrets keeps its settings in a global


def secret_in(text: str) -> str | None:
    """What kind of secret `text` holds ("an AWS Access Key"), None if it holds none."""
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import transient_settings

    with _SCANNER, transient_settings({"plugins_used": [{"name": name} for name in _DETECTORS.split()]}):
        for line in text.splitlines():
            for found in scan_line(line):
                return _named(found.type)
    return next((kind for pattern, kind in _SAID if pattern.search(text)), None)


def _named(kind: str) -> str:
    return f"{'an' if kind[:1].upper() in 'AEIO' else 'a'} {kind}"
