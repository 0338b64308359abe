"""The examples with real models: inference on chosen devices, a caught mistake, and a model on two devices.

    examples_test.py INFERENCE_DEVICES TWO_DEVICE_RESNET VGG_SKIP [TANDEM]    ends with the line "N passed, N failed"
"""
import os
import re
import subprocess
import sys

inference, two_devices, skip = map(os.path.abspath, sys.argv[1:4])
launcher = [os.path.abspath(path) for path in sys.argv[4:5]]
checks = 0


def check(what, right):
    global checks
    checks += 1
    if not right:
        sys.exit(what)


def output(*command, code=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    check(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}", done.returncode == code)
    return done.stdout if code == 0 else done.stderr


for program in inference, two_devices, skip:
    check(f"{program} --help", "usage: " + os.path.basename(program) in output(program, "--help"))
    check(f"{program} --unknown", "usage: " in output(program, "--unknown", "1", code=1))

out = output(inference, "--device", "cpu:3", "--size", "32", "--batch", "1", "--seconds", "0.05", "--processes", "2")
for line in ("images: on cpu:0, device index 0", "moved:  on cpu:3, device index 3", "resnet50: logits on cpu:3",
             "resnet18: logits on cpu:3"):
    check(f"{line}:\n{out}", line in out)
threads = re.findall(r"^(\d) threads?, a model on a device each: (\S+) images/s$", out, re.M)
check(f"1, 2 and 4 threads:\n{out}", [count for count, speed in threads if float(speed) > 0] == ["1", "2", "4"])
processes = re.findall(r"^process (\d) on cpu:(\d): (\S+) images/s$", out, re.M)
check(f"two processes, each on its own device:\n{out}", sorted(p[:2] for p in processes) == [("0", "0"), ("1", "1")])
if launcher:
    out = output(*launcher, "launch", "-n", "2", inference, "--worker", "--size", "32", "--batch", "1",
                 "--seconds", "0.05")
    check(f"tandem launch:\n{out}", "process 0 on cpu:0" in out and "process 1 on cpu:1" in out)

for devices in "cpu:0,cpu:1", "cpu:1,cpu:1":
    out = output(two_devices, "--devices", devices, "--steps", "1", "--batch", "4", "--micro-batches", "2")
    losses = re.findall(r"loss (\S+) on one device, (\S+) on two; gradients differ by (\S+)$", out, re.M)
    check(f"{devices}:\n{out}", len(losses) == 2 and all(a == b and float(d) < 1e-4 for a, b, d in losses))
    check(f"{devices}: four times:\n{out}", len(re.findall(r": \d+\.\d ms$", out, re.M)) == 4)

out = output(skip, "--steps", "6")
check(f"the mistake:\n{out}", re.search(
    r"backward of Conv2d: a saved tensor was overwritten in place\n  tensor \[2, 64, 8, 8\].*\n  overwritten by relu_",
    out))
check(f"requires_grad of a result:\n{out}", re.search(r"requires_grad of a result changed:\n.*of leaf variables", out))
losses = [float(x) for x in re.findall(r"^step +\d+: loss (\S+)$", out, re.M)]
check(f"the repaired network trains:\n{out}", len(losses) == 6 and losses[-1] < losses[0])
print(f"{checks} passed, 0 failed")
