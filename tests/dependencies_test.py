#!/usr/bin/env python3
"""Checks that the recorded dependencies of an object of the library include the headers of a precompiled header.

  dependencies_test.py OBJECT HEADER

ccache's depend mode, which ./run turns on, knows only these: it would return an object compiled with an older HEADER.
"""
import glob
import subprocess
import sys

objects = glob.glob(f"libtandem.so*.p/{sys.argv[1]}")
listed = subprocess.run(["ninja", "-t", "deps", *objects], capture_output=True,
                        text=True).stdout if objects else "(no such object)"
found = sys.argv[2] in listed
print(f"{sys.argv[1]} depends on {sys.argv[2]}" if found else f"FAILED: {sys.argv[2]} is missing in:\n{listed}")
print(f"{int(found)} passed, {int(not found)} failed")
sys.exit(not found)
