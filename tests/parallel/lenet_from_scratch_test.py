"""The example lenet_from_scratch: the output of its helpers, and that it learns on one, two and three devices.

With --short it trains too little to learn, for sanitizer builds.
"""
import re
import subprocess
import sys

program, short = sys.argv[1], "--short" in sys.argv
epochs, images = ("1", "240") if short else ("5", "1500")


def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=240)


helpers = run("--helpers").stdout
after = helpers.split("after allreduce:")[1].split("input:")[0]
if len(re.findall(r"^ 3  3$", after, re.M)) != 2:
    sys.exit(f"allreduce: {helpers}")
rows = re.findall(r"[\d ]+\d\n", helpers.split("scattered over cpu:0, cpu:1:")[1])
if [row.split()[0] for row in rows] != ["0", "5", "10", "15"] or helpers.count("CPULongType{2,5}") != 2:
    sys.exit(f"scatter: {helpers}")

for devices in ["cpu:0", "cpu:0,cpu:1", "cpu:2,cpu:0,cpu:1"]:
    trained = run("--devices", devices, "--epochs", epochs, "--images", images, "--batch", "12", "--lr", "0.3")
    if trained.returncode and "fashion-mnist" in trained.stderr:
        print("skipped: no data set fashion-mnist")
        sys.exit(77)
    names = devices.replace(",", ", ") if "," in devices else "cpu"
    if trained.returncode or f"running on {names}" not in trained.stdout:
        sys.exit(f"{devices}: {trained}")
    accuracy = float(re.findall(r"test accuracy (0\.\d{4})", trained.stdout)[-1])
    if accuracy < 0.4 and not short:  # observed: 0.64 to 0.69
        sys.exit(f"{devices}: test accuracy {accuracy}")
twice = run("--devices", "cpu:0,cpu:0")
if twice.returncode == 0 or "appears twice" not in twice.stderr:
    sys.exit(f"duplicate device: {twice}")
print("6 passed, 0 failed")  # two helpers, three device lists, one error
