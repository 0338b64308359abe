#!/usr/bin/env python3
"""Measures training in several processes and prints tables.

    measure.py BUILD [--python PYTHON] [--turns N] [--once] WHAT ...

WHAT: lenet, epoch, all_reduce, same_bits, memory, fully_sharded, calls; as root, in network namespaces: bytes, overlap.
BUILD is Tandem's build folder. PYTHON is an interpreter with PyTorch, for the comparison; without it PyTorch's columns
are missing. The ways alternate, `turns` times each; tables show the medians over the turns of rank 0's medians, and the
best turn. With --once no run waits for other programs, or is repeated because of them.
"""
import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import jobs
import links
from jobs import best, run, turns, typical


MIB = 1 << 20


class Bench:
    def __init__(self, arguments):
        self.worker = arguments.build.resolve() / "bench/bench_distributed"
        self.tool = arguments.build.resolve() / "cli/tandem"
        self.python, self.turns = arguments.python, arguments.turns
        self.torch = [arguments.python, jobs.HERE / "torch_worker.py"]

    def train(self, size, **options):
        return run([self.worker, "train", *(f"{k}={v}" for k, v in options.items())], size)

    def table(self, head, results, scale=1e3, unit="ms"):
        print(f"\n{head} ({jobs.load()})\n\n| | median | best |\n|---|---|---|")
        for name, r in results.items():
            print(f"| {name} | {typical(r) * scale:.3f} {unit} | {best(r) * scale:.3f} {unit} |", flush=True)

    def ratio(self, what, a, b, goal):
        """Of the medians and of the best turns: a's time over b's."""
        print(f"\n{what}: {typical(a) / typical(b):.3f} ({best(a) / best(b):.3f} by the best turns), goal {goal}",
              flush=True)

    def lenet(self):
        images = subprocess.check_output([self.worker, "data"], text=True).strip()
        common = {"steps": 100, "warm": 10}
        ways = {"DistributedDataParallel, 2 processes": lambda: self.train(2, way="ddp", **common),
                "ParameterServer, shards=8, 2 processes": lambda: self.train(2, way="server", shards=8, **common),
                "ParameterServer, shards=0, 2 processes": lambda: self.train(2, way="server", **common),
                "ParameterServer, 2 devices, 1 process": lambda: self.train(1, way="devices", **common),
                "ParameterServer, 2 devices, 1 process, shards=8":
                    lambda: self.train(1, way="devices", shards=8, **common),
                "1 process, 1 thread": lambda: self.train(1, way="local", **common)}
        if self.python:
            command = [*self.torch, "train", f"images={images}", *(f"{k}={v}" for k, v in common.items())]
            ways["PyTorch, 2 processes"] = lambda: run(command, 2, GLOO_SOCKET_IFNAME="lo")
        r = turns(self.turns, ways)
        self.table("LeNet, Fashion-MNIST, batch 256: time per step", r)
        ddp, server = r["DistributedDataParallel, 2 processes"], r["ParameterServer, shards=8, 2 processes"]
        print(f"\nimages/s: {256 / typical(ddp):.0f}, {256 / typical(server):.0f}")
        if self.python:
            self.ratio("DistributedDataParallel against PyTorch", r["PyTorch, 2 processes"], ddp, ">= 2.8")
            self.ratio("ParameterServer (shards=8) against PyTorch", r["PyTorch, 2 processes"], server, ">= 3.0")
        one = r["ParameterServer, 2 devices, 1 process"]
        self.ratio("DistributedDataParallel against 2 devices", one, ddp, ">= 0.95")
        self.ratio("ParameterServer (shards=0) against 2 devices", one, r["ParameterServer, shards=0, 2 processes"],
                   ">= 0.95")
        self.ratio("ParameterServer (shards=8) against 2 devices, shards=8",
                   r["ParameterServer, 2 devices, 1 process, shards=8"], server, ">= 0.92")

    def epoch(self):
        """The tool, from its start to its end."""
        def seconds(*command):
            with tempfile.TemporaryDirectory() as folder:
                begin = time.monotonic()
                subprocess.run([*command, "--epochs", "1", "--out", f"{folder}/run"], check=True,
                               stdout=subprocess.DEVNULL)
                return [{"median": time.monotonic() - begin}]
        r = turns(self.turns, {
            "1 process, 2 threads": lambda: seconds(self.tool, "train", "--threads", "2"),
            "tandem launch -n 2": lambda: seconds(self.tool, "launch", "-n", "2", self.tool, "train")})
        self.table("tandem train, one epoch of LeNet, batch 64", r, 1, "s")
        self.ratio("tandem launch -n 2 / 1 process", r["tandem launch -n 2"], r["1 process, 2 threads"], "<= 1.10")

    def all_reduce(self):
        for size in (2, 4):
            for bytes_, repeats in ((516_272, 400), (25 << 20, 20)):
                options = ["all_reduce", f"bytes={bytes_}", f"repeats={repeats}"]
                ways = {"Gloo": lambda: run([self.worker, *options], size),
                        "Gloo, over TCP": lambda: run([self.worker, *options], size, TANDEM_SHARED_MEMORY="0"),
                        "MPI": lambda: jobs.run_mpi([self.worker, *options], size)}
                if self.python:
                    ways["PyTorch's Gloo"] = lambda: run([*self.torch, *options], size, GLOO_SOCKET_IFNAME="lo")
                r = turns(self.turns, ways)
                self.table(f"all_reduce of {bytes_ / 1e6:.3g} MB, {size} processes", r)
                if self.python:
                    self.ratio("PyTorch's Gloo / Gloo", r["PyTorch's Gloo"], r["Gloo"], ">= 1.0")

    def same_bits(self):
        for model, batch, steps in (("lenet", 256, 60), ("mlp", 256, 12)):
            common = {"model": model, "batch": batch, "steps": steps, "warm": 3}
            r = turns(self.turns, {"all_reduce (shards=0)": lambda: self.train(4, way="server", **common),
                                   "the same bits (shards=8)": lambda: self.train(4, way="server", shards=8, **common)})
            self.table(f"ParameterServer, {model}, batch {batch}, 4 processes: time per step", r)
            self.ratio("shards=8 / shards=0", r["the same bits (shards=8)"], r["all_reduce (shards=0)"], "<= 1.10")

    def memory(self):
        bucket = 4 << 20
        common = {"model": "mlp", "batch": 64, "steps": 5, "warm": 3, "bucket": bucket, "first": 1 << 20}
        base = self.train(1, way="local", **{**common, "batch": 32})
        print(f"\nPeak of tensor memory beyond that of one process without communication, in buckets of 4 MiB "
              f"(MLP of 25 MB, 2 processes; {jobs.load()})\n\n| | first steps | later |\n|---|---|---|")
        for name, base_way, options in (("DistributedDataParallel", base, {"way": "ddp"}),
                                        ("ParameterServer, shards=0", None, {"way": "server"}),
                                        ("ParameterServer, shards=2", None, {"way": "server", "shards": 2})):
            ours = self.train(2, **common, **options)
            alone = base_way or self.train(1, **{**common, "batch": 32}, way="devices", devices=1)
            extra = [max(rank[k] for rank in ours) - alone[0][k] for k in ("first_peak", "peak")]
            print(f"| {name} | {extra[0] / bucket:.2f} | {extra[1] / bucket:.2f} |", flush=True)

    def fully_sharded(self):
        """Samples per process stay the same, so four processes take twice as long on two cores as two."""
        for name, model, samples, steps in (
                ("GPT-2 of 4 layers, width 256, 8 x 128 tokens",
                 {"layers": 4, "width": 256, "heads": 4, "vocabulary": 4096, "tokens": 128}, 8, 20),
                ("GPT-2 124M, 1 x 256 tokens", {"tokens": 256}, 1, 3)):
            common = {"model": "gpt2", "warm": 4, **model}  # the memory settles in the third step
            alone = self.train(1, way="pass", batch=samples, steps=1, **common)[0]
            for size in (2, 4):
                options = {**common, "batch": samples * size, "steps": steps}
                r = turns(self.turns if size == 2 else 1, {
                    "DistributedDataParallel": lambda: self.train(size, way="ddp", **options),
                    "FullyShardedDataParallel": lambda: self.train(size, way="fully_sharded", **options),
                    "the same, reshard_after_forward = false":
                        lambda: self.train(size, way="fully_sharded", reshard=0, **options)})
                self.sharded_table(f"{name} per process, float32, Adam, P = {size}", r)
                ours = r["FullyShardedDataParallel"]
                if size == 2:
                    self.ratio("FullyShardedDataParallel / DistributedDataParallel", ours,
                               r["DistributedDataParallel"], "<= 1.15")
                bound = [16 * alone["parameters"] / size, 4 * ours[0][0]["largest_unit"],
                         alone["peak"] - 4 * alone["parameters"]]
                peak = max(rank["peak"] for run in ours for rank in run)
                print(f"\nFullyShardedDataParallel at the peak: {peak / MIB:.0f} MiB, goal <= 16 x "
                      f"{alone['parameters']:,} bytes / {size} + the largest unit + activations = " +
                      " + ".join(f"{each / MIB:.0f}" for each in bound) + f" = {sum(bound) / MIB:.0f} MiB", flush=True)

    def sharded_table(self, head, r):
        """Ratios are those to the first way; of memory, the rank that takes most."""
        print(f"\n{head} ({jobs.load()})\n\n| | time per step | ratio | processor time | tensors at the peak | ratio | "
              "resident |\n|---|---|---|---|---|---|---|")
        first = next(iter(r.values()))
        for way, of in r.items():
            peak, least, resident = (max(rank[key] for run in runs for rank in run)
                                     for runs, key in ((of, "peak"), (first, "peak"), (of, "resident")))
            print(f"| {way} | {typical(of) * 1e3:.0f} ({best(of) * 1e3:.0f}) ms | "
                  f"{typical(of) / typical(first):.2f} ({best(of) / best(first):.2f}) | "
                  f"{typical(of, 'processor') * 1e3:.0f} ms | {peak / MIB:.0f} MiB | {peak / least:.2f} | "
                  f"{resident / MIB:.0f} MiB |", flush=True)

    def calls(self):
        cost = run([self.worker, "calls"], 1)[0]["nanoseconds"]
        step = typical(turns(self.turns, {"step": lambda: self.train(2, way="ddp", steps=60)})["step"])
        print(f"\nWatchdog, comparison of calls and their list: {cost:.0f} ns per call; a step of LeNet on 2 processes "
              f"with one call takes {step * 1e3:.2f} ms: {cost * 1e-9 / step:.5%}, goal <= 1 % ({jobs.load()})",
              flush=True)

    def bytes(self):
        size_of_model = 24 * (512 * 512 + 512) * 4
        ddp, same = {"way": "ddp"}, {"way": "server", "shards": 8}
        print(f"\nBytes that leave a rank's interface per step, average of the ranks (largest), MLP of "
              f"{size_of_model / 1e6:.1f} MB\n\n| P | packets of | | formula | sent / formula | without headers / "
              f"formula |\n|---|---|---|---|---|---|")
        for size, mtu, what, options in ((2, 9000, "all_reduce", ddp), (4, 9000, "all_reduce", ddp),
                                         (2, 9000, "shards=8", same),
                                         (4, 9000, "shards=8", same), (3, 9000, "shards=8", same),
                                         (2, 1500, "all_reduce", ddp),
                                         (4, 1500, "all_reduce", ddp), (3, 1500, "shards=8", same)):
            with links.Network(size, mtu=mtu) as network:
                out = network.run([self.worker, "train", "model=mlp", f"batch={size * 32}", "steps=8", "warm=3",
                                   f"interface={links.INTERFACE}", *(f"{k}={v}" for k, v in options.items())])
            formula = 2 * (size - 1) / size * size_of_model
            sent = [r["sent"] / formula for r in out]
            bare = [(r["sent"] - links.HEADERS * r["packets"]) / formula for r in out]
            print(f"| {size} | {mtu} | {what} | {formula / 1e6:.2f} MB | {sum(sent) / size:.3f} ({max(sent):.3f}) | "
                  f"{sum(bare) / size:.4f} ({max(bare):.4f}) |", flush=True)

    def overlap(self):
        """Rates are given so that communication takes about as long as backward."""
        print("\n| rate, bucket, first | step | compute | communication | hidden |\n|---|---|---|---|---|")
        for mbit, bucket, first in ((1000, 0, 1 << 20), (1000, 1 << 20, 1 << 20), (1000, 25 << 20, 1 << 20)):
            options = ["model=mlp", "batch=1536", "steps=8", "warm=2",
                       f"first={first}"] + ([f"bucket={bucket}"] if bucket else [])
            with links.Network(2, mbit) as network:
                r = turns(self.turns, {way: lambda way=way: network.run([self.worker, "train", f"way={way}", *options])
                                       for way in ("ddp", "local", "comm")})
            step, compute, comm = (typical(r[way]) for way in ("ddp", "local", "comm"))
            print(
                f"| {mbit} Mbit/s, {bucket or 'default'}, {first} | {step * 1e3:.1f} ms | {compute * 1e3:.1f} ms | "
                f"{comm * 1e3:.1f} ms | "
                  f"{1 - (step - compute) / comm:.1%} |", flush=True)
        print(f"\n({jobs.load()})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--python", help="interpreter with PyTorch")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("what", nargs="+", choices=["lenet", "epoch", "all_reduce", "same_bits", "memory",
                                                    "fully_sharded", "calls", "bytes", "overlap"])
    arguments = parser.parse_args()
    if arguments.once:
        jobs.TRIES, jobs.PATIENCE = 1, 0
    # so that processes and networks end, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("measure.py: terminated"))
    bench = Bench(arguments)
    for what in arguments.what:
        getattr(bench, what)()


if __name__ == "__main__":
    main()
