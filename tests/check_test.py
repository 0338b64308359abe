#!/usr/bin/env python3
"""Tests of ./run check: which tests belong to a file, which files have changed, and the sum of the counts.

    tests/check_test.py BUILD     uses the data of a configured build folder, and builds nothing
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci"))
import affected  # noqa: E402
import check  # noqa: E402

build = affected.Build(sys.argv[1])


def tests(*paths):
    return set(affected.affected(build, paths))


def without_tests():
    """The sources that have no test though tests/ has a folder of their name."""
    folders = [f for f in ROOT.iterdir() if f.is_dir() and f.name != "tests" and build.in_folder(f.name)]
    assert len(folders) >= 7, folders
    sources = [str(s.relative_to(ROOT)) for f in folders for s in f.rglob("*.cpp")]
    # without the tool, nothing tests tensorboard/
    return [s for s in sources if not tests(s) and build.in_folder("cli")]


def sources_of_several():
    """The test sources that run other tests than those that they are part of; in programs or scripts."""
    sources = {f for t in build.tests for f in t.files if f.endswith(("_test.cpp", "_test.py"))}
    assert len(sources) > 100, sources
    return [s for s in sources if tests(s) != {t.name for t in build.tests if s in t.files}]


def changes(folder):
    """The files that `changed` finds on a branch with a committed, an edited, a deleted, a moved and an untracked
    file."""
    git = lambda *words: subprocess.run(
        ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)
    path = pathlib.Path(folder)
    git("init", "-b", "main")
    for name in ("kept", "edited", "deleted", "moved"):
        (path / name).write_text(f"{name}\n" * 9)
    git("add", ".")
    git("commit", "-m", "a")
    on_main = check.changed(folder)
    git("checkout", "-b", "other")
    (path / "committed").write_text("new")
    git("mv", "moved", "to")
    git("add", ".")
    git("commit", "-m", "b")
    (path / "edited").write_text("new")
    (path / "deleted").unlink()
    (path / "un tracked").write_text("new")
    return on_main, check.changed(folder), check.changed(folder, "HEAD")


def said(*words):
    done = subprocess.run([sys.executable, ROOT / ".ci/check.py", sys.argv[1], *words], capture_output=True, text=True,
                          cwd=ROOT)
    return done.returncode, done.stderr.strip()


UNKNOWN = "check: {} is not a file of this repository, and no folder with such files"
CASES = [
    ("all sources have tests", without_tests(), []),
    ("a test's source runs its programs only", sources_of_several(), []),
    ("a source of the kernels", {"core", "pool", "ops"} <= tests("core/cpu/linalg/gemm.cpp"), True),
    ("a part of an operation runs the tests of that name", "network_operations" in tests("core/cpu/conv/conv2d_direct.cpp"),
     True),
    ("a folder of the tool", {"cli", "launch"} <= tests("cli/commands/launch.cpp"), True),
    ("headers of core", {"core", "autograd", "nn"} <= tests("core/dtype.h"), True),
    ("an object in two programs", tests("tests/ops/unary_table.cpp") - {"golden_strict", "random_networks_device"},  # with CUDA
     {"autocast", "batches", "random_networks", "random_networks_captured", "ops", "descriptions", "golden",
      "onnx_export_operations", "pointwise"}),
    ("a header in tests", tests("tests/core/cpu/kernel_testing.h"), {"core"}),
    ("a header in tests that another includes", tests("tests/ops/pointwise_table.h") >= {"ops", "pointwise"}, True),
    ("a deleted test", tests("tests/core/deleted_test.cpp") >= {"core", "pool", "kernels"}, True),
    ("files without tests",
     tests("CONTRIBUTING.md", "nn/a.md", "docs/Doxyfile", "bench/table.py", ".ci/run", "run", "nn/meson.build"), set()),
    ("a sanitizer runs programs, not scripts",
     set(affected.sanitized(build, ["core/cpu/linalg/gemm.cpp"], "address")) & {"core", "kernels", "ops"}, {"core", "ops"}),
    ("the thread sanitizer runs suite tsan", "pool" in affected.sanitized(build, ["core/cpu/linalg/gemm.cpp"], "thread")
     and "core" not in affected.sanitized(build, ["core/cpu/linalg/gemm.cpp"], "thread"), True),
    ("clang compiles what a sanitizer's build has", set(build.objects(["core/cpu/linalg/gemm.cpp", "README.md"]).values()),
     {"is compiled from core/cpu/linalg/gemm.cpp"}),
    ("a benchmark is built",
     set(affected.programs(build, ["bench/files_bench.cpp", "bench/table.py"])) <= {"bench/bench_files"}, True),
    ("a step that counts", check.tally(False, 0, "3 passed, 0 failed, 2 skipped"), (3, 0, 2)),
    ("a step that failed", check.tally(False, 1, "3 passed, 2 failed"), (3, 2, 0)),
    ("a failure that no count shows", check.tally(False, 1, "3 passed, 0 failed"), (3, 1, 0)),
    ("a step that ends without a count", check.tally(False, 0, "building"), (0, 1, 0)),
    ("a check", check.tally(True, 0, ""), (1, 0, 0)),
    ("a failed check", check.tally(True, 1, "3 passed, 0 failed"), (0, 1, 0)),
]
if (ROOT / ".git").exists():  # not in an unpacked archive
    with tempfile.TemporaryDirectory() as folder:
        found = changes(folder)
    CASES += [
        ("changed files", found, ([], ["committed", "deleted", "edited", "moved", "to", "un tracked"],
                                  ["deleted", "edited", "un tracked"])),
        ("--since an unknown commit", said("--since", "no-such"),
         (2, "usage: ./run check [--quick] [--list] [--since REV | PATH...]\nrun check: error: Git knows no commit no-such")),
        ("--since and a path", said("--since", "HEAD", "core")[0], 2),
        ("an unknown path", said("core/nowhere.cpp"), (2, UNKNOWN.format("core/nowhere.cpp"))),
        ("a path outside of the tree", said("/nowhere"), (2, UNKNOWN.format("/nowhere"))),
        ("an unknown option", said("--slow")[0], 2),
    ]

failed = 0
for name, found, wanted in CASES:
    if found != wanted:
        failed += 1
        print(f"FAILED: {name}\n  found    {found}\n  expected {wanted}")
print(f"{len(CASES) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
