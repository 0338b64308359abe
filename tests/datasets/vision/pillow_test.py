#!/usr/bin/env python3
"""Compares image files and transforms with Pillow's, and colours with torchvision's on tensors.

    pillow_test.py ANSWERS     ANSWERS is the program of image_answers.cpp

Files read, images resized, turned or with other levels must be equal; a colour may differ by one level. Without Pillow
and NumPy the test is skipped; without torchvision, the colours are. The last line is `N passed, N failed`.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from PIL import Image, ImageOps
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
try:
    import torch
    from torchvision.transforms import InterpolationMode, autoaugment
    from torchvision.transforms import functional as F
except ImportError:
    torch = None

draw = np.random.default_rng(1)


def picture(height, width, channels):
    """Waves with noise, the whole range of levels."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 110 * np.sin(x / (3 + 5 * c) + c) * np.cos(y / (11 - 2 * c)) for c in range(channels)]
    return (np.stack(waves, -1) + draw.normal(0, 25, (height, width, channels))).clip(0, 255).astype(np.uint8)


def files(folder):
    """Image files of all kinds, by name."""
    rgb, rgba, grey = (Image.fromarray(a) for a in (picture(61, 83, 3), picture(40, 33, 4),
                                                    picture(50, 37, 1)[:, :, 0]))
    exif = Image.Exif()
    made = {}

    def add(name, image, **how):
        image.save(folder / name, **how)
        made[name] = folder / name

    for name, image in (("rgb", rgb), ("grey", grey), ("one_row", rgb.resize((90, 1))),
                        ("one_column", rgb.resize((1, 90)))):
        add(f"{name}.png", image)
        for quality in (30, 75, 96):
            for how in ({}, {"progressive": True}, {"subsampling": 0}, {"subsampling": 1}, {"optimize": True}):
                if name != "grey" or "subsampling" not in how:
                    add(f"{name}{quality}{''.join(map(str, [*how.keys(), *how.values()]))}.jpg", image,
                        quality=quality, **how)
    add("alpha.png", rgba)
    add("grey_alpha.png", rgba.convert("LA"))
    add("palette.png", rgb.quantize(50))
    add("palette_transparent.png", rgb.quantize(50), transparency=3)
    add("bit.png", grey.convert("1"))
    add("cmyk.jpg", rgb.convert("CMYK"), quality=90)
    cmyk = Image.frombytes("CMYK", (45, 31), picture(31, 45, 4).tobytes())
    add("cmyk_random.jpg", cmyk, quality=95)
    add("rgb_stored.jpg", rgb, quality=95, keep_rgb=True)
    for k in range(1, 9):
        exif[0x0112] = k
        add(f"turned{k}.jpg", rgb, exif=exif, quality=90)
        add(f"turned{k}.png", rgb, exif=exif)
    return made


class Answers:
    def __init__(self, program, folder):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.out = folder / "out"

    def __call__(self, function, path, *numbers):
        print(function, path, self.out, *numbers, file=self.process.stdin, flush=True)
        said = self.process.stdout.readline().split(maxsplit=1)
        if not said or said[0] == "error":
            return " ".join(said)
        c, h, w = int(said[0]), *map(int, said[1].split())
        return np.frombuffer(self.out.read_bytes(), np.uint8).reshape(c, h, w).transpose(1, 2, 0)


class Count:
    passed = failed = 0

    def compare(self, name, ours, theirs, most=0):
        theirs = np.asarray(theirs)
        theirs = theirs[:, :, None] if theirs.ndim == 2 else theirs
        if isinstance(ours, np.ndarray) and ours.shape == theirs.shape:
            difference = np.abs(ours.astype(int) - theirs.astype(int)).max()
        else:
            difference = f"{ours if isinstance(ours, str) else ours.shape} for {theirs.shape}"
        if isinstance(difference, str) or difference > most:
            self.failed += 1
            print(f"FAILED: {name}: {difference}")
        else:
            self.passed += 1


def compare_geometry(ask, count, path, image):
    sizes = [(1, 1), (7, 200), (224, 224), (61, 20), (30, 83), (61, 83), (150, 3), (33, 41)]
    for name, mode in (("bilinear", Image.BILINEAR), ("bicubic", Image.BICUBIC), ("nearest", Image.NEAREST)):
        for h, w in sizes:
            count.compare(f"{name} {path.name} {h} x {w}", ask(name, path, h, w), image.resize((w, h), mode))


def compare_colors(ask, count, path, image):
    tensor = torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1)
    for size in ((20, 30), (21, 30), (60, 83), (70, 90), (61, 91)):
        count.compare(f"center_crop {size}", ask("center_crop", path, *size), F.center_crop(image, size))
    for name in ("brightness", "contrast", "saturation", "hue"):
        for number in ((-0.5, -0.21, 0, 0.1, 0.37, 0.5) if name == "hue" else (0, 0.4, 1, 1.3, 2.5)):
            theirs = getattr(F, "adjust_" + name)(tensor, number).permute(1, 2, 0).numpy()
            count.compare(f"{name} {path.name} {number}", ask(name, path, number), theirs, most=1)


def compare_changes(ask, count, path, image):
    for angle, x, y, scale, shear_x, shear_y in ((0, 3, -5, 1, 0, 0), (33, 0, 0, 1, 0, 0), (-90, 2, 0, 1.5, 0, 0),
                                                 (0, 0, 0, 1, 17, 0), (0, 0, 0, 1, 0, -16.7), (211, 4, 9, 0.7, 11, -8)):
        theirs = F.affine(image, angle, [x, y], scale, [shear_x, shear_y])
        numbers = (angle, x, y, scale, shear_x, shear_y)
        count.compare(f"affine {path.name} {numbers}", ask("affine", path, *numbers), theirs)
    for angle in (0, 9, -30, 77.5, 190):
        count.compare(f"rotate {path.name} {angle}", ask("rotate", path, angle), F.rotate(image, angle))
    for name, numbers in (("posterize", (1, 4, 7, 8)), ("solarize", (0, 77.3, 128, 255)), ("autocontrast", ((),)),
                          ("equalize", ((),))):
        for number in numbers:
            number = () if number == () else (number,)
            count.compare(f"{name} {path.name} {number}", ask(name, path, *number), getattr(F, name)(image, *number))
    for factor in (0, 0.4, 1, 1.9):
        count.compare(f"sharpness {path.name} {factor}", ask("sharpness", path, factor),
                      F.adjust_sharpness(image, factor), most=1)


def compare_rand_augment(ask, count, path, image):
    """Each result is that of one of torchvision's operations, and each operation occurs in both directions."""
    magnitude, signs = 12, (1, -1)
    space = autoaugment.RandAugment()._augmentation_space(31, (image.height, image.width))
    theirs = {}
    for name, (values, signed) in space.items():
        value = float(values[magnitude]) if values.ndim else 0.0
        for sign in signs if signed else (1,):
            out = autoaugment._apply_op(image, name, sign * value, InterpolationMode.NEAREST, None)
            theirs[name, sign] = np.asarray(out).astype(int)
    found = set()
    for seed in range(250):
        ours = ask("rand_augment", path, seed, magnitude).astype(int)
        fits = {key for key, out in theirs.items() if np.abs(ours - out).max() <= 2}
        if not fits:
            count.compare(f"rand_augment {path.name}, seed {seed}", ours, theirs["Identity", 1])
        found |= fits
    count.compare(f"rand_augment: {sorted(theirs.keys() - found)} did not occur", np.array([[[len(found)]]]),
                  np.array([[len(theirs)]]))


def main():
    count = Count()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ask = Answers(sys.argv[1], folder)
        made = files(folder)
        for path in made.values():
            image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
            count.compare(f"read {path.name}", ask("read", path), image)
            if Image.open(path).mode == "RGB":
                count.compare(f"read_gray {path.name}", ask("read_gray", path), image.convert("L"))
        for name in ("rgb.png", "grey.png", "one_row.png", "one_column.png", "alpha.png"):
            compare_geometry(ask, count, made[name], Image.open(made[name]).convert("RGB"))
        if torch:
            for name in ("rgb.png", "alpha.png"):
                compare_colors(ask, count, made[name], Image.open(made[name]).convert("RGB"))
                compare_changes(ask, count, made[name], Image.open(made[name]).convert("RGB"))
            compare_rand_augment(ask, count, made["rgb.png"], Image.open(made["rgb.png"]).convert("RGB"))
        else:
            print("[skipped] colours: no torchvision")
            count.passed += 1
    print(f"{count.passed} passed, {count.failed} failed")
    return count.failed > 0


if __name__ == "__main__":
    sys.exit(main())
