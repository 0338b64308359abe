#!/usr/bin/env python3
"""Starts programs as ranks with `tandem launch`: output, exit codes, failures, signals, restarts, several nodes.

  launch_test.py TANDEM [NAME]      ends with the line "N passed, N failed"

Every process of a test has its own mark in its environment, by which those that are left behind are found.
"""
import collections
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import uuid

from checks import check, finish

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../distributed"))
from jobs import free_port  # noqa: E402

for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:  # by nohup or a shell in the background; programs would inherit it
        signal.signal(number, signal.SIG_DFL)

tandem = os.path.abspath(sys.argv[1])
FOREIGN = re.compile("^(RANK|WORLD_SIZE|LOCAL_|GROUP_|MASTER_|TORCHELASTIC_|TANDEM_|OMP_|OMPI_|PMI|SLURM_)")
clean = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
Ended = collections.namedtuple("Ended", "code out err seconds")
# Ranks that are asked to end do so at once, if the machine is not busy; otherwise they sleep for a minute, or get one of
# grace: so long lasts a launch that does not ask them.
SOON = 40
GRACE = ("--grace", "60")


class Launch:
    """A running launcher. Its output goes to files, so that it never waits for this test."""

    def __init__(self, *args, env={}, stdin=subprocess.DEVNULL, stdout=None, before=None):
        self.mark = uuid.uuid4().hex
        self.began = time.time()
        self.files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        self.process = subprocess.Popen([tandem, "launch", *args], env={**clean, **env, "LAUNCH_TEST_MARK": self.mark},
                                        stdin=stdin, stdout=stdout or self.files[0], stderr=self.files[1],
                                        preexec_fn=before)

    def text(self, number):
        size = os.fstat(self.files[number].fileno()).st_size
        return os.pread(self.files[number].fileno(), size, 0)

    def wait_for(self, text, times=1):
        """Until the output contains the text so many times."""
        return until(lambda: self.text(0).count(text.encode()) >= times)

    def marked(self):
        """The processes of this launch, itself included."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if self.mark.encode() in file.read():
                        found.append(int(name))
            except OSError:
                pass
        return found

    def ended(self, timeout=50):
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = "timeout"
            self.process.kill()
            self.process.wait()
        seconds = time.time() - self.began
        check("nothing is left", until(lambda: not self.marked()), self.marked())
        for pid in self.marked():
            os.kill(pid, signal.SIGKILL)
        return Ended(code, *(self.text(i).decode(errors="surrogateescape") for i in (0, 1)), seconds)


def until(good, seconds=SOON):
    end = time.time() + seconds
    while not good():
        if time.time() > end:
            return False
        time.sleep(0.02)
    return True


def launch(*args, **options):
    return Launch(*args, **options).ended()


def shell(ranks, script, *options, **more):
    return launch("-n", str(ranks), *options, "sh", "-c", script, **more)


def python(ranks, script, *args, options=(), **more):
    return launch(*(["-n", str(ranks)] if ranks else []), *options, sys.executable, "-c", script, *args, **more)


def refused(what, run, *parts, code=2):
    """Checks for one line on standard error that contains `parts`, and the exit code."""
    good = run.code == code and run.err.count("\n") == 1 and all(p in run.err for p in parts) and run.out == ""
    check(what, good and run.err.startswith("tandem launch: ") and len(run.err) < 1000, run)


def test_prefixes():
    run = shell(3, "echo out $RANK; echo err $RANK >&2")
    check("output", run.code == 0 and sorted(run.out.splitlines()) == [f"[{i}] out {i}" for i in range(3)], run)
    check("errors", sorted(run.err.splitlines()) == [f"[{i}] err {i}" for i in range(3)], run)
    run = shell(11, "echo $RANK")
    check("aligned", sorted(run.out.splitlines()) == sorted(f"[{i:2}] {i}" for i in range(11)), run)
    run = shell(2, "echo $RANK; printf end", "--no-prefix")
    check("no prefix", sorted(run.out.split()) == ["0", "1", "end", "end"] and run.err == "", run)
    check("one rank by default", launch("sh", "-c", "echo $WORLD_SIZE; echo").out == "[0] 1\n[0] \n")


def test_lines_stay_whole():
    script = """import os, random, sys
for i in range(2000):
    text = f"{os.environ['RANK']}:{i}:" + "x" * (i % 97) + "\\n"
    cut = random.randrange(len(text))
    os.write(1, text[:cut].encode()), os.write(1, text[cut:].encode())"""
    run = python(4, script)
    lines = collections.defaultdict(list)
    for line in run.out.splitlines():
        lines[line[:4]].append(line[4:])
    good = all(lines[f"[{r}] "] == [f"{r}:{i}:" + "x" * (i % 97) for i in range(2000)] for r in range(4))
    check("every line is whole and in order", run.code == 0 and good and len(lines) == 4)


def test_long_lines():
    run = python(2, "import sys; sys.stdout.write(chr(97 + int(__import__('os').environ['RANK'])) * 1000000)")
    lines = run.out.splitlines()
    check("pieces", max(map(len, lines)) == 4 + 65536 and len(lines) == 2 * 16, list(map(len, lines)))
    check("all bytes", all(run.out.count(c) == 1000000 for c in "ab"))
    run = python(1, "print('x' * 65536); print('y' * 65537); print('z')")
    check("a line of the limit", [(s[4], len(s)) for s in run.out.splitlines()] ==
          [("x", 65540), ("y", 65540), ("y", 5), ("z", 5)], [len(s) for s in run.out.splitlines()])


def test_binary_output():
    script = "import os, random; os.write(1, random.Random(int(os.environ['RANK'])).randbytes(50000))"
    with tempfile.TemporaryDirectory() as logs:
        run = python(2, script, options=["--log-dir", logs])
        content = [open(f"{logs}/rank_{i}.out", "rb").read() for i in range(2)]
    import random
    check("the logs have the same bytes", content == [random.Random(i).randbytes(50000) for i in range(2)])
    lines = [line for line in run.out.encode(errors="surrogateescape").split(b"\n")]
    for i in range(2):
        mine = b"\n".join(line[4:] for line in lines if line.startswith(b"[%d] " % i))
        check("binary lines", mine == content[i].removesuffix(b"\n"), (len(mine), len(content[i])))


def test_logs():
    with tempfile.TemporaryDirectory() as work:
        logs = f"{work}/new/logs"
        script = "echo out $RANK $TORCHELASTIC_RESTART_COUNT; echo err >&2; exit $((1 - TORCHELASTIC_RESTART_COUNT))"
        run = shell(2, script, "--log-dir", logs, "--max-restarts", "1")
        names = ["rank_0.err", "rank_0.out", "rank_1.err", "rank_1.out"]
        check("files", run.code == 0 and sorted(os.listdir(logs)) == names, run)
        check("both runs", open(f"{logs}/rank_1.out").read() == "out 1 0\nout 1 1\n")
        check("errors", open(f"{logs}/rank_0.err").read() == "err\nerr\n")
        open(f"{work}/file", "w").close()
        refused("a file", shell(1, "echo", "--log-dir", f"{work}/file"), "--log-dir", code=2)


def test_exit_codes():
    check("success", shell(2, "exit 0")[:3] == (0, "", ""))
    for script, code, text in (("exit 3", 3, "failed with exit code 3 after"), ("kill -9 $$", 137, "killed by SIGKILL"),
                               ("kill -SEGV $$", 139, "killed by SIGSEGV"),
                               ("exit 255", 255, "failed with exit code 255")):
        run = shell(2, f"[ $RANK = 1 ] || exec sleep 60; echo because >&2; {script}", *GRACE)
        check(script, run.code == code and re.search(r"rank 1 \(pid \d+\) (was )?" + text, run.err), run)
        check(script + ": the others", "tandem launch: rank 0 was ended\n" in run.err and run.seconds < SOON, run)
        check(script + ": its last lines", "standard error:\n  because\n" in run.err, run)
    run = shell(1, "for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; printf 'an\\033unfinished one' >&2; exit 1")
    check("the last lines", run.err.endswith("  line 4\n  line 5\n  line 6\n  line 7\n  an?unfinished one\n"), run)


def test_the_first_failure_is_reported():
    wait = "until [ -e $GONE ]; do sleep 0.02; done; sleep ${PAUSE-0.5}; "  # the launcher waits 1 s for the cause
    with tempfile.TemporaryDirectory() as work:
        def run(rank_2, others, name):
            return shell(4, f"if [ $RANK = 2 ]; then {rank_2} fi; {others}", env={"GONE": f"{work}/{name}"})
        it = run("sleep 0.2; : > $GONE; exit 5;", wait + "exit 1", "a")
        check("exit codes", it.code == 5 and re.search(r"rank 2 \(pid \d+\) failed with exit code 5", it.err), it)
        check("victims", "tandem launch: ranks 0, 1, 3 failed, too\n" in it.err and it.err.count("exit code") == 1, it)
        it = run(": > $GONE; sleep 0.5; kill -9 $$;", "PAUSE=0.1; " + wait + "exit 1", "b")
        check("a kill is the cause", it.code == 137 and "rank 2 (pid" in it.err and "SIGKILL" in it.err, it)
        it = run(": > $GONE; exit 4;", wait + "kill -ABRT $$", "c")
        check("victims may abort", it.code == 4 and "rank 2 (pid" in it.err and "SIGABRT" not in it.err, it)
        it = run(": > $GONE; kill -9 $$;", "trap 'kill -SEGV $$' TERM; while :; do sleep 0.05; done", "d")
        check("what follows SIGTERM does not count", it.code == 137 and "rank 2 (pid" in it.err, it)


def test_killed_rank():
    run = Launch("-n", "4", *GRACE, "sh", "-c", "echo pid $RANK $$; exec sleep 60")
    check("all run", run.wait_for("pid", 4))
    pid = int(re.search(rb"pid 2 (\d+)", run.text(0))[1])
    os.kill(pid, signal.SIGKILL)
    it = run.ended()
    check("kill -9", it.code == 137 and f"tandem launch: rank 2 (pid {pid}) was killed by SIGKILL" in it.err, it)
    check("the others", "tandem launch: ranks 0, 1, 3 were ended\n" in it.err and it.seconds < SOON, it)


def test_killed_launcher():
    run = Launch("-n", "3", "sh", "-c", "trap '' TERM HUP INT; sleep 60 & (sleep 60 & sleep 60) & echo up; wait")
    check("all run", run.wait_for("up", 3) and until(lambda: len(run.marked()) >= 2 + 3 * 4))
    run.process.kill()
    check("the launcher", run.ended().code == -9)


def test_stop_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        run = Launch("-n", "2", "--max-restarts", "5", *GRACE, "sh", "-c",
                     "trap 'echo saved; exit 1' TERM; echo up; while :; do sleep 0.05; done")
        check("all run", run.wait_for("up", 2))
        run.process.send_signal(number)
        it = run.ended()
        check(number.name, it.code == 128 + number and it.out.count("saved\n") == 2 and it.seconds < SOON, it)
        check(number.name, f"tandem launch: {number.name}: ending the ranks" in it.err and "again (" not in it.err, it)
    run = Launch("-n", "1", "sh", "-c", "echo up; sleep 0.5; echo end",
                 before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    check("it runs", run.wait_for("up"))
    run.process.send_signal(signal.SIGHUP)
    check("nohup", run.ended()[:2] == (0, "[0] up\n[0] end\n"))


def test_grace():
    stubborn = ("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done")
    run = Launch("-n", "2", "--grace", "0.5", *stubborn)
    check("all run", run.wait_for("up", 2))
    began = time.time()
    run.process.send_signal(signal.SIGTERM)
    check("killed after the grace", run.ended().code == 143 and 0.4 < time.time() - began < SOON)
    run = Launch("-n", "2", "--grace", "60", *stubborn)
    check("all run", run.wait_for("up", 2))
    for _ in range(2):
        run.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    it = run.ended(SOON)
    check("a second Ctrl-C kills at once", it.code == 130, it)
    run = Launch("-n", "2", "sh",
                 "-c", "trap 'sleep 0.5; echo saved; exit' TERM; echo up; while :; do sleep 0.05; done")
    check("all run", run.wait_for("up", 2))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        run.process.send_signal(number)
    it = run.ended()
    check("signals at the same time are one", it.code in (129, 130, 143) and it.out.count("saved") == 2, it)
    it = shell(2, "[ $RANK = 1 ] && exit 7; trap '' TERM; while :; do sleep 0.05; done", "--grace", "0.2")
    check("a failure with a stubborn rank", it.code == 7 and "rank 0 was ended" in it.err and it.seconds < SOON, it)
    with tempfile.TemporaryDirectory() as work:
        it = shell(2, "if [ $RANK = 1 ]; then until [ -e $READY ]; do sleep 0.02; done; kill -9 $$; fi; "
                   "trap 'echo saved; exit' TERM; : > $READY; kill -STOP $$; sleep 60 & wait", *GRACE,
                   env={"READY": f"{work}/ready"})
    check("a stopped rank can save", it.code == 137 and "[0] saved\n" in it.out and it.seconds < SOON, it)


def test_what_ranks_leave_behind():
    run = shell(2, "setsid sleep 60 & (trap '' TERM; sleep 60 & sleep 60) & echo done", "--grace", "0.3")
    check("background processes", run.code == 0 and run.out.count("done") == 2 and run.seconds < SOON, run)
    run = shell(1, "(sleep 0.3; echo last) & exit 0")
    check("what ends by itself may finish", run.code == 0 and run.out == "[0] last\n", run)


def test_restarts():
    with tempfile.TemporaryDirectory() as work:
        script = "echo run $TORCHELASTIC_RESTART_COUNT; if [ $RANK = 1 ]; then echo x >> $COUNTER; " \
                 "[ $(wc -l < $COUNTER) -ge 3 ] || exit 9; " \
                 "else [ $TORCHELASTIC_RESTART_COUNT = 2 ] || exec sleep 60; fi"
        run = shell(2, script, "--max-restarts", "3", env={"COUNTER": f"{work}/a"})
        check("the third run succeeds", run.code == 0 and open(f"{work}/a").read() == "x\n" * 3, run)
        check("they are counted", sorted(run.out.split("\n"))[1:] ==
              [f"[{r}] run {i}" for r in (0, 1) for i in range(3)], run)
        check("it says so", "(restart 2 of 3)" in run.err and "(restart 3" not in run.err, run)
        run = shell(2, script, "--max-restarts", "1", env={"COUNTER": f"{work}/b"})
        check("too few restarts", run.code == 9 and open(f"{work}/b").read() == "x\n" * 2, run)


def test_missing_programs():
    refused("missing", launch("-n", "2", "no-such-program"), "cannot run no-such-program: No such file", code=127)
    refused("missing", launch("./none", "--lr"), "cannot run ./none: No such file or directory", code=127)
    refused("empty", launch("-n", "2", ""), "cannot run '': No such file", code=127)
    refused("a folder", launch("/tmp"), "cannot run /tmp: Is a directory", code=126)
    with tempfile.TemporaryDirectory() as work:
        with open(f"{work}/train.py", "w") as file:
            file.write("print(1)\n")
        refused("a script", launch(f"{work}/train.py"), "Permission denied", "run python3 ", code=126)
        os.chmod(file.name, stat.S_IRWXU)
        refused("no first line", launch("-n", "3", file.name), "Exec format error", "#!/bin/sh", code=126)
        with open(file.name, "w") as file:
            file.write("#!/no/such/interpreter\n")
        refused("no interpreter", launch("-n", "3", file.name), "No such file or directory", code=127)
        refused("in PATH", launch("train.py", env={"PATH": work}), "cannot run train.py: No such file", code=127)


def test_wrong_options():
    refused("typo", launch("--nnode", "2", "true"),
            "unknown option --nnode; did you mean --nnodes? (see tandem launch --help)")
    refused("typo", launch("--max_restarts=2", "true"), "did you mean --max-restarts?")
    refused("no program", launch("-n", "2"), "expected a PROGRAM")
    refused("no program", launch("-n", "2", "--"), "expected a PROGRAM")
    refused("none", launch("-n", "0", "true"), "-n 0: expected auto, cpu, gpu or a number from 1 to 4096")
    refused("words", launch("-n", "two", "true"), "-n two: expected")
    refused("twice", launch("-n", "1", "-n", "2", "true"), "given more than once")
    run = launch("--grace", "-1", "true")
    check("grace", run.code == 2 and "--grace -1: expected a number from 0" in run.err, run)
    several = ("--nnodes", "2")
    refused("no node rank", launch(*several, "true"), "--nnodes 2: needs --node-rank")
    refused("node rank", launch(*several, "--node-rank", "2", "true"), "--node-rank 2: expected at most 1")
    refused("no address", launch(*several, "--node-rank", "1", "true"), "needs --rdzv HOST:PORT")
    for wrong in (":1", "[::1", "[::1]x", ""):
        run = launch(*several, "--node-rank", "1", f"--rdzv={wrong}", "true")
        check(f"--rdzv={wrong}", run.code == 2 and "--rdzv" in run.err, run)
    refused("a port", launch(*several, "--node-rank", "1", "--rdzv", "a:0", "true"), "--rdzv: port 0: expected")
    refused("IPv6", launch(*several, "--node-rank", "1", "--rdzv", "::1:29500", "true"), "[ADDRESS]:PORT")
    refused("no key", launch(*several, "--node-rank", "1", "--rdzv", "a:1", "true"), "TANDEM_JOB_KEY is not set")
    refused("by a rank", launch("true", env={"RANK": "1", "WORLD_SIZE": "4"}), "already rank 1 of 4")
    refused("by mpirun", launch("true", env={"OMPI_COMM_WORLD_SIZE": "4"}), "one of 4 tasks (OMPI_COMM_WORLD_SIZE)")
    refused("by srun", launch("true", env={"SLURM_STEP_NUM_TASKS": "3"}), "one of 3 tasks (SLURM_STEP_NUM_TASKS)")
    check("one task", launch("true", env={"SLURM_STEP_NUM_TASKS": "1", "RANK": "0", "WORLD_SIZE": "1"}).code == 0)


def test_the_program_has_its_own_options():
    script = "import sys; print(sys.argv[1:])"
    for options in (["-n", "1"], ["-n1"], ["--nproc-per-node=1"], ["--nproc-per-node", "1"], ["-n", "1", "--"]):
        run = python(None, script, "--lr", "0.1", "-n", "7", "--help", "--", "train", options=options)
        check(f"{options}", run.out == "[0] ['--lr', '0.1', '-n', '7', '--help', '--', 'train']\n", run)
    check("help", "--max-restarts" in launch("-n", "2", "--help").out)


def test_environment():
    names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT TORCHELASTIC_USE_AGENT_STORE " \
            "TORCHELASTIC_RESTART_COUNT TANDEM_JOB_KEY OMP_NUM_THREADS TANDEM_NUM_THREADS PMI_RANK SLURM_PROCID"
    script = f"for name in {names}; do eval echo $name=\\$$name; done"

    def values(run):
        out = [{}, {}]
        for line in run.out.splitlines():
            out[int(line[1])].update([line[4:].split("=", 1)])
        return out
    first, second = values(shell(2, script, env={"PMI_RANK": "5", "SLURM_PROCID": "7", "RANK": "9"}))
    check("rank", [first["RANK"], second["RANK"], second["LOCAL_RANK"]] == ["0", "1", "1"], second)
    check("sizes", first["WORLD_SIZE"] == first["LOCAL_WORLD_SIZE"] == "2")
    check("store", first["MASTER_ADDR"] == "127.0.0.1" and 0 < int(first["MASTER_PORT"]) < 65536)
    check("agent", first["TORCHELASTIC_USE_AGENT_STORE"] == "True" and first["TORCHELASTIC_RESTART_COUNT"] == "0")
    check("same on all", all(first[n] == second[n] for n in ("MASTER_PORT", "TANDEM_JOB_KEY")))
    check("a random key", re.fullmatch("[0-9a-f]{32}", first["TANDEM_JOB_KEY"]), first)
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    check("threads", first["OMP_NUM_THREADS"] == first["TANDEM_NUM_THREADS"] == share, first)
    check("other launchers", first["PMI_RANK"] == first["SLURM_PROCID"] == "")
    again = values(shell(2, script, env={"TANDEM_JOB_KEY": "mine", "OMP_NUM_THREADS": "3"}))[0]
    check("what is set stays", [again["TANDEM_JOB_KEY"], again["OMP_NUM_THREADS"]] == ["mine", "3"], again)
    other = values(shell(1, script))[0]
    check("another key", other["TANDEM_JOB_KEY"] not in ("", first["TANDEM_JOB_KEY"]))
    connect = "import os, socket; socket.create_connection((os.environ['MASTER_ADDR'], os.environ['MASTER_PORT']), 5)"
    check("the store listens", python(2, connect).code == 0)


def test_what_ranks_inherit():
    read, write = os.pipe()
    os.write(write, b"hello\n")
    os.close(write)
    run = shell(2, "echo $(cat)", stdin=read)
    os.close(read)
    check("rank 0 reads the input", sorted(run.out.splitlines()) == ["[0] hello", "[1] "], run)
    run = shell(2, "echo $(ls /proc/self/fd); grep -E '^Sig(Blk|Ign)' /proc/self/status")
    none = "0" * 16  # ls has 0, 1, 2 and the folder
    good = ["0 1 2 3", f"SigBlk:\t{none}", f"SigIgn:\t{none}"]
    check("descriptors and signals", sorted(run.out.splitlines()) == [f"[{r}] {s}" for r in (0, 1) for s in good], run)


def test_closed_output():
    read, write = os.pipe()
    run = Launch("-n", "2", "sh", "-c", "trap 'exit 0' TERM; while echo text; do :; done", stdout=write)
    os.close(write)
    os.read(read, 100)
    os.close(read)
    it = run.ended()
    check("nobody reads", it.code == 141 and "nobody reads" in it.err, (it.code, it.err[-300:]))
    with open("/dev/full", "w") as full:
        it = shell(1, "echo text; sleep 0.2", stdout=full)
    check("a full disk", it.code == 1 and "cannot write to standard output: No space" in it.err, it)


def test_many_ranks():
    run = launch("-n", "64", "true")
    check("64 ranks", run[:3] == (0, "", "") and run.seconds < SOON, run)
    run = shell(64, "[ $RANK = 40 ] && exit 6; exec sleep 60")
    check("a failure among 64", run.code == 6 and "ranks 0 to 39, 41 to 63 were ended" in run.err, run)


def nodes(first, second, options=((), ()), ranks=("2", "2")):
    port = free_port()
    return [Launch("-n", ranks[i], "--nnodes", "2", "--node-rank", str(i), "--rdzv", f"127.0.0.1:{port}", *options[i],
                   "sh", "-c", script, env={"TANDEM_JOB_KEY": "secret"}) for i, script in enumerate((first, second))]


def test_two_nodes():
    show = "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR"
    a, b = [run.ended() for run in nodes(show, "sleep 0.5; " + show)]
    check("node 0", a.code == 0 and sorted(a.out.splitlines()) == [f"[{r}] {r} {r} 4 2 127.0.0.1" for r in (0, 1)], a)
    check("node 1", b.code == 0 and sorted(b.out.splitlines()) == [f"[{r}] {r} {r - 2} 4 2 127.0.0.1" for r in (2, 3)],
          b)
    a, b = [run.ended() for run in nodes("sleep 60", "[ $RANK = 3 ] || exec sleep 60; sleep 0.5; exit 5",
                                          options=(GRACE, GRACE))]
    check("a failure on node 1", b.code == 5 and "rank 3 (pid" in b.err, b)
    check("is known on node 0", a.code == 5 and "rank 3 (pid" in a.err and "on node 1" in a.err and a.seconds < SOON, a)
    a, b = [run.ended() for run in nodes(show, show, ranks=("2", "3"))]
    refused("sizes differ", a, "-n 2 on node 0, but -n 3 on node 1")
    refused("sizes differ", b, "-n 3 on node 1, but -n 2 on node 0")
    a, b = nodes("echo up; sleep 60", "echo up; sleep 60")
    check("all run", a.wait_for("up", 2) and b.wait_for("up", 2))
    a.process.kill()
    check("node 0 is gone", b.ended().code == 1 and b"lost the store of node 0" in b.text(1), b.text(1))
    a.ended()
    a, b = nodes("echo up; sleep 60", "echo up; sleep 60")
    check("all run", a.wait_for("up", 2) and b.wait_for("up", 2))
    b.process.send_signal(signal.SIGINT)
    a, b = a.ended(), b.ended()
    check("Ctrl-C on node 1", (a.code, b.code) == (130, 130) and "node 1 was stopped by SIGINT" in a.err, (a, b))


def test_restarts_on_two_nodes():
    twice = ("--max-restarts", "2")
    with tempfile.TemporaryDirectory() as work:
        run = f"echo run $TORCHELASTIC_RESTART_COUNT; echo $MASTER_PORT >> {work}/$TORCHELASTIC_RESTART_COUNT; "
        fail = "[ $TORCHELASTIC_RESTART_COUNT = 2 ] || exit 9"
        for first, second in (("sleep 60", "sleep 0.3; exit 9"), ("true", "sleep 0.7; exit 9")):
            script = run + f"[ $TORCHELASTIC_RESTART_COUNT = 2 ] && exit; [ $RANK = 3 ] || exec {first}; {second}"
            a, b = [launched.ended() for launched in nodes(script, script, options=(twice, twice))]
            good = [sorted(f"[{r}] run {i}" for r in ranks for i in range(3)) for ranks in ((0, 1), (2, 3))]
            check(f"both nodes after {first}", (a.code, b.code) == (0, 0), (a, b))
            check("three runs", [sorted(run.out.splitlines()) for run in (a, b)] == good, (a, b))
            ports = [set(open(f"{work}/{i}").read().split()) for i in range(3)]
            check("each run has one store of its own",
                  [len(p) for p in ports] == [1] * 3 and len(set.union(*ports)) == 3, ports)
            for i in range(3):
                os.remove(f"{work}/{i}")
        once = ("--max-restarts", "1")
        a, b = [launched.ended() for launched in nodes(fail, fail, options=(once, once))]
        check("too few restarts", (a.code, b.code) == (9, 9) and "(restart 1 of 1)" in a.err, (a, b))
        a, b = [launched.ended() for launched in nodes(fail, fail, options=(once, twice))]
        refused("numbers differ", a, "--max-restarts 1 on node 0, but --max-restarts 2 on node 1")


def test_waiting_for_nodes_can_be_stopped():
    for rank in ("0", "1"):
        run = Launch("--nnodes", "2", "--node-rank", rank, "--rdzv", f"127.0.0.1:{free_port()}", "true",
                     env={"TANDEM_JOB_KEY": "secret"})
        time.sleep(0.4)
        run.process.send_signal(signal.SIGINT)
        check(f"node {rank}", run.ended().code in (-2, 130))


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 3 or sys.argv[2] in name):
            began = time.time()
            test()
            if os.environ.get("LAUNCH_TEST_TIMES"):
                print(f"{time.time() - began:6.1f} s {name}", flush=True)
    sys.exit(finish())


main()
