#!/usr/bin/env python3
"""What a run is compared and tested by: --validation, folders without a part for tests, runs that stopped early.

  validation_test.py TANDEM        ends with the line "N passed, N failed"
"""
import json
import os
import re
import shutil
import subprocess
import sys

from checks import check, finish, in_new_folder, refused
from idx_files import write_data
from picture_files import write_png

tandem = os.path.abspath(sys.argv[1])
KINDS = {"red": ((200, 20, 20), 12), "sea": ((20, 60, 200), 8), "gray": ((90, 90, 90), 5)}


def tool(*args):
    return subprocess.run([tandem, *args], capture_output=True, text=True, timeout=120)


def train(out, *args, data="data", epochs=3):
    return tool("train", "--model", "linear", "--data", data, "--epochs", str(epochs), "--batch-size", "20", "--out", out, *args)


def metrics(folder):
    with open(f"{folder}/metrics.jsonl") as file:
        return [json.loads(line) for line in file]


def config(folder):
    with open(f"{folder}/config.json") as file:
        return json.load(file)


def write_classes(folder, shift=0):
    for name, (color, count) in KINDS.items():
        os.makedirs(f"{folder}/{name}")
        for i in range(count):
            write_png(f"{folder}/{name}/{i}.png", 10 + i + shift, 12, color)


def test_share_of_the_training_images():
    run = train("best", "--keep", "best", epochs=6)
    check("a tenth is held out", "data: 360 training, 40 validation and 50 test images of 28 x 28" in run.stdout, run.stdout)
    check("and recorded", config("best")["validation"] == 0.1, config("best"))
    lines = metrics("best")
    chosen = max(range(6), key=lambda i: lines[i]["validation_accuracy"])
    result = f"test accuracy {lines[chosen]['test_accuracy']:.4f} after {chosen + 1} epoch"
    check("the validation accuracy decides", result in run.stdout
          and f"by its validation accuracy, {lines[chosen]['validation_accuracy']:.4f}" in run.stdout, run.stdout)
    scored = json.loads(tool("eval", "best", "--json").stdout)
    check("that model is kept", abs(scored["accuracy"] - lines[chosen]["test_accuracy"]) < 1e-9, scored)
    check("it is computed again", tool("verify", "best").returncode == 0)
    check("other seeds hold out others", train("other", "--keep", "best", "--seed", "1", epochs=1).returncode == 0
          and metrics("other")[0]["validation_loss"] != lines[0]["validation_loss"])
    for options, share in ((["--patience", "2"], 0.1), (["--keep", "all"], None), ([], None),
                           (["--validation", "0.25"], 0.25), (["--validation", "0", "--keep", "best"], None)):
        run = train("o", *options, epochs=3)
        check(f"the share with {options}", run.returncode == 0 and config("o").get("validation") == share
              and ("validation_accuracy" in metrics("o")[0]) == (share is not None), run.stderr)
        shutil.rmtree("o")


def test_resume():
    whole, cut = ("--validation", "0.2", "--recipe", "source"), ("--validation", "0.2", "--recipe", "source", "--patience", "9")
    check("whole", train("whole", *whole, epochs=4).returncode == 0)
    check("half", train("half", *whole, epochs=2).returncode == 0)
    refused("another share", tool("train", "--resume", "half", "--validation", "0.1"), "--validation", "another value")
    run = tool("train", "--resume", "half", "--epochs", "4", "--validation", "0.2")
    check("resumed with the same images", run.returncode == 0
          and [line["state_sha256"] for line in metrics("half")] == [line["state_sha256"] for line in metrics("whole")]
          and [line["validation_loss"] for line in metrics("half")] == [line["validation_loss"] for line in metrics("whole")],
          run.stderr)
    run = train("patient", *cut, epochs=1)
    check("its value before", run.returncode == 0 and "320 training, 80 validation" in run.stdout, run.stdout)


def test_class_folders():
    write_classes("classes")
    run = train("c", "--image-size", "8", data="classes")
    check("a folder of classes is split", run.returncode == 0
          and "classes: 20 training and 5 test images (a fifth of each class) of 8 x 8, 3 classes" in run.stdout,
          run.stdout + run.stderr)
    scored = tool("eval", "c")
    check("always the same", scored.returncode == 0 and scored.stdout.startswith("5 test images")
          and f"accuracy {metrics('c')[-1]['test_accuracy']:.4f}" in scored.stdout, scored.stdout + scored.stderr)
    check("verify", tool("verify", "c").returncode == 0)
    check("report", tool("report", "c").returncode == 0)
    run = train("d", "--image-size", "8", "--keep", "best", data="classes")
    check("and split again", "17 training, 3 validation and 5 test images" in run.stdout, run.stdout + run.stderr)
    os.makedirs("only/train")
    shutil.copytree("classes", "only/train", dirs_exist_ok=True)
    run = train("e", "--image-size", "8", data="only")
    check("also without a part for tests", "20 training and 5 test images (a fifth of each class)" in run.stdout, run.stderr)
    open("classes/sea/broken.png", "w").close()
    run = train("f", "--image-size", "8", "--skip-broken", data="classes")
    check("a broken image is left out first", run.returncode == 0 and "20 training and 5 test images" in run.stdout
          and "broken.png" in run.stderr, run.stdout + run.stderr)
    check("and when it is evaluated", tool("eval", "f").stdout.startswith("5 test images"))
    os.makedirs("single")
    shutil.copytree("classes/red", "single/red")
    refused("one class", train("x", data="single"), "has only one folder of images, red; expected one for each class")
    shutil.copytree("classes", "odd")
    shutil.copytree("classes", "odd/test")
    refused("no part to train on", train("x", data="odd"), "has a folder test, but no train")
    os.makedirs("nothing/inside")
    refused("no images", train("x", data="nothing"), "nothing")


def test_what_is_no_folder_of_classes():
    """Pictures beside or below other data."""
    shutil.copytree("data", "dotted")
    for name in os.listdir("dotted"):
        os.rename(f"dotted/{name}", f"dotted/{name.replace('-idx', '.idx')}")
    shutil.copytree("classes", "dotted/samples")
    run = train("i", data="dotted", epochs=1)
    check("a data set with pictures beside it", run.returncode == 0 and "400 training and 50 test" in run.stdout, run.stderr)
    for part in ("Train", "Test"):
        shutil.copytree("classes", f"capitals/{part}")
    refused("parts under other names", train("x", data="capitals"), "capitals: Te", "is no class", "must be called train and test")
    for i in range(3):
        os.makedirs(f"ones/{i}")
        write_png(f"ones/{i}/0.png", 9, 9, (i, 80, 80))
    refused("one image each", train("x", data="ones"), "ones: has no part for tests, and no class has two images")
    os.makedirs("pairs")
    shutil.copytree("ones", "pairs/train")
    shutil.copytree("ones", "pairs/test")
    refused("nothing to hold out", train("x", "--keep", "best", "--image-size", "8", data="pairs"), "no class has two images",
            "--validation 0 compares epochs by the test images")
    check("the way out", train("p", "--keep", "best", "--image-size", "8", "--validation", "0", data="pairs").returncode == 0)


def test_validation_folder():
    for shift, part in enumerate(("train", "valid", "test")):
        write_classes(f"three/{part}", shift)
    run = train("v", "--image-size", "8", "--keep", "best", data="three")
    check("the folder's part validates", run.returncode == 0 and config("v").get("validation_folder") is True
          and "25 training, 25 validation and 25 test images" in run.stdout, run.stdout + run.stderr)
    check("verify", tool("verify", "v").returncode == 0)
    run = train("w", "--image-size", "8", data="three")
    check("only where it is needed", "25 training and 25 test images" in run.stdout and "valid" not in config("w"), run.stdout)
    run = train("u", "--image-size", "8", "--validation", "0.2", data="three")
    check("unless a share is named", "20 training, 5 validation and 25 test images" in run.stdout, run.stdout + run.stderr)
    refused("its own share is no share", tool("train", "--resume", "v", "--validation", "0"), "--validation")
    shutil.copytree("three", "two", ignore=shutil.ignore_patterns("valid"))
    refused("moved without it", tool("train", "--resume", "v", "--data", "two"), "not a folder with train, val and test")
    os.remove("three/valid/sea/0.png")
    refused("its files are part of the data", tool("train", "--resume", "v"), "not the data that the run was started with")


def test_report():
    run = train("early", "--patience", "2", "--keep", "best", "--lr", "0.5", epochs=40)
    lines = metrics("early")
    best = max(range(len(lines)), key=lambda i: lines[i]["validation_accuracy"])
    check("it stops early", "stopped early: the validation accuracy has not improved for 2 epochs" in run.stdout, run.stdout)
    check("report", tool("report", "early").returncode == 0)
    with open("early/report.html") as file:
        page = file.read()
    check("it has ended", "has not finished" not in page and "stopped early: the validation accuracy" in page)
    row = re.search(r"<tr><th scope=\"row\">.*?</tr>", page[page.index("overview"):], re.S).group(0)
    kept, last = (f"{100 * lines[i]['test_accuracy']:.2f} %" for i in (best, -1))
    check("the kept model's figures", f'<span>{kept}' in row
          and (kept == last or f"<small>last {last}</small>" in row), row)
    check("why", f"those after epoch {best + 1}." in page)
    curves = json.loads(re.search(r'id="curves-data">(.*?)</script>', page, re.S).group(1))
    marked = [c["best"] for panel in curves["panels"] for c in panel["curves"] if "best" in c]
    check("the best epoch is marked", marked and set(marked) == {best}, marked)


def make_data():
    write_data("data", 400)


if __name__ == "__main__":
    in_new_folder((make_data, test_share_of_the_training_images, test_resume, test_class_folders, test_what_is_no_folder_of_classes, test_validation_folder, test_report))
    sys.exit(finish())
