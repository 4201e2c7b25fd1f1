"""Walk and audit a grid as a Ray job: ``ray job submit --working-dir . -- python jobs/grid.py
CONFIG --out s3://bucket/grid``.

Takes what ``llmpedia grid`` takes. A job that was stopped, or lost its node, resumes when it is
submitted again; the last line of its log tells its exit code and why.
"""

import sys

from llmpedia.cli.main import job

if __name__ == "__main__":
    sys.exit(job("grid", *sys.argv[1:]))
