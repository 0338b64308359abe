"""The loops of allocation_storm.cpp in PyTorch: python tests/core/memory/allocation_storm.py [MEGABYTES]"""
import math
import os
import sys
import time

import torch

MB = 1e6
state = 1


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / MB


def draw():
    global state
    state = state * 48271 % 2147483647
    return state / 2147483647


def touched(size):
    return torch.empty(int(size), dtype=torch.uint8).fill_(1)


def measure(name, loop):
    start = peak = resident()
    begin = time.monotonic()
    for _ in loop:
        peak = max(peak, resident())
    seconds = time.monotonic() - begin
    print(f"{name:8} {seconds:6.2f} s   peak {peak - start:7.1f}   nothing live {resident() - start:7.1f}")


def growing(most):
    for _ in range(2):
        for i in range(1, 101):
            x = touched(most * i / 100)
            yield
            del x


def mixed(most):
    live, held = [], 0
    for i in range(5000):
        size = math.floor(40e3 * (most / 4 / 40e3) ** draw())
        while held + size > most:
            at = int(draw() * len(live))
            live[at], live[-1] = live[-1], live[at]
            held -= live.pop().numel()
        live.append(touched(size))
        held += size
        if i % 16 == 0:
            yield


def small(most):
    size = 256
    while size <= 32e3:
        live = [touched(size) for _ in range(math.ceil(most / 4 / size))]
        yield
        del live
        size *= 2


def main():
    most = (float(sys.argv[1]) if len(sys.argv) > 1 else 200) * MB
    touched(1e6)
    for loop in (growing, mixed, small):
        measure(loop.__name__, loop(most))


main()
