"""Materialize a run as a Ray job: ``ray job submit --working-dir . -- python jobs/materialize.py
--config C --run s3://bucket/run``.

Takes what ``llmpedia materialize`` takes. A job that was stopped, or lost its node, resumes when it
is submitted again; the last line of its log tells its exit code and why.
"""

import sys

from llmpedia.cli.main import job

if __name__ == "__main__":
    sys.exit(job("materialize", *sys.argv[1:]))
