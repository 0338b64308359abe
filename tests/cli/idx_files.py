"""A folder of small random images in the format of Fashion-MNIST, for the tests of the tool."""
import os
import random
import struct


def idx(path, sizes, content):
    with open(path, "wb") as file:
        file.write(struct.pack(">HBB", 0, 8, len(sizes)) + struct.pack(f">{len(sizes)}I", *sizes) + content)


def write_data(folder, count, classes=10):
    os.makedirs(folder)
    draw = random.Random(1)
    for part, n in (("train", count), ("t10k", 50)):
        idx(f"{folder}/{part}-images-idx3-ubyte", (n, 28, 28), draw.randbytes(n * 784))
        idx(f"{folder}/{part}-labels-idx1-ubyte", (n,), bytes(i % classes for i in range(n)))
