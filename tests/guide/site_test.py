#!/usr/bin/env python3
"""Tests docs/site.py: what it makes of pages, and that it finds links that lead nowhere. Also whether
docs/reference/layers.dox has the shapes of every layer, and docs/results/speed.svg shows what the pages beside it
say.

    site_test.py     ends with the line "N passed, N failed"
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
failed = passed = 0


def expect(what, got, wanted):
    global failed, passed
    if got == wanted:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}\n  expected: {wanted!r}\n  got:      {got!r}")


def write(top, files):
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
        with open(os.path.join(top, name), "w", encoding="utf-8") as file:
            file.write(text)


def run(top, *arguments):
    done = subprocess.run([sys.executable, "docs/site.py", *arguments], cwd=top, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def page(top, text, name="docs/guide/tool.md"):
    write(top, {name: text})
    return run(top, "page", name)[1]


def test_pages(top):
    write(top, {"docs/guide/index.md": "# Guide\n[B](b.md#x) [T](tool.md) [R](../../README.md)\n",
                "docs/guide/a.md": "# A\n", "docs/guide/b.md": "# B\n", "README.md": "# R\n", "LICENSE": "l\n"})
    expect("headings", page(top, "# The `tool --x`\n## A, b & c\n```sh\n# not a heading\n```\n"),
           "# The tool \\--x {#guide_tool}\n## A, b & c {#guide_tool-a-b--c}\n```sh\n# not a heading\n```\n")
    expect("links", page(top, "[a](a.md), [b](b.md#x-y), [r](../../README.md), [here](#a), [l](../../LICENSE), [w](https://w/)\n"),
           "[a](@ref guide_a), [b](@ref guide_b-x-y), [r](@ref readme), [here](@ref guide_tool-a), [l](files/LICENSE), "
           "[w](https://w/)\n")
    expect("code", page(top, "`[a](a.md)` ``x`[a](a.md)`` u@h\n"), "``[a](a.md)`` ``x`[a](a.md)`` u\\@h\n")
    expect("bold code", page(top, "**`a` b** `**c**`\n"), "<b>``a`` b</b> ``**c**``\n")
    expect("links and code over two lines", page(top, "[a\nb](a.md) `c\n[a](a.md)` [a](a.md)\n"),
           "[a b](@ref guide_a) ``c\n[a](a.md)`` [a](@ref guide_a)\n")
    expect("a link with code", page(top, "[the `a`](a.md)\n"), "[the a](@ref guide_a)\n")
    write(top, {"docs/p.svg": ""})
    expect("pictures", page(top, "![p](../p.svg) [p](../p.svg)\n"), "![p](p.svg) [p](files/docs/p.svg)\n")
    expect("a folder", page(top, "[r](../guide)\n"), "[r](@ref guide)\n")
    expect("the order of the pages", run(top, "pages")[1].split(),
           [f"docs/guide/{name}.md" for name in ("index", "b", "tool", "a")] + ["README.md"])
    write(top, {"docs/guide/tool.md": "[x](gone.md)\n"})
    expect("a link that leads nowhere", run(top, "pages")[0::2],
           (1, "docs/guide/tool.md: the link leads to gone.md, which is not there\n"))


def test_check(top):
    write(top, {"html/a.html": '<a href="b.html#x">b</a><a href="files/LICENSE">l</a><img src="p.png"/><a href="https://w/">w</a>',
                "html/b.html": '<a id="x"></a><a href="#x">x</a>', "html/p.png": "", "LICENSE": "l\n"})
    expect("good links", run(top, "check", "html"), (0, "", ""))
    with open(os.path.join(top, "html/files/LICENSE"), encoding="utf-8") as file:
        expect("a file of the repository", file.read(), "l\n")
    write(top, {"html/b.html": '<a id="y"></a><object data="gone.svg"></object>', "html/c.html": "@ref x"})
    expect("bad links", run(top, "check", "html"),
           (1, "", "a.html: b.html#x is not there\nb.html: gone.svg is not there\nc.html: has @ref in its text\n3 mistakes\n"))


def test_layers():
    with open(f"{root}/docs/reference/layers.dox", encoding="utf-8") as file:
        blocks = file.read().split("/**")
    described = {found[1] for block in blocks if "@par Shapes" in block
                 for found in [re.search(r"@class tandem::nn::(\w+)Impl\n", block)] if found}
    for path in glob.glob(f"{root}/nn/layers/*.h"):
        with open(path, encoding="utf-8") as file:
            layers = re.findall(r"^TANDEM_MODULE\((\w+)\)|^class (\w+) : public ModuleHolder", file.read(), re.M)
        names = {name for pair in layers for name in pair if name}
        expect(f"layers of {os.path.basename(path)} without shapes in layers.dox", names - described, set())


def test_speed(top):
    folder = os.path.join(top, "docs/results")
    shutil.copytree(os.path.join(root, "docs/results"), folder)

    def checked(page="gpu.md", old="", new=""):
        with open(os.path.join(folder, page), encoding="utf-8") as file:
            text = file.read()
        assert old in text, f"{page} has other figures than {old}: change this test with them"
        write(folder, {page: text.replace(old, new)})
        done = subprocess.run([sys.executable, "speed_picture.py", "--check"], cwd=folder, capture_output=True, text=True)
        write(folder, {page: text})
        return done.returncode, done.stderr.strip()

    expect("the picture of speeds", checked(), (0, ""))
    expect("another figure", checked(old="| 27.433 ms", new="| 26.433 ms"),
           (1, "docs/results/speed.svg is not what the pages say: run docs/results/speed_picture.py"))
    expect("a row that is gone", checked(old="| MobileNetV2 |", new="| MobileNetV3 |"),
           (1, 'docs/results/gpu.md: the table has no row "MobileNetV2"'))
    expect("a network beyond the bars", checked("cpu.md", "| vgg16 | 1 | 316 | 384 |", "| vgg16 | 1 | 416 | 384 |"),
           (1, 'docs/results/cpu.md: "vgg16", 0.92, is beyond the bars shown'))


test_layers()
for test in (test_pages, test_check, test_speed):
    with tempfile.TemporaryDirectory() as top:
        os.makedirs(os.path.join(top, "docs"))
        shutil.copy(os.path.join(root, "docs/site.py"), os.path.join(top, "docs"))
        test(top)
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
