#!/usr/bin/env python3
"""One PyTorch process of a measurement: the same work as bench_distributed's train way=ddp and all_reduce.

    torch_worker.py train images=PATH batch=N steps=N warm=N       LeNet
    torch_worker.py all_reduce bytes=N repeats=N
"""
import gzip
import json
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 3), nn.Conv2d(20, 50, 5)
        self.fc1, self.fc2 = nn.Linear(800, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.avg_pool2d(F.relu(self.conv1(x)), 2)
        x = F.avg_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def idx(path, header):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)


def timed(repeats, warm, step):
    for _ in range(warm):
        step()
    dist.barrier()
    seconds, begin = [], time.perf_counter()
    for _ in range(repeats):
        before = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - before)
    dist.barrier()
    return {"median": statistics.median(seconds), "best": min(seconds), "mean": (time.perf_counter() - begin) / repeats}


def train(options):
    images = idx(options["images"], 16).view(-1, 28, 28)
    labels = idx(options["images"].replace("images-idx3", "labels-idx1"), 8).long()
    batch, rank = int(options.get("batch", 256)), dist.get_rank()
    part = batch // dist.get_world_size()
    order, at = torch.randperm(len(images)), 0
    model = nn.parallel.DistributedDataParallel(LeNet(), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step():
        nonlocal at
        if at + batch > len(order):
            at = 0
        chosen = order[at + rank * part:at + (rank + 1) * part]
        at += batch
        optimizer.zero_grad()
        inputs = images.index_select(0, chosen).unsqueeze(1).float().div_(255)
        F.cross_entropy(model(inputs), labels.index_select(0, chosen)).backward()
        optimizer.step()

    return timed(int(options.get("steps", 50)), int(options.get("warm", 5)), step)


def all_reduce(options):
    tensor = torch.zeros(int(options["bytes"]) // 4)
    return timed(int(options.get("repeats", 50)), 5, lambda: dist.all_reduce(tensor))


def main():
    options = dict(text.split("=", 1) for text in sys.argv[2:])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    result = {"train": train, "all_reduce": all_reduce}[sys.argv[1]](options)
    print(json.dumps({"rank": dist.get_rank(), **result}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
