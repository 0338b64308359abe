#!/usr/bin/env python3
"""Measures the figures for which Tandem has goals and prints them as a table.

    table.py SOURCE BUILD           print the table
    table.py SOURCE BUILD NAME ...  run one benchmark program, bench_NAME, with its own options
"""
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

REPEATS = 3


def benchmarks(program, names):
    """Medians of the real time in ns and the counters, by name."""
    out = subprocess.run([program, f"--benchmark_filter=^({'|'.join(names)})$", "--benchmark_format=json",
                          f"--benchmark_repetitions={REPEATS}"], check=True, capture_output=True, text=True).stdout
    unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    found = {}
    for run in json.loads(out)["benchmarks"]:
        if run.get("aggregate_name") == "median":
            found[run["run_name"]] = {**run, "ns": run["real_time"] * unit[run["time_unit"]]}
    return found


def epoch(tool, threads):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([tool, "train", "--recipe", "source", "--epochs", "1", "--threads", str(threads),
                              "--devices", "cpu:0", "--out", folder + "/run"], capture_output=True, text=True)
        if run.returncode != 0:
            return None, (run.stderr.strip().splitlines() or ["failed"])[-1]
        return json.loads((pathlib.Path(folder) / "run/metrics.jsonl").read_text().splitlines()[0])["seconds"], ""


def compile_example(source, build):
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", f"-I{build}/include", "-c",
               f"{source}/examples/lenet_modules.cpp", "-o", os.devnull]
    began = time.monotonic()
    subprocess.run(command, check=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    return time.monotonic() - began


def stripped(library):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["strip", "-o", folder + "/lib", library], check=True)
        return os.path.getsize(folder + "/lib")


def processor():
    try:
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def main():
    source, build = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    if len(sys.argv) > 3:
        program = build / "bench" / ("bench_" + sys.argv[3])
        if not program.exists():
            known = " ".join(sorted(p.name[6:] for p in (build / "bench").glob("bench_*") if p.is_file()))
            sys.exit(f'run: no benchmark program is named "{sys.argv[3]}"; available programs: {known}')
        os.execv(program, [str(program), *sys.argv[4:]])

    print(f"{processor()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}; medians of {REPEATS} runs, epochs "
          f"measured once.\n")
    print(f"| {'what':44} | {'goal':>7} | {'measured':>14} |\n|{'-' * 46}|{'-' * 9}|{'-' * 16}|", flush=True)

    def row(what, goal, value, unit, note=""):
        text = note or f"{value:.3g} {unit}" + ("" if goal is None or value <= goal else " MISSED")
        wanted = "" if goal is None else f"{goal:g} {unit}"
        print(f"| {what:44} | {wanted:>7} | {text:>14} |", flush=True)

    for threads, goal in ((1, 12), (2, 6.5)):
        seconds, why = epoch(build / "cli/tandem", threads)
        row(f"epoch of LeNet, {threads} thread{'s' * (threads > 1)}", goal, seconds, "s", why)
    small = benchmarks(build / "bench/bench_small", ["add", "add_recorded", "chain"])
    row("add of eight floats", 0.25, small["add"]["ns"] / 1e3, "us")
    row("the same, recorded by autograd", 0.45, small["add_recorded"]["ns"] / 1e3, "us")
    row("20 multiplications, forward and backward", 30, small["chain"]["ns"] / 1e3, "us")
    row("compile the LeNet example at -O2", 4,
        statistics.median(compile_example(source, build) for _ in range(REPEATS)), "s")
    row("stripped library", 7, stripped((build / "libtandem.so").resolve()) / 1e6, "MB")
    data = benchmarks(build / "bench/bench_data", ["read_images"]).get("read_images")
    row("60,000 images from gz to tensor", 0.6, data["ns"] / 1e9 if data else None, "s", "" if data else "no data")
    step = benchmarks(build / "bench/bench_tensor", ["lenet_step/1/real_time"])["lenet_step/1/real_time"]
    row("LeNet training step after warm-up: storages", None, step["storages"], "")
    row("  of these from the system", None, step["system"], "")
    row("  calls of operator new", None, step["new"], "")
    row("  peak tensor memory", None, step["peak_MiB"], "MiB")


if __name__ == "__main__":
    main()
