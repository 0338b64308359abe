#!/usr/bin/env python3
"""Trains in several processes: same bits for any number of them, stops, resumption, failures, other launchers.

  processes_test.py TANDEM      ends with the line "N passed, N failed"
"""
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import uuid

from checks import check, finish

tandem = os.path.abspath(sys.argv[1])
FOREIGN = re.compile(
    "^(RANK|WORLD_SIZE|LOCAL_|GROUP_|MASTER_|TORCHELASTIC_|TANDEM_NUM_THREADS|TANDEM_JOB_KEY|OMP_|OMPI_|PMI|SLURM_)")
MARK = uuid.uuid4().hex
# Without a GPU, which would serve one process only.
clean = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)} | {
    "PROCESSES_TEST_MARK": MARK, "CUDA_VISIBLE_DEVICES": ""}
if not shutil.which("ssh"):  # Open MPI insists on some program for other machines
    clean["OMPI_MCA_plm_rsh_agent"] = "sh"
OPTIONS = ["--model", "lenet", "--data", "data", "--batch-size", "50", "--recipe", "best", "--augment", "flip",
           "--epochs", "2", "--seed", "7", "--threads", "2"]


def write_data(folder, images=630):
    os.makedirs(folder)
    for part, n in (("train", images), ("t10k", 150)):
        for kind, sizes, content in (("images-idx3", (n, 28, 28), random.Random(1).randbytes(n * 784)),
                                     ("labels-idx1", (n,), bytes(i % 10 for i in range(n)))):
            with open(f"{folder}/{part}-{kind}-ubyte", "wb") as file:
                file.write(struct.pack(">HBB", 0, 8, len(sizes)) + struct.pack(f">{len(sizes)}I", *sizes) + content)


def marked():
    """The processes of this test, this one excluded."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if MARK.encode() in file.read() and int(name) != os.getpid():
                    found.append(int(name))
        except OSError:
            pass
    return found


def until(good, seconds=60):
    end = time.time() + seconds
    while not good():
        if time.time() > end:
            return False
        time.sleep(0.02)
    return True


def nothing_left(what):
    check(what + ": nothing is left", until(lambda: not marked()), marked())
    for pid in marked():
        os.kill(pid, signal.SIGKILL)


def run(*words, env={}, timeout=240):
    try:
        out = subprocess.run(words, env=clean | env, capture_output=True, text=True, timeout=timeout,
                             stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        out = subprocess.CompletedProcess(words, "timeout", "", "")
    nothing_left(" ".join(words[1:4]))
    return out


def train(*words, **more):
    return run(tandem, "train", *words, **more)


def result(folder):
    """Bytes of the model, and metrics without times."""
    try:
        with open(f"{folder}/model.safetensors", "rb") as file:
            model = file.read()
        with open(f"{folder}/metrics.jsonl") as file:
            lines = [json.loads(line) for line in file]
    except OSError as error:
        return str(error)
    other = ("seconds", "images_per_second", "processes", "chain", "within_epoch")
    return model, [{k: v for k, v in line.items() if k not in other} for line in lines]


def same(what, folder):
    mine, whole = result(folder), result("whole")
    check(what + ": the same model", len(mine) == 2 and mine[0] == whole[0], mine if isinstance(mine, str) else "")
    check(what + ": the same metrics", mine[1] == whole[1], (mine[1], whole[1]))


class Running:
    """A run that is to be disturbed. Its output goes to files, so that it never waits for this test."""

    def __init__(self, *words):
        self.files = [tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")]
        self.process = subprocess.Popen([tandem, "train", *words], env=clean, stdin=subprocess.DEVNULL,
                                        stdout=self.files[0], stderr=self.files[1])

    def steps(self, folder, least):
        """Waits until the run has saved a checkpoint after some steps."""
        def reached():
            try:
                with open(f"{folder}/checkpoint.safetensors", "rb") as file:
                    head = file.read(1 << 20)
            except OSError:
                return False
            found = re.search(rb'batch\\*":(\d+),\\*"images', head)
            return found is not None and int(found[1]) >= least
        return until(reached, 120)

    def ranks(self):
        found = {}
        for pid in marked():
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    rank = re.search(rb"\0RANK=(\d+)\0", b"\0" + file.read() + b"\0")
                if rank:
                    found[int(rank[1])] = pid
            except OSError:
                pass
        return found

    def ended(self, what):
        try:
            code = self.process.wait(120)
        except subprocess.TimeoutExpired:
            code = "timeout"
            self.process.kill()
            self.process.wait()
        nothing_left(what)
        for file in self.files:
            file.seek(0)
        return code, self.files[0].read(), self.files[1].read()


def test_same_bits():
    one = train(*OPTIONS, "--processes", "1", "--out", "whole")
    check("one process", one.returncode == 0 and one.stderr == "", one)
    for count in (2, 3):
        several = train(*OPTIONS, "--processes", str(count), "--out", f"several{count}")
        check(f"{count} processes", several.returncode == 0 and several.stderr == "", several)
        check("they are named", f"8 shards in {count} processes" in several.stdout, several.stdout)
        check("one output",
              len(several.stdout.splitlines()) == len(one.stdout.splitlines()) and "[" not in several.stdout,
              several.stdout)
        same(f"{count} processes", f"several{count}")


def test_stop_and_resume(how, more, count, then):
    folder = f"cut-{how.name}"
    going = Running(*OPTIONS, "--save-every", "0.001", "--processes", str(count), "--out", folder, *more)
    check(f"{how.name}: some steps", going.steps(folder, 3))
    going.process.send_signal(how)
    code, out, err = going.ended(how.name)
    if how == signal.SIGKILL:
        check("killed", code == -9, (code, out, err))
    else:
        check(f"{how.name}: exit code", code == 128 + how, (code, out, err))
        check(f"{how.name}: output", "stopped after" in out and err == "", (out, err))
    last = train("--resume", folder, "--processes", str(then), "--threads", "2")
    check(f"{how.name}: resumed", last.returncode == 0, last)
    same(f"{how.name}, {count} processes and then {then}", folder)


def test_killed_rank():
    options = list(OPTIONS)
    options[options.index("--epochs") + 1] = "100"
    going = Running(*options, "--save-every", "0.001", "--processes", "2", "--out", "killed")
    check("some steps", going.steps("killed", 2))
    ranks = going.ranks()
    check("two ranks", sorted(ranks) == [0, 1], ranks)
    os.kill(ranks[1], signal.SIGKILL)
    code, out, err = going.ended("a killed rank")
    check("a killed rank", code == 137 and "tandem train: rank 1 (pid" in err and "SIGKILL" in err, (code, out, err))


def test_launchers():
    words = [tandem, "train", *OPTIONS[:-2], "--threads", "1"]  # of each process
    it = run(tandem, "launch", "-n", "2", *words, "--out", "launched")
    check("tandem launch", it.returncode == 0 and "[0] epoch 2/2" in it.stdout and "[1]" not in it.stdout, it)
    same("tandem launch", "launched")
    if shutil.which("mpirun"):
        root = {"TERM": "dumb", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        it = run("mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none", *words, "--out", "mpi", env=root)
        check("mpirun", it.returncode == 0 and it.stdout.count("epoch 2/2") == 1, it)
        same("mpirun", "mpi")


def test_compare():
    it = run(tandem, "compare", "--data", "data", "--batch-size", "50", "--epochs", "2", "--images", "300",
             "--devices", "cpu:0,cpu:1", "--processes", "1", "--processes", "2", "--out", "compared")
    check("compare", it.returncode == 0 and it.stderr == "" and "have the same bits everywhere" in it.stdout, it)
    check("each line once", it.stdout.count("2 processes  epoch 2/2") == 1, it.stdout)
    try:
        with open("compared/compare.json") as file:
            runs = json.load(file)["runs"]
    except OSError as error:
        return check("compare.json", False, error)
    check("runs", [(r["processes"], len(r["devices"]), len(r["seconds"])) for r in runs] ==
          [(1, 2, 2), (1, 1, 2), (2, 1, 2)], runs)
    check("one sum", len({r["parameters_sha256"] for r in runs}) == 1 and len(runs[0]["parameters_sha256"]) == 64, runs)
    for words, part in ((["0"], "--processes 0"), (["2"], "got only one"), (["2", "2"], "given twice")):
        counts = [w for word in words for w in ("--processes", word)]
        it = run(tandem, "compare", "--data", "data", *counts)
        check(f"compare {counts}", it.returncode == 2 and it.stderr.count("\n") == 1 and part in it.stderr, it)


def test_devices():
    it = run(tandem, "devices")
    check("backends", it.returncode == 0 and all(name in it.stdout for name in ("gloo", "mpi", "nccl")), it)


def test_errors():
    def refused(what, *parts, **more):
        it = train(*what, **more)
        good = it.returncode == 2 and it.stderr.count("\n") == 1 and all(p in it.stderr for p in parts)
        check(" ".join(what), good and "rank" not in it.stdout, it)
    refused(["--processes", "0"], "--processes 0", "from 1 to")
    refused(["--processes", "two"], "--processes two")
    refused(["--proceses", "2"], "--processes")
    refused(["--processes", "2", "--model", "lenett"], "lenet")
    refused(["--processes", "2", "--data", "data", "--batch-size", "1"], "too small for 2 processes")
    refused(["--processes", "2", "--data", "data", "--shards", "1"], "--shards 1: too few")
    refused(["--processes", "2", "--data", "odd", "--batch-size", "50"], "the last batch of 51 images has only 1")
    refused(["--processes", "2", "--resume", "nowhere"], "nowhere")
    refused(["--processes", "2", "--data", "data", "--out", "whole"], "already contains a run")
    refused(["--processes", "2"], "rank 1 of 4",
            env={"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"})


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        write_data("data")
        write_data("odd", 51)
        test_same_bits()
        test_stop_and_resume(signal.SIGTERM, [], 2, 3)
        test_stop_and_resume(signal.SIGKILL, [], 3, 1)
        test_killed_rank()
        test_launchers()
        test_compare()
        test_devices()
        test_errors()
    sys.exit(finish())


main()
