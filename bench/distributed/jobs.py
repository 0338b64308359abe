"""Starts the processes of one measurement and collects what they print."""
import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import time

LIMIT = 300  # seconds per run
# A run during which other programs used more than this share of the cores is repeated.
FOREIGN, TRIES, PATIENCE = 0.06, 2, 8
shares = []  # what others used during each run that counts
HERE = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(rank, size, port, master="127.0.0.1", **more):
    own = {k: v for k, v in os.environ.items()
           if not k.startswith(("OMPI_", "PMI", "SLURM_", "TORCHELASTIC_", "TANDEM_"))}
    local = {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size)} if master == "127.0.0.1" else {}
    return {**own, "RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": master, "MASTER_PORT": str(port),
            "OMP_NUM_THREADS": "1", "TANDEM_NUM_THREADS": "1", **local, **more}


def collect(processes):
    """The JSON lines of all processes, by rank. Ends all of them if one fails or takes too long."""
    results, end = [], time.monotonic() + LIMIT
    try:
        for p in processes:
            out, err = p.communicate(timeout=max(1, end - time.monotonic()))
            if p.returncode != 0:
                raise SystemExit(f"measure.py: {' '.join(map(str, p.args))} failed: {err.strip()[-800:]}")
            results += [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    finally:
        for p in processes:
            if p.poll() is None:
                p.kill()
                p.wait()
    return sorted(results, key=lambda r: r["rank"])


def run(command, size, prefixes=None, master="127.0.0.1", **more):
    """Runs command as `size` ranks; prefixes[r] goes before the command of rank r."""
    port = free_port()
    return collect([subprocess.Popen([*(prefixes[r] if prefixes else []), *map(str, command)],
                                     env=environment(r, size, port, master, **more), text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) for r in range(size)])


def run_mpi(command, size):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RANK", "WORLD_SIZE", "LOCAL_"))}
    env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), TANDEM_BACKEND="mpi", OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    return collect([subprocess.Popen(["mpirun", "-n", str(size), "--bind-to", "none", *map(str, command)], env=env,
                                     text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)])


def processor_ticks():
    """Of all cores since the start of the machine: busy (with what other machines took from this one), and all."""
    values = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    return sum(values) - values[3] - values[4], sum(values)


def others(call):
    """What call() returns, and which share of the cores other programs used meanwhile."""
    (busy, total), own = processor_ticks(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = call()
    (busy2, total2), own2 = processor_ticks(), resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (own2.ru_utime + own2.ru_stime - own.ru_utime - own.ru_stime) * os.sysconf("SC_CLK_TCK")
    return result, max(0.0, busy2 - busy - used) / max(1, total2 - total)


def undisturbed(call):
    """The result of the least disturbed of a few tries: each waits a little for the other programs on the
    machine to finish."""
    least = None
    for _ in range(TRIES):
        end = time.monotonic() + PATIENCE
        while others(lambda: time.sleep(0.5))[1] > FOREIGN and time.monotonic() < end:
            pass
        result, share = others(call)
        if least is None or share < least[1]:
            least = result, share
        if share <= FOREIGN:
            break
    shares.append(least[1])
    return least[0]


def turns(count, ways):
    """ways: functions by name. Calls all in turn, `count` times; the results by name."""
    results = {name: [] for name in ways}
    for _ in range(count):
        for name, way in ways.items():
            results[name].append(undisturbed(way))
    return results


def typical(results, key="median", rank=0):
    """The median over the turns of what a rank reports."""
    return statistics.median(r[rank][key] for r in results)


def best(results, key="median", rank=0):
    return min(r[rank][key] for r in results)


def load():
    """Of the machine, and the share of the cores that other programs used during the runs since the last call."""
    used = f", others used {max(shares):.0%} of the cores at most" if shares else ""
    shares.clear()
    return "load " + " ".join(f"{x:.2f}" for x in os.getloadavg()) + used + time.strftime(", %Y-%m-%d %H:%M")
