#!/usr/bin/env python3
"""PyTorch's side of recurrent_bench.cpp: recurrent_torch.py [THREADS]."""
import sys
import time

import torch


def measure(layer, what, f):
    for _ in range(3):
        f()
    times = []
    for _ in range(15):
        begin = time.process_time()
        f()
        times.append((time.process_time() - begin) * 1e3)
    times.sort()
    print(f"{layer} {what} {times[0]:.2f} {times[7]:.2f}")


def main():
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    x = torch.randn(50, 32, 256)
    for name, layer in (("lstm", torch.nn.LSTM(256, 256)), ("gru", torch.nn.GRU(256, 256)),
                        ("rnn", torch.nn.RNN(256, 256))):
        def train():
            layer.zero_grad()
            layer(x)[0].sum().backward()

        def infer():
            with torch.no_grad():
                layer(x)
        measure(name, "training", train)
        measure(name, "inference", infer)


if __name__ == "__main__":
    main()
