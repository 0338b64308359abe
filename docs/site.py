#!/usr/bin/env python3
"""Prepares the pages of the site for MkDocs, and checks what it made of them (./run docs).

    site.py headers            prints the public headers: those that packaging/meson.build installs
    site.py pages XML FOLDER   writes the pages to FOLDER: the Markdown files, in the places that they have in the
                               repository; files that they show or link to, as pages if they are text; and the
                               reference, from Doxygen's XML. FOLDER.yml is docs/mkdocs.yml with the reference's areas
    site.py finish HTML        makes what MkDocs wrote to the folder HTML smaller, lets its search work without a
                               server, and ends with an error if a page there leads to a file or anchor that is not
                               there, or needs another server
"""
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

import reference_pages

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()([^()\s#]+)(#[^()\s]*)?\)")
CODE = re.compile(r"^ *(?P<fence>```+|~~~+)[^\n]*\n.*?^ *(?P=fence) *$|"
                  r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)", re.S | re.M)
PICTURES = (".png", ".svg")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def headers():
    with open(f"{ROOT}/packaging/meson.build", encoding="utf-8") as file:
        text = file.read()
    patterns = re.findall("'([^']*)'", re.search(r"foreach pattern : \[(.*?)\]", text, re.S)[1])
    folders = re.search(r"find (.*?) compat \*\.h", text)[1].split()
    hidden = [word for pattern in patterns for word in ("-not", "-path", pattern)]
    return subprocess.run(["find", *folders, "tandem.h", "testing.h", "-name", "*.h", *hidden], cwd=ROOT, check=True,
                          capture_output=True, text=True).stdout.split()


# The search of pages that a browser has opened from files: there, it starts no worker and reads no JSON by itself.
SEARCH = """var __search = {
  worker: URL.createObjectURL(new Blob([WORKER])),
  index: new Promise(done => {
    window.__found = done
    const script = document.createElement("script")
    script.src = new URL("index.js", document.currentScript.src)
    document.head.append(script)
  })
}
"""


class Pages:
    def __init__(self, folder):
        self.folder, self.missing = folder, []

    def add(self, path):
        """Writes a page, and the files that it links to."""
        codes = []  # hidden while links are replaced

        def hide(code):
            codes.append(code[0])
            return f"\0{len(codes) - 1}\0"

        text = CODE.sub(hide, read(os.path.join(ROOT, path)))
        text = LINK.sub(lambda link: f"{link[1]}{self.target(path, link[2])}{link[3] or ''})", text)
        write(os.path.join(self.folder, path), re.sub("\0(\\d+)\0", lambda place: codes[int(place[1])], text))

    def target(self, page, link):
        path = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(link)))
        source, copy = os.path.join(ROOT, path), os.path.join(self.folder, path)
        if ":" in link or path.endswith(".md") and os.path.exists(source):
            return link
        if os.path.isdir(source):
            return link.rstrip("/") + "/README.md"
        if not os.path.exists(source):
            self.missing.append(f"{page}: the link leads to {link}, which is not there")
        elif path.endswith(PICTURES):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(source, copy)
        else:
            kind = path.rpartition(".")[2] if "." in path else "text"
            write(copy + ".md", f"# {path}\n\n````{kind}\n{read(source)}````\n")
            return link + ".md"
        return link


def write_pages(xml, folder):
    shutil.rmtree(folder, ignore_errors=True)
    pages = Pages(folder)
    for pattern in ("*.md", "docs/**/*.md", "examples/*.md"):
        for path in sorted(glob.glob(pattern, root_dir=ROOT, recursive=True)):
            pages.add(path)
    if pages.missing:
        sys.exit("\n".join(pages.missing))
    shutil.copyfile(f"{ROOT}/docs/site.css", f"{folder}/site.css")
    for name, text in reference_pages.Reference(xml, ROOT).pages.items():
        write(f"{folder}/{name}.md", text)
    areas = "".join(f"      - {area[0]}: {reference_pages.area_page(area)}.md\n" for area in reference_pages.AREAS)
    write(folder + ".yml", read(f"{ROOT}/docs/mkdocs.yml").rstrip() + "\n" + areas)


def shrink(folder):
    """Leaves out indentation, a quarter of the pages, and files of the theme for other languages and debuggers."""
    for path in glob.glob(folder + "/**/*.html", recursive=True):
        parts = re.split(r"(<pre\b.*?</pre>|<script\b.*?</script>)", read(path), flags=re.S)
        write(path, "".join(part if i % 2 else re.sub(r"\s*\n\s*", "\n", part) for i, part in enumerate(parts)))
    for path in glob.glob(folder + "/assets/**/*.map", recursive=True):
        os.remove(path)
    shutil.rmtree(folder + "/assets/javascripts/lunr", ignore_errors=True)


def write_search(folder):
    """Makes the search's index smaller: it has each page as a whole and by section, and shows the sections' texts, so
    each word of the whole is enough once. Lets Debian's version of the theme search without a server, too."""
    index = json.loads(read(f"{folder}/search/search_index.json"))
    for entry in index["docs"]:
        if "#" not in entry["location"]:
            entry["text"] = " ".join(dict.fromkeys(entry["text"].split()))
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    bundle, = glob.glob(folder + "/assets/javascripts/bundle.*js")
    worker, = glob.glob(folder + "/assets/javascripts/workers/search.*js")
    if "__search.index" not in read(bundle):
        return write(f"{folder}/search/search_index.json", text)
    write(f"{folder}/search/index.js", f"__found({text})\n")
    write(f"{folder}/search/search.js", SEARCH.replace("WORKER", json.dumps(read(worker))))
    os.remove(f"{folder}/search/search_index.json")
    for path in glob.glob(folder + "/**/*.html", recursive=True):
        script = r'<script src="([^"]*)assets/javascripts/bundle'
        write(path, re.sub(script, r'<script src="\1search/search.js"></script>\g<0>', read(path)))
    return None


def mistakes(folder):
    names, links = {}, []
    for path in glob.glob(folder + "/**/*.html", recursive=True):
        text, page = read(path), os.path.relpath(path, folder)
        if re.search("^- ", re.sub(r"<pre\b.*?</pre>", "", text, flags=re.S), re.M):
            yield f"{page}: a list has become text: blocks in lists need four spaces for MkDocs"
        names[page] = set(re.findall(r'\b(?:id|name)="?([^"\s>]*)', text))
        # The links of 404.html are those of a server's root.
        links += [(page, *found) for found in re.findall(r'<(\w+)\b[^>]*?\b(?:href|src|data)="?([^"\s>]*)', text)
                  if page != "404.html"]
    for page, tag, link in links:
        target, _, part = urllib.parse.unquote(html.unescape(link)).partition("#")
        if re.match(r"[a-z]+:|//", target):
            if tag != "a" and not target.startswith("data:"):
                yield f"{page}: needs {link}"
            continue
        target = os.path.normpath(os.path.join(os.path.dirname(page), target.partition("?")[0])) if target else page
        if not os.path.exists(os.path.join(folder, target)) or part and part not in names.get(target, ()):
            yield f"{page}: {link} is not there"


if __name__ == "__main__":
    if sys.argv[1] == "headers":
        print("\n".join(headers()))
    elif sys.argv[1] == "pages":
        write_pages(*sys.argv[2:])
    else:
        shrink(sys.argv[2])
        write_search(sys.argv[2])
        bad = sorted(set(mistakes(sys.argv[2])))
        sys.exit("\n".join([*bad, f"{len(bad)} mistakes"]) if bad else 0)
