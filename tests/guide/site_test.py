#!/usr/bin/env python3
"""Tests docs/site.py: what it makes of pages and of Doxygen's XML, and that it finds bad links. Also whether
docs/reference/layers.dox has the shapes of every layer, and docs/results/speed.svg shows what the pages beside it
say.

    site_test.py     ends with the line "N passed, N failed"
"""
import glob
import json
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
    return done.returncode, done.stdout + done.stderr


def read(top, name):
    path = os.path.join(top, name)
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


XML = """<doxygen><compounddef id="{id}" kind="{kind}" prot="public"><compoundname>{name}</compoundname>{inside}
<location file="{file}" line="{line}"/></compounddef></doxygen>"""
MEMBER = """<memberdef kind="function" id="m{name}" prot="{prot}" virt="{virt}"><type>Tensor</type><name>{name}</name>
<argsstring>{arguments}</argsstring>{params}<briefdescription>{about}</briefdescription>
<location file="{file}" line="{line}"/></memberdef>"""


def member(name, line, about="", prot="public", file="nn/net.h", arguments="()", params="", virt="non-virtual"):
    return MEMBER.format(name=name, line=line, about=about, prot=prot, file=file, arguments=arguments, params=params,
                         virt=virt)


def compound(id, kind, name, line, inside="", file="nn/net.h"):
    return {f"xml/{id}.xml": XML.format(id=id, kind=kind, name=name, inside=inside, file=file, line=line)}


GUIDE = {f"docs/guide/{name}.md": f"# {name}\n"
         for name in ("training", "howto", "data", "models", "distributed", "onnx", "profiling")}


def pages(top, text, name="docs/guide/tool.md"):
    write(top, {name: text})
    return run(top, "pages", "xml", "out/pages")


def test_pages(top):
    write(top, {"docs/guide/a.md": "# A\n", "docs/results/README.md": "# R\n", "LICENSE": "l\n", "x/y.cpp": "int y;\n",
                **GUIDE, "docs/p.svg": "<svg/>", "docs/mkdocs.yml": "nav:\n  - Reference:\n", "docs/site.css": "",
                **compound("layers", "page", "layers", 1)})
    text = ("[a](a.md#x) [l](../../LICENSE) [y](../../x/y.cpp) [w](https://w/) [r](../results) ![p](../p.svg)\n"
            "`[a](../../x/y.cpp)` [`a`\nb](../../x/y.cpp)\n```sh\n[a](gone.md)\n```\n")
    expect("pages", pages(top, text), (0, ""))
    expect("links", read(top, "out/pages/docs/guide/tool.md"),
           text.replace("[l](../../LICENSE", "[l](../../LICENSE.md")
           .replace("[y](../../x/y.cpp", "[y](../../x/y.cpp.md")
           .replace("b](../../x/y.cpp", "b](../../x/y.cpp.md").replace("../results", "../results/README.md"))
    expect("a file as a page", read(top, "out/pages/x/y.cpp.md"), "# x/y.cpp\n\n````cpp\nint y;\n````\n")
    expect("a picture", read(top, "out/pages/docs/p.svg"), "<svg/>")
    expect("the areas", "      - ONNX: reference/areas/onnx.md\n" in read(top, "out/pages.yml"), True)
    expect("a link that leads nowhere", pages(top, "[x](gone.md)\n"),
           (1, "docs/guide/tool.md: the link leads to gone.md, which is not there\n"))


def test_reference(top):
    header = "// The net: `Net`.\n//\n//   Net net;\n#pragma once\n" + 10 * "x\n" + "\n" + 10 * "x\n"
    described = member("forward", 7, '<para>See <ref refid="holder">Net</ref>, '
                       "<computeroutput>a &lt; b</computeroutput>.</para>", arguments="(const Tensor &amp;x=0) const",
                       params="<param><type>const Tensor &amp;</type><declname>x</declname><defval>0</defval></param>")
    base = '<basecompoundref prot="public">ModuleHolder&lt; NetImpl &gt;</basecompoundref>'
    of_class = member("to", 8, virt="virtual") + member("hidden", 9, prot="private") + described
    of_space = (member("relu_", 14) + member("relu", 13, "<para>max(0, x)</para>") + member("other", 16) +
                member("inner", 9, file="core/backend/table.h"))
    write(top, {**GUIDE, "docs/mkdocs.yml": "nav:\n", "docs/site.css": "", "nn/net.h": header,
                **compound("layers", "page", "layers", 1),
                **compound("holder", "class", "tandem::nn::Net", 12, base),
                **compound("net", "class", "tandem::nn::NetImpl", 6, of_class),
                **compound("space", "namespace", "tandem::nn", 1, of_space)})
    expect("the reference", pages(top, "# T\n"), (0, ""))
    text = read(top, "out/pages/reference/nn/net.md")
    expect("the comment of the header",
           "<p>The net: <code>Net</code>.</p><pre><code>Net net;</code></pre>" in text, True)
    expect("a class under its holder's name",
           "## nn::Net { #nn.Net }\n" in text and "class <b>nn::NetImpl</b>" in text, True)
    expect("members in their order, with comments",
           re.findall(r"<pre><code>(Tensor.*?)</code></pre></div>(<div class=.about.*?</div>)?", text, re.S)[:1],
           [("Tensor <b>forward</b>(const Tensor&amp; x = 0) const;\nvirtual Tensor <b>to</b>();",
             '<div class="about"><p>See <a href="net.html#nn.Net">Net</a>, <code>a &lt; b</code>.</p></div>')])
    expect("functions with one comment", re.findall("^## (.*)", text, re.M)[1:],
           ["relu { #nn.relu }", "other { #nn.other }"])
    expect("what follows a comment has it",
           "Tensor nn::<b>relu</b>();\nTensor nn::<b>relu_</b>();</code>" in text, True)
    expect("what is private or internal", "hidden" in text or os.path.exists(f"{top}/out/pages/reference/core"), False)
    area = read(top, "out/pages/reference/areas/modules.md")
    expect("an area", '<a href="../nn/net.html#nn.relu">relu</a>' in area, True)
    write(top, compound("page", "class", "tandem::nn::Odd", 6, "<briefdescription><odd>x</odd></briefdescription>"))
    code, said = pages(top, "# T\n")
    expect("what it cannot show", (code, said.splitlines()[-1]),
           (1, "ValueError: the reference cannot show <odd>: extend docs/reference_pages.py"))


def test_finish(top):
    index = {"docs": [{"location": "a.html", "text": "x y x"}, {"location": "a.html#x", "text": "y"}]}
    page = '<a href="b/b.html#x">b</a>{}<p>{}<pre>a\n\n  b</pre> <img src="p.png"/><a href="https://w/">w</a>'
    write(top, {"html/a.html": page.format("\n   ", "\n\n"),
                "html/b/b.html": '<a id="x"></a><a href="#x">x</a><a href="../a.html?q">a</a>'
                '<script src="../assets/javascripts/bundle.js"></script>', "html/p.png": "",
                "html/assets/javascripts/bundle.js": "__search.index",
                "html/assets/javascripts/workers/search.1.js": "work('x')",
                "html/search/search_index.json": json.dumps(index), "html/assets/a.map": ""})
    expect("good links", run(top, "finish", "html"), (0, ""))
    expect("no indentation but in code", read(top, "html/a.html"), page.format("\n", "\n"))
    found = json.loads(read(top, "html/search/index.js").removeprefix("__found(").removesuffix(")\n"))["docs"]
    expect("texts of the search", [entry["text"] for entry in found], ["x y", "y"])
    expect("its worker", "Blob([\"work('x')\"])" in read(top, "html/search/search.js"), True)
    expect("its script", read(top, "html/b/b.html").split("</a>")[-1],
           '<script src="../search/search.js"></script><script src="../assets/javascripts/bundle.js"></script>')
    expect("files for debuggers", read(top, "html/assets/a.map"), None)
    write(top, {"html/b/b.html":
                '<a id="y"></a><object data="gone.svg"></object><script src="https://w/x.js"></script>',
                "html/search/search_index.json": json.dumps(index),
                "html/c.html": "<p>x\n- y</p><pre>\n- z</pre>", "html/d.html": "<pre>\n- z</pre>"})
    expect("bad links", run(top, "finish", "html"),
           (1, "a.html: b/b.html#x is not there\nb/b.html: gone.svg is not there\n"
               "b/b.html: needs https://w/x.js\n"
               "c.html: a list has become text: blocks in lists need four spaces for MkDocs\n4 mistakes\n"))


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
for test in (test_pages, test_reference, test_finish, test_speed):
    with tempfile.TemporaryDirectory() as top:
        os.makedirs(os.path.join(top, "docs"))
        for name in ("site.py", "reference_pages.py"):
            shutil.copy(os.path.join(root, "docs", name), os.path.join(top, "docs"))
        test(top)
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
