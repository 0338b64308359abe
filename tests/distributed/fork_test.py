#!/usr/bin/env python3
"""Processes of a group fork: their children are refused with an error, and the group goes on.

    fork_test.py WORKER     ends with the line "N passed, N failed"
"""
import os
import sys

from jobs import Job, check, finish

with Job(3, [os.path.abspath(sys.argv[1])]) as job:
    for rank, (code, _, error) in job.results(60).items():
        check(f"rank {rank} ends with 0: {code} {error}", code == 0 and error == "")
sys.exit(finish())
