#!/usr/bin/env python3
"""Checks that the recorded dependencies of an object include the headers of a precompiled header.

  dependencies_test.py OBJECT HEADER

ccache's depend mode, which ./run turns on, knows only these: it would return an object compiled with an older HEADER.
"""
import subprocess
import sys

listed = subprocess.run(["ninja", "-t", "deps", sys.argv[1]], capture_output=True, text=True).stdout
found = sys.argv[2] in listed
print(f"{sys.argv[1]} depends on {sys.argv[2]}" if found else f"FAILED: {sys.argv[2]} is missing in:\n{listed}")
print(f"{int(found)} passed, {int(not found)} failed")
sys.exit(not found)
