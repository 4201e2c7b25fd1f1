"""Materialize a run as a Ray job: ``ray job submit --working-dir . -- python jobs/materialize.py CONFIG --run s3://bucket/run``.

Takes what ``llmpedia materialize`` takes; a job that was stopped resumes when it is submitted again.
"""

import sys

from llmpedia.cli import main

if __name__ == "__main__":
    sys.exit(main(["materialize", *sys.argv[1:]]))
