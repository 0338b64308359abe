"""Jobs of several processes, for the tests of this folder: every wait has a limit, and no process is left."""
import concurrent.futures
import os
import random
import re
import shutil
import select
import signal
import socket
import subprocess
import threading
import time

AT_ONCE = 4  # jobs; most of the time they wait
free_slots = threading.Semaphore(AT_ONCE)
lock = threading.Lock()
counts = {"passed": 0, "failed": 0}
FOREIGN = re.compile("^(RANK|WORLD_SIZE|LOCAL_|GROUP_|MASTER_|TORCHELASTIC_|TANDEM_DISTRIBUTED|OMP_|OMPI_|PMI|SLURM_)")
clean = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
if not shutil.which("ssh"):  # Open MPI insists on some program for other machines
    clean["OMPI_MCA_plm_rsh_agent"] = "sh"


def check(what, good):
    with lock:
        counts["passed" if good else "failed"] += 1
    if not good:
        print("FAILED:", what, flush=True)


def check_failed(what, results, *patterns):
    """All ranks have ended with a DistributedError, and their messages contain all patterns."""
    for rank, (code, _, error) in results.items():
        check(f"{what}: rank {rank} ends with 3: {code} {error}", code == 3)
        for pattern in patterns:
            check(f"{what}: rank {rank} says {pattern!r}: {error!r}", re.search(pattern, error))


def finish():
    """Prints the counts; the exit code."""
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return int(counts["failed"] > 0)


def run_tests(tests):
    """Calls the functions at once, in threads; the first exception passes on."""
    with concurrent.futures.ThreadPoolExecutor(max(1, len(tests))) as pool:
        for future in [pool.submit(test) for test in tests]:
            future.result()


def free_port():
    """Below the ports that the system gives to connections, one of which might take it before its owner listens."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as limits:
        end = max(int(limits.read().split()[0]), 20000)
    while True:
        port = random.randrange(10000, end)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def run(command, limit, env={}):
    """Exit code ("hangs" after the limit), output and errors of a program, which is ended with all its children."""
    process = subprocess.Popen(command, env={**clean, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        out, error = process.communicate(timeout=limit)
        return process.returncode, out, error
    except subprocess.TimeoutExpired:
        return "hangs", "", ""
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()


class Job:
    """Processes that find each other by environment variables; none is left when the block ends.

    Of the `size` ranks only `ranks` are started, or all. self.ranks has the processes by rank. At most AT_ONCE jobs
    run."""

    def __init__(self, size, command, threads=1, ranks=None):
        free_slots.acquire()
        port = free_port()
        self.ranks = {}
        for rank in range(size) if ranks is None else ranks:
            env = dict(clean, RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TANDEM_NUM_THREADS=str(threads))
            self.ranks[rank] = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.ranks.values():
            if process.poll() is None:
                process.kill()
            process.communicate()
        free_slots.release()

    def wait_for(self, line, limit=120):
        """Until every rank has printed the line. Returns False after the limit, or if a rank has ended before."""
        end = time.time() + limit
        for process in self.ranks.values():
            for seen in iter(lambda: self._line(process, end), ""):
                if seen.strip() == line:
                    break
            else:
                return False
        return True

    @staticmethod
    def _line(process, end):
        # One byte at a time: select() does not see what a buffer has taken already.
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([process.stdout], [], [], max(0, end - time.time()))[0]:
                return ""
            byte = os.read(process.stdout.fileno(), 1)
            if not byte:
                break
            text += byte
        return text.decode()

    def results(self, limit, but=()):
        """Exit code, output and errors by rank, except of ranks `but`; the code of one that does not end is "hangs"."""
        end = time.time() + limit
        out = {}
        for rank, process in self.ranks.items():
            if rank in but:
                continue
            try:
                output, error = process.communicate(timeout=max(0.1, end - time.time()))
                out[rank] = (process.returncode, output, error)
            except subprocess.TimeoutExpired:
                out[rank] = ("hangs", "", "")
        return out
