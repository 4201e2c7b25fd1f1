"""``python -m llmpedia.cli``: the ``llmpedia`` command."""

import sys

from llmpedia.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
