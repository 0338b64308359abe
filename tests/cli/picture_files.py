"""Small data sets of coloured images, in the formats of CIFAR and of folders of PNG files, for the tests."""
import os
import random
import struct
import zlib


def shade(draw, label):
    """Pixels [3, 32, 32] whose brightness tells the class."""
    return bytes(min(255, 20 * label + draw.randrange(20)) for _ in range(3072))


def write_cifar10(folder, per_file=8):
    os.makedirs(folder)
    draw = random.Random(1)
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        with open(f"{folder}/{name}", "wb") as file:
            for i in range(per_file):
                file.write(bytes([i % 10]) + shade(draw, i % 10))
    with open(f"{folder}/batches.meta.txt", "w") as file:
        file.write("".join(f"{name}\n"
                           for name in "airplane automobile bird cat deer dog frog horse ship truck".split()))


def write_cifar100(folder):
    os.makedirs(folder)
    draw = random.Random(2)
    for name, n in (("train.bin", 24), ("test.bin", 8)):
        with open(f"{folder}/{name}", "wb") as file:
            for i in range(n):
                file.write(bytes([i % 20, i % 100]) + shade(draw, i % 10))


def write_pixels(path, width, height, pixels, kind):
    """A PNG file of the colour type `kind`: 0 is gray, 2 is RGB."""
    size = len(pixels) // height
    rows = b"".join(b"\0" + pixels[y * size:y * size + size] for y in range(height))
    chunk = lambda name, body: struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_gray_png(path, width, height, pixels):
    write_pixels(path, width, height, pixels, 0)


def write_png(path, width, height, color):
    """A color that becomes lighter to the right and below, so that each part of the image is another one."""
    lighter = lambda x, y: bytes(min(255, c + x // 2 + y // 3) for c in color)
    write_pixels(path, width, height, b"".join(lighter(x, y) for y in range(height) for x in range(width)), 2)


def write_pictures(folder):
    draw = random.Random(3)
    for part, n in (("train", 6), ("val", 2)):
        for name, color in (("red", (200, 20, 20)), ("sea", (20, 60, 200))):
            os.makedirs(f"{folder}/{part}/{name}")
            for i in range(n):
                write_png(f"{folder}/{part}/{name}/{i}.png", draw.randrange(40, 60), draw.randrange(34, 70), color)
