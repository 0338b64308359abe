#!/usr/bin/env python3
"""Several processes share a FileStore and a TCPStore, and some of them are killed.

    store_processes_test.py STORE_CLIENT [--kills N] [--seed S]     ends with the line "N passed, N failed"

Whatever is killed, the file must stay readable, every key must have a whole value, and sums must count each addition of
the processes that were not killed.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("client")
parser.add_argument("--kills", type=int, default=12)
parser.add_argument("--seed", type=int, default=random.randrange(10**6))
args = parser.parse_args()
client = os.path.abspath(args.client)
LIMIT = 60
passed = failed = 0
started = []


def check(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED:", what)


def start(*arguments, **options):
    process = subprocess.Popen([client, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, **options)
    started.append(process)
    return process


def end_of(process):
    """Exit code, output and errors."""
    try:
        out, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        errors += f"no end within {LIMIT} s"
    return process.returncode, out, errors


def all_succeed(what, processes):
    for process in processes:
        code, _, errors = end_of(process)
        check(f"{what}: exit code {code}: {errors}", code == 0)


def test_meeting(store):
    all_succeed("ranks meet", [start(*store, "meet", rank, 8) for rank in range(8)])


def test_sum(store):
    all_succeed("add", [start(*store, "add", "sum", 200) for _ in range(6)])
    code, _, errors = end_of(start(*store, "add", "sum", 0))
    check(f"add: {errors}", code == 0)


def sum_in(path):
    """The last value of the key "sum" in the log of a FileStore."""
    with open(path, "rb") as file:
        content = file.read()
    at = content.rfind(b"\x01\x03\x00sum") + 6
    end = at
    while content[end:end + 1].isdigit() and end - at < int.from_bytes(content[at - 14:at - 10], "little") - 6:
        end += 1
    return int(content[at:end])


def test_kills(store, path):
    """Kills writers in the middle of their work, as many as --kills."""
    cut = 0
    for i in range(args.kills):
        writers = [start(*store, "write", f"writer{j}", 10**7) for j in range(2)]
        for writer in writers:
            # A slow machine may take longer to start a program than the sleep below.
            check("a writer starts", writer.stdout.readline() == "writing\n")
        adder = start(*store, "add", f"counted{i}", 50)
        time.sleep(0.02 + random.random() * 0.1)
        for writer in writers:
            writer.kill()
            check("a writer ended before it was killed: " + end_of(writer)[2], writer.returncode == -9)
        size = os.path.getsize(path) if path else 0
        code, _, errors = end_of(adder)
        check(f"add next to killed writers: {errors}", code == 0)
        for j in range(2):
            code, out, errors = end_of(start(*store, "check", f"writer{j}"))
            check(f"the values after a kill: {errors}", code == 0)
        cut += bool(path) and os.path.getsize(path) < size
    code, out, errors = end_of(start(*store, "check", "writer0"))
    check(f"keys were written: {out}{errors}", out == "50 keys\n")
    print(f"{args.kills} kills; the file became shorter after {cut}")


def test_killed_server(work):
    server = start("serve", work + "/port2", stdin=subprocess.PIPE)
    port = port_in(work + "/port2")
    waiting = start("tcp", "127.0.0.1", port, "meet", 0, 2)
    time.sleep(0.3)
    server.kill()
    code, _, errors = end_of(waiting)
    check(f"a client without its server: {code} {errors}", code == 1 and f"127.0.0.1:{port}" in errors)


def port_in(path):
    until = time.time() + LIMIT
    while not os.path.exists(path) and time.time() < until:
        time.sleep(0.01)
    with open(path) as file:
        return int(file.read())


def main():
    random.seed(args.seed)
    print("random seed:", args.seed)
    with tempfile.TemporaryDirectory() as work:
        file = ["file", work + "/store"]
        test_meeting(file)
        test_sum(file)
        check("the sum in the file", sum_in(file[1]) == 1200)
        test_kills(["file", work + "/killed"], work + "/killed")
        server = start("serve", work + "/port", stdin=subprocess.PIPE)
        tcp = ["tcp", "127.0.0.1", port_in(work + "/port")]
        test_meeting(tcp)
        test_sum(tcp)
        test_kills(tcp, None)
        server.stdin.close()
        check("the server ends", server.wait(timeout=LIMIT) == 0)
        test_killed_server(work)


try:
    main()
finally:
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
