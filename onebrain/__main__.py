"""The program. A running daemon is asked first, before anything heavy is imported; without one the command runs here."""

from __future__ import annotations

import sys


def main() -> int:
    """Exit code of the command line; 130 where it was interrupted, also while parts of us were still being imported."""
    try:
        from onebrain.daemon import client

        code = client.forward(sys.argv[1:])
        if code is None:
            from onebrain.cli import direct

            code = direct.main(sys.argv[1:])
        return code
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
