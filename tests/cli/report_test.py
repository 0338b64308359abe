#!/usr/bin/env python3
"""tandem report: the page's structure, escaping and self-containedness, and how a browser shows it.

  report_test.py TANDEM [PICTURES]      ends with the line "N passed, N failed"; keeps screenshots in the folder
  PICTURES

The browser is Debian's chromium; without it, what needs one is skipped.
"""
import base64
import hashlib
import html.parser
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from browser import Browser, colors, find_browser
from checks import check, finish

tandem = os.path.abspath(sys.argv[1])
pictures = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
EVIL = "<img src=x onerror=alert(1)>&\"'"  # the name of a run, and of a class


def run(*command, **env):
    return subprocess.run([tandem, *command], capture_output=True, text=True, timeout=120, env={**os.environ, **env})


def png(width, height, color):
    rows = b"".join(b"\0" + bytes(color) * width for _ in range(height))
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)


def write_pictures(folder):
    """Images of two classes, some of which have the other one's colour."""
    draw = random.Random(3)
    for part, n in (("train", 8), ("test", 6)):
        for name, color in ((EVIL, (200, 20, 20)), ("sea", (20, 60, 200))):
            for i in range(n):
                shown = color if i > 0 else color[::-1]
                write(f"{folder}/{part}/{name}/{i}.png", png(12, 12, [c + draw.randrange(20) for c in shown]))


def make_runs():
    write_pictures("data")
    os.makedirs(EVIL)
    common = ["--model", "linear", "--data", "data", "--recipe", "source", "--image-size", "8", "--batch-size", "4"]
    for folder, lr in ((EVIL, "0.2"), ("second", "0.05")):
        profile = {"TANDEM_PROFILE": f"{EVIL}/profile.json"} if folder == EVIL else {}
        made = run("train", *common, "--lr", lr, "--epochs", "3", "--out", folder, **profile)
        check(f"the run {folder}", made.returncode == 0, made.stderr)
    # A run of another kind that has not finished: other figures, no checkpoint.
    write("text/config.json",
          json.dumps({"model": "gpt2", "data": "book.txt", "epochs": 5, "optimizer": {"name": "adamw", "lr": 0.01}}))
    write("text/metrics.jsonl", "".join(json.dumps({"epoch": i, "train_loss": 4 / i, "validation_loss": 5 / i,
                                                    "validation_perplexity": None if i == 2 else 9.5 * i,
                                                    "note": "</script>"}) + "\n"
                                        for i in (1, 2, 3)))


class Page(html.parser.HTMLParser):
    VOID = {"meta", "link", "img", "br", "input"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.crossed, self.text, self.scripts = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.text).append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def test_structure(path, runs):
    text = open(path, encoding="utf-8").read()
    page = Page(text)
    check("tags nest", not page.crossed and not page.open, (page.crossed, page.open))
    links = [a[key] for _, a in page.tags for key in ("src", "href", "srcset", "action", "data") if key in a]
    check("nothing external", links and all(link.startswith("data:") for link in links), [l[:60] for l in links])
    rest = re.sub(r"http://www\.w3\.org/2000/svg", "", text)
    check("no addresses, no imports",
          not re.search(r"https?:|//[a-z]+\.|@import|url\(", re.sub(r"base64,[A-Za-z0-9+/=]*", "", rest)))
    check("no handlers in attributes", not [a for _, a in page.tags if any(key.startswith("on") for key in a)])
    check("two scripts: data and code", len(page.scripts) == 2, len(page.scripts))
    policy = next(a["content"] for a in page.all("meta") if "content" in a and "default-src" in a["content"])
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    check("the policy allows this script only",
          f"script-src 'sha256-{digest}';" in policy and "default-src 'none'" in policy, policy)
    check("names are escaped", "<img src=x" not in text and EVIL in "".join(page.text), text[:300])
    curves = json.loads(page.scripts[0])
    check("the curves of all runs", curves["runs"][0].startswith("<img") and len(curves["runs"]) == len(runs),
          curves["runs"])
    loss = next(p for p in curves["panels"] if p["title"] == "Loss")
    check("training and test in one panel", {(c["run"], c["part"]) for c in loss["curves"]} ==
          {(0, "train"), (0, "test"), (1, "train"), (1, "test"), (2, "train"), (2, "validation")}, loss)
    lines = [json.loads(line) for line in open(f"{EVIL}/metrics.jsonl")]
    check("their values", [c["y"] for c in loss["curves"] if c["run"] == 0 and c["part"] == "test"][0] ==
          [line["test_loss"] for line in lines], loss)
    perplexity = next(p for p in curves["panels"] if p["title"] == "Perplexity")
    check("a missing value leaves a gap", perplexity["curves"][0]["y"] == [9.5, None, 28.5], perplexity)
    shown = re.sub(r"\s+", " ", "".join(page.text))
    for words in ("lr 0.2 0.05", "optimizer.lr", "3 of 5", "has not finished", "does not classify images",
                  "Worst mistakes", "linear"):
        check(f"the page says: {words}", words in re.sub(r"\s*\n?\s*", lambda m: " " if m.group() else "", shown) or
              words in " ".join(t.strip() for t in page.text), shown[:1500])
    images = [a["src"] for a in page.all("img") if a["alt"].startswith("Test image")]
    check("pictures of the mistakes",
          images and all(base64.b64decode(i.split(",")[1])[:4] == b"\x89PNG" for i in images), len(images))
    counts = [int(t) for t in re.findall(r'<td class="(?:hit|miss)"[^>]*>([\d,]*)</td>', text) if t]
    scores = json.loads(run("eval", EVIL, "--json").stdout)
    check("the matrices have all test images", sum(counts) == 2 * scores["images"], counts)
    check("the accuracy is that of tandem eval", f"{100 * scores['accuracy']:.2f} %" in text, scores)
    # Only the busiest spans have a row, and which they are depends on the build.
    check("the profile", any(span in shown for span in ("SGD::step", "backward", "linear", "matmul")) and
          "Self (ms)" in shown)


def test_errors():
    write("broken/metrics.jsonl", '{"epoch": 1}\n{"epoch": \n')
    write("list/config.json", "[1]")
    os.makedirs("empty")
    for folder, *words in (("missing", "missing", "no such folder"), ("broken", "line 2", "metrics.jsonl"),
                           ("empty", "does not contain a run"), ("list", "config.json", "object")):
        made = run("report", folder)
        check(f"{folder}: an error", made.returncode == 2 and made.stderr.count("\n") == 1 and
              all(w in made.stderr for w in words), made.stderr)
    made = run("report", "second", "--out", "nowhere/x.html")
    check("a folder that is missing", made.returncode == 2 and "nowhere" in made.stderr, made.stderr)
    os.makedirs("runs/compare-1")
    write("runs/compare-1/compare.json", "{}")
    write("runs/notes.txt", "mine")
    shutil.copytree("text", "runs/text")
    made = run("report", "runs/compare-1", "runs/notes.txt", "runs/text")
    check("what is no run is left out", made.returncode == 0 and os.path.exists("runs/text/report.html") and
          os.listdir("runs/compare-1") == ["compare.json"] and made.stderr ==
          "note: left out, because no run is in it: runs/compare-1, runs/notes.txt\n", (made.stdout, made.stderr))
    for given, words in ((("runs/compare-1", "runs/notes.txt"), ("none of these", "runs/compare-1, runs/notes.txt")),
                         (("runs/compare-1",), ("does not contain a run",)), (("text", "missing"), ("no such folder",)),
                         (("runs/notes.txt",), ("runs/notes.txt",)), (("text", "broken"), ("line 2",))):
        made = run("report", *given)
        check(f"{given}: an error", made.returncode == 2 and made.stderr.count("\n") == 1 and
              all(w in made.stderr for w in words), made.stderr)
    write("deep/profile.json", "[" * 100000)
    write("deep/metrics.jsonl", "")
    made = run("report", "deep")
    page = open("deep/report.html").read() if made.returncode == 0 else ""
    check("a run that has just begun, with a broken profile", "no metrics yet" in page and "profile.json:" in page,
          made.stderr)
    os.rename("data", "moved")
    made = run("report", "second")
    page = open("second/report.html").read() if made.returncode == 0 else ""
    check("without the data, the page says why", "No confusion matrix" in page and "data" in page, made.stderr)
    made = run("report", "second", "--data", "moved")
    check("--data", made.returncode == 0 and "Worst mistakes" in open("second/report.html").read(), made.stderr)
    os.rename("moved", "data")


def look(browser, path):
    grounds = set()
    for width in (1280, 400):
        for dark in (False, True):
            name = f"{width}-{'dark' if dark else 'light'}"
            browser.open("file://" + path, width, dark)
            check(f"{name}: no errors on the console", browser.errors() == [], browser.errors())
            check(f"{name}: no connections", all(a.startswith(("file:", "data:")) for a in browser.addresses()),
                  browser.addresses())
            check(f"{name}: the page is no wider than the window",
                  browser.value("document.documentElement.scrollWidth") <= width,
                  browser.value("document.documentElement.scrollWidth"))
            check(f"{name}: the screenshot is not empty", colors(browser.screenshot(pictures, name)) > 30)
            grounds.add(browser.value("getComputedStyle(document.body).backgroundColor"))
    check("light and dark pages differ", len(grounds) == 2, grounds)


def write_hostile_run():
    """Names that are code, longer than a line without a place to break, or written from right to left. Returns the
    run's folder."""
    code = "document.title='run'"
    names = [f"<img src=x onerror={code}>", "{{constructor}}", f"</script><script>{code}</script>", "n" * 200,
             "\U0001f984" * 9, "\u202eשלום", "__proto__"]
    folder = "L" * 200
    write(f"{folder}/config.json",
          json.dumps({"model": names[0], "data": names[2], "epochs": 5, **dict.fromkeys(names, "v" * 300)}))
    write(f"{folder}/metrics.jsonl",
          "".join(json.dumps({"epoch": i, "train_loss": i, **dict.fromkeys(names, i)}) + "\n" for i in (1, 2)))
    return folder


def look_at_hostile_names(browser, path):
    for width in (1280, 400):
        browser.open("file://" + path, width, False)
        browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
        check(f"hostile names, {width}: nothing runs",
              browser.value("document.title") != "run" and browser.errors() == [] and
              browser.value("document.scripts.length") == 2 and
              browser.value("document.querySelectorAll('[onerror]').length") == 0)
        check(f"hostile names, {width}: the page is no wider than the window",
              browser.value("document.documentElement.scrollWidth") <= width,
              browser.value("document.documentElement.scrollWidth"))
        browser.screenshot(pictures, f"hostile-{width}")


def test_in_browser(path, hostile):
    program = find_browser()
    if program is None:
        print("[skipped] the page in a browser: no chromium")
        check("skipped", True)
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            look(browser, path)
            look_at_hostile_names(browser, hostile)
            browser.open("file://" + path, 1280, False)
            check("a curve for each run and part, and within the epochs of the tool's",
                  browser.value("document.querySelectorAll('.panel')[0].querySelectorAll('path').length") == 8)
            box = browser.value("(r => [r.left, r.top, r.width, r.height])(document.querySelector('.panel "
                                "svg').getBoundingClientRect())")
            hidden = "document.querySelector('.tooltip').hidden"
            check("no values without a pointer", browser.value(hidden) is True)
            for at in (0.5, 0.98):
                browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + at * box[2],
                             y=box[1] + box[3] / 2)
            line = json.loads(open(f"{EVIL}/metrics.jsonl").readlines()[2])
            shown = browser.value("document.querySelector('.tooltip').innerText")
            check("the values under the pointer",
                  browser.value(hidden) is False and "epoch 3" in shown and EVIL in shown and
                  f"{line['test_loss']:.5g}" in shown, shown)
            tip = browser.value("(r => [r.left, r.right, "
                                "r.top])(document.querySelector('.tooltip').getBoundingClientRect())")
            check("beside the pointer",
                  box[0] < tip[0] and tip[1] < box[0] + 0.98 * box[2] and box[1] < tip[2] < box[1] + box[3], (tip, box))
            browser.screenshot(pictures, "tooltip")
            browser.value("document.querySelector('.panel svg').focus()")
            for _ in range(2):
                browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft", code="ArrowLeft",
                             windowsVirtualKeyCode=37)
            check("arrow keys", "epoch 1" in browser.value("document.querySelector('.tooltip').innerText"))
            browser.value("document.querySelector('#legend input').click()")
            check("a run can be switched off",
                  browser.value("document.querySelector('.panel').querySelectorAll('path').length") == 5)
            browser.value("document.querySelector('.panel button').click()")
            check("no errors after all", browser.errors() == [], browser.errors())
        finally:
            browser.close()


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        make_runs()
        made = run("report", EVIL, "second", "text", "--out", "page.html")
        check("the report", made.returncode == 0 and "page.html" in made.stdout, made.stdout + made.stderr)
        test_structure("page.html", (EVIL, "second", "text"))
        made = run("report", write_hostile_run(), "text", "--out", "hostile.html")
        check("the report of hostile names", made.returncode == 0, made.stderr)
        test_in_browser(os.path.join(work, "page.html"), os.path.join(work, "hostile.html"))
        test_errors()
        os.chdir("/")
    sys.exit(finish())


main()
