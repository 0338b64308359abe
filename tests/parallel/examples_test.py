"""The multi-device examples: output of the DataParallel tour on 1, 2, 3 and 8 devices, and the pipeline's gradients."""
import re
import subprocess
import sys

tour, pipeline = sys.argv[1:3]
PIECES = {  # devices: piece sizes for batches of 30 and of 10
    1: ([30], [10]),
    2: ([15, 15], [5, 5]),
    3: ([10, 10, 10], [4, 4, 2]),
    8: ([4, 4, 4, 4, 4, 4, 4, 2], [2, 2, 2, 2, 2]),
}


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.splitlines()


checks = 0


def expect(got, wanted, what):
    global checks
    checks += 1
    if got != wanted:
        sys.exit(f"{what}: got {got}, expected {wanted}")


def check_tour(argument, devices):
    out = lines(tour, argument)
    if devices > 1:
        expect(out.pop(0), f"Let's use {devices} devices!", "first line")
    for rows, pieces in zip([30, 30, 30, 10], [PIECES[devices][0]] * 3 + [PIECES[devices][1]]):
        inside, out = out[:len(pieces)], out[len(pieces):]
        wanted = [f"In Model: input size [{n}, 5] output size [{n}, 2]" for n in pieces]
        expect(sorted(inside), sorted(wanted), f"{argument}, batch of {rows}")
        expect(out.pop(0), f"Outside: input size [{rows}, 5] output_size [{rows}, 2]", argument)
    expect(out, [], "more lines")


for count in PIECES:
    check_tour(str(count), count)
check_tour("cpu:1,cpu:0", 2)
check_tour("cpu:0,cpu:2,cpu:1", 3)
failed = subprocess.run([tour, "cpu:0,cpu:0"], capture_output=True, text=True, timeout=120)
if failed.returncode == 0 or "appears twice" not in failed.stderr:
    sys.exit(f"duplicate device: {failed}")

for devices in ["cpu:0,cpu:1", "cpu:1,cpu:0"]:
    exact, rounded = lines(pipeline, devices)
    expect(exact.split(": ")[1], "0 and 0", f"pipeline on {devices}")
    for number in re.findall(r"\d\.\d+e-\d+", rounded):
        if float(number) > 1e-5:
            sys.exit(f"pipeline on {devices}: {rounded}")
print(f"{checks} passed, 0 failed")
