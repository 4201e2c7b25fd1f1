"""Audit a run as a Ray job: ``ray job submit --working-dir . -- python jobs/audit.py
s3://bucket/run --config CONFIG``.

Takes what ``llmpedia audit`` takes. A job that was stopped, or lost its node, resumes when it is
submitted again; the last line of its log tells its exit code and why.
"""

import sys

from llmpedia.cli.main import job

if __name__ == "__main__":
    sys.exit(job("audit", "run", *sys.argv[1:]))
