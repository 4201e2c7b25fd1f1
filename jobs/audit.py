"""Audit a run as a Ray job: ``ray job submit --working-dir . -- python jobs/audit.py s3://bucket/run --config CONFIG``.

Takes what ``llmpedia audit`` takes; a job that was stopped resumes when it is submitted again.
"""

import sys

from llmpedia.cli import main

if __name__ == "__main__":
    sys.exit(main(["audit", "run", *sys.argv[1:]]))
