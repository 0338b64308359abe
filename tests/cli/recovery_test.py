#!/usr/bin/env python3
"""Kills ranks, launchers and whole jobs at random moments: `tandem launch --max-restarts`, and resumption by fewer.

  recovery_test.py TANDEM [--count N] [--seed S]      ends with the line "N passed, N failed"

Each of N jobs must end with the bits of a run that nothing disturbed, also if it is fully sharded. Those of fully
sharded runs without --shards depend on the number of processes, so they are compared from its last change on.
--count 200 is the long form.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from checks import check, finish
from idx_files import write_data

parser = argparse.ArgumentParser()
parser.add_argument("tandem")
parser.add_argument("--count", type=int, default=8)
parser.add_argument("--seed", type=int, default=random.randrange(10**6))
args = parser.parse_args()
tandem = os.path.abspath(args.tandem)
FOREIGN = re.compile("^(RANK|WORLD_SIZE|LOCAL_|GROUP_|MASTER_|TORCHELASTIC_|TANDEM_|OMP_|OMPI_|PMI|SLURM_)")
MARK = uuid.uuid4().hex
# Without a GPU, which would serve one process only.
clean = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)} | {
    "RECOVERY_TEST_MARK": MARK, "CUDA_VISIBLE_DEVICES": ""}
TRAIN = [tandem, "train", "--model", "mlp", "--data", "data", "--batch-size", "50", "--recipe", "best", "--epochs", "3",
         "--seed", "7", "--shards", "8", "--threads", "1", "--save-every", "0.001"]
SHARDED = [word for word in TRAIN if word not in ("--shards", "8")] + ["--fully-sharded"]
RESUME = [*TRAIN[:2], *TRAIN[-4:], "--resume"]
SIGNALS = [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM]


def ranks():
    """The running ranks: their process numbers."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            if f"RECOVERY_TEST_MARK={MARK}".encode() in variables and any(v.startswith(b"RANK=") for v in variables):
                found.append(int(name))
        except OSError:  # it has ended
            pass
    return found


def send(pid, how):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


def model(folder):
    """Type, shape and bytes of each tensor; a fully sharded run has several files."""
    found = {}
    for path in glob.glob(f"{folder}/model*.safetensors"):
        with open(path, "rb") as file:
            head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            data = file.read()
        for name, entry in head.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                found[name] = entry["dtype"], entry["shape"], data[begin:end]
    return found


def metrics(folder):
    """Without what depends on the time and the number of processes."""
    with open(f"{folder}/metrics.jsonl") as file:
        lines = [json.loads(line) for line in file]
    return [{key: value for key, value in line.items()
             if key not in ("seconds", "images_per_second", "processes", "chain", "within_epoch")} for line in lines]


def disturbed(draw, whole, words, kills):
    """Runs a job, killing `kills` of its ranks one after the other. Returns its exit code and output."""
    job = subprocess.Popen(words, env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           start_new_session=True)
    for _ in range(kills):
        time.sleep(draw.uniform(0.05, whole))
        alive = ranks()
        if job.poll() is None and alive:
            send(draw.choice(alive), draw.choice(SIGNALS))
    try:
        said, _ = job.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        said, _ = job.communicate()
        said = "HANGS: " + said
    return job.returncode, said


def restarted(number, draw, whole, size, *words):
    """A job that starts killed ranks again. Returns how often it has."""
    kills = draw.randint(1, 4)
    words = [tandem, "launch", "-n", str(size), "--max-restarts", str(kills), *words]
    code, said = disturbed(draw, whole, words, kills)
    check(f"job {number}: {size} ranks, {kills} kills: exit code", code == 0, said[-2000:])
    return said.count("starting the ranks again")


def test_restarts(number, draw, whole, train):
    return restarted(number, draw, whole, draw.randint(1, 4), *train, "--out", "cut")


def lose(number, job):
    """Ends a machine: the launcher and all ranks."""
    for pid in (job.pid, *ranks()):
        send(pid, signal.SIGKILL)
    job.communicate(timeout=240)
    until = time.time() + 60
    while ranks() and time.time() < until:
        time.sleep(0.01)
    check(f"job {number}: no rank is left", not ranks())


def test_sharded(number, draw, whole):
    """A machine is lost; another number of processes goes on, some of which are killed and started again."""
    first, size = draw.sample(range(1, 5), 2)
    job = subprocess.Popen([tandem, "launch", "-n", str(first), *SHARDED, "--out", "cut"], env=clean,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.time() + 60
    while not os.path.exists("cut/checkpoint.safetensors") and time.time() < until:
        time.sleep(0.01)
    time.sleep(draw.uniform(0, whole))
    lose(number, job)
    shutil.copytree("cut", "reference")
    it = subprocess.run([tandem, "launch", "-n", str(size), *RESUME, "reference"], env=clean, capture_output=True,
                        text=True, timeout=240)
    check(f"job {number}: {first} processes, then {size}: exit code", it.returncode == 0, it)
    return restarted(number, draw, whole, size, *RESUME, "cut")


def test_sharded_restarts(number, draw, whole):
    size = draw.randint(1, 4)
    it = subprocess.run([tandem, "launch", "-n", str(size), *SHARDED, "--out", "reference"], env=clean,
                        capture_output=True, text=True, timeout=240)
    check(f"job {number}: fully sharded: exit code", it.returncode == 0, it)
    return restarted(number, draw, whole, size, *SHARDED, "--out", "cut")


def test_fewer(number, draw, whole, train):
    """A machine is lost, with the launcher and all ranks; fewer processes go on, then others."""
    sizes = sorted(draw.sample(range(1, 6), draw.randint(2, 3)), reverse=True)
    lost = 0
    for place, size in enumerate(sizes):
        last = place == len(sizes) - 1
        begun = os.path.exists("cut/checkpoint.safetensors")
        job = subprocess.Popen([tandem, "launch", "-n", str(size), *(RESUME if begun else [*train, "--out"]), "cut"],
                               env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not last:
            time.sleep(draw.uniform(0.05, whole))
            lost += job.poll() is None
            lose(number, job)
        else:
            said, _ = job.communicate(timeout=240)
            check(f"job {number}: {sizes} processes: exit code", job.returncode == 0, said[-2000:])
    return lost


def launched(*words):
    return subprocess.run([tandem, "launch", "--max-restarts", "1", *words], env=clean, capture_output=True,
                          text=True, timeout=240)


def test_other_runs():
    """A restarted job continues what its own command has begun, and nothing else."""
    before = model("whole"), os.stat("whole/checkpoint.safetensors").st_mtime_ns
    it = launched(*[word for word in TRAIN if word not in ("--seed", "7")], "--out", "whole")
    check("another run", it.returncode == 2 and "--out whole: already contains a run; continue" in it.stderr and
          "--out whole: contains a run that was started with other options" in it.stderr, it)
    check("it is left alone", (model("whole"), os.stat("whole/checkpoint.safetensors").st_mtime_ns) == before)
    os.mkdir("begun")
    open("begun/tokenizer.json", "w").close()
    it = launched(*TRAIN, "--out", "begun")
    check("files of others", it.returncode == 2 and "contains tokenizer.json" in it.stderr, it)
    open("begun/.lock", "w").close()
    check("a run that was killed while it began", launched(*TRAIN, "--out", "begun").returncode == 0)


def main():
    print("random seed of the moments:", args.seed)
    draw = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        write_data("data", 2000)
        began = time.time()
        first = subprocess.run([tandem, "launch", "-n", "2", *TRAIN, "--out", "whole"], env=clean, capture_output=True,
                               text=True)
        whole = time.time() - began
        check("the undisturbed run", first.returncode == 0, first)
        test_other_runs()
        restarts = lost = 0
        for number in range(args.count):
            reference = "whole"
            train = [*TRAIN, *draw.choice([[], ["--fully-sharded"]])]
            if number % 4 == 3:
                lost += test_fewer(number, draw, whole, train)
            elif number % 4 == 1:
                reference = "reference"
                restarts += (test_sharded if number % 8 == 1 else test_sharded_restarts)(number, draw, whole)
            else:
                restarts += test_restarts(number, draw, whole, train)
            check(f"job {number}: the bits of the undisturbed run", model("cut") == model(reference))
            check(f"job {number}: its metrics", metrics("cut") == metrics(reference),
                  (metrics("cut"), metrics(reference)))
            check(f"job {number}: temporary files", not [n for n in os.listdir("cut") if n.startswith(".")],
                  os.listdir("cut"))
            shutil.rmtree("cut")
            shutil.rmtree("reference", ignore_errors=True)
        print(f"{args.count} jobs: {restarts} restarts, {lost} jobs lost and continued by fewer processes")
        check("some were disturbed", restarts > 0)
        os.chdir("/")


main()
sys.exit(finish())
