"""Build a benchmark as a Ray job: ``ray job submit --working-dir . -- python jobs/probe_build.py
--config C --run s3://bucket/build``.

Takes what ``llmpedia probe build`` takes. A job that was stopped, or lost its node, resumes when it
is submitted again; the last line of its log tells its exit code and why.
"""

import sys

from llmpedia.cli.main import job

if __name__ == "__main__":
    sys.exit(job("probe", "build", *sys.argv[1:]))
