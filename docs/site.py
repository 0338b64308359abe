#!/usr/bin/env python3
"""Prepares pages for Doxygen and checks its output (./run docs).

    site.py pages            prints the pages in the tree's order, that in which the guide's index links to the guide's
                             pages; ends with an error if one of them links to a file that is not there
    site.py page FILE        prints a page for Doxygen: headings have GitHub's anchors, links lead to Doxygen's pages
    site.py check HTML       ends with an error if a page in the folder HTML leads to a file or anchor that is not there

Links to other files of the repository lead to copies of them in HTML/files, which `check` makes.
"""
import glob
import html
import os
import re
import shutil
import sys
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)")
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)\1(?!`)", re.S)
BLOCK = re.compile(r"^ *(```+|~~~+)[^\n]*\n.*?^ *\1 *$", re.S | re.M)
BOLD = re.compile(r"\*\*(?=\S)((?:(?!\n\s*\n|\*\*).)+)(?<=\S)\*\*", re.S)
PLACE = re.compile("\0(\\d+)\0")  # of code, while links are replaced
HEADING = re.compile(r"^(#+) +(.*?) *#*$", re.M)


def page_id(path):
    """docs/guide/tool.md: guide_tool"""
    name = os.path.relpath(path, ROOT).removesuffix(".md").removeprefix("docs/")
    return re.sub(r"\W", "_", name).lower()


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchor(path, name):
    return page_id(path) + "-" + name


class Page:
    def __init__(self, path):
        self.path = os.path.join(ROOT, path)

    def target(self, link):
        """Doxygen's name of the target, and whether it is one of pages()."""
        name, _, part = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(self.path), urllib.parse.unquote(name))) if name else self.path
        if not os.path.exists(path):
            sys.exit(f"{os.path.relpath(self.path, ROOT)}: the link leads to {link}, which is not there")
        if os.path.isdir(path) or re.fullmatch(r"(docs/.*|examples/)?[^/]*\.md", os.path.relpath(path, ROOT)):
            return anchor(path, part) if part else page_id(path), True
        return "files/" + os.path.relpath(path, ROOT), False

    def link(self, match):
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            return match[0]
        name, page = self.target(target)
        if match["picture"]:
            return f"![{match['text']}]({os.path.basename(target)})"
        if not page:
            return f"[{match['text']}]({name})"
        # In the text of such a link, Doxygen shows backticks, and a new line spoils the next link.
        text = PLACE.sub(lambda place: self.codes[int(place[1])].strip("`"), match["text"])
        return f"[{' '.join(text.split())}](@ref {name})"

    def heading(self, match):
        first = match[1] == "#" and not self.titled
        self.titled |= first
        name = page_id(self.path) if first else anchor(self.path, slug(match[2]))
        # Doxygen shows code in headings as <tt>, and would make a dash of two of them.
        text = match[2].replace("`", "").replace("--", r"\--")
        return f"{match[1]} {text} {{#{name}}}"

    def place(self, code):
        # Between single backticks, quotation marks are special to Doxygen.
        self.codes.append(f"`{code[0]}`" if code[1] == "`" else code[0])
        return f"\0{len(self.codes) - 1}\0"

    def prose(self, text):
        """Text outside of blocks of code; what is in `code` stays."""
        self.codes = []
        text = CODE.sub(self.place, HEADING.sub(self.heading, text))
        text = LINK.sub(self.link, text if self.path.endswith(".dox") else text.replace("@", "\\@"))
        text = BOLD.sub(r"<b>\1</b>", text)  # Doxygen does not see it around code
        return PLACE.sub(lambda place: self.codes[int(place[1])], text)

    def convert(self, text):
        self.titled, end, parts = False, 0, []
        for block in BLOCK.finditer(text):
            parts += [self.prose(text[end:block.start()]), block[0]]
            end = block.end()
        return "".join(parts) + self.prose(text[end:])


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def pages():
    found = [path for pattern in ("*.md", "examples/*.md", "docs/**/*.md", "docs/**/*.dox")
             for path in sorted(glob.glob(pattern, root_dir=ROOT, recursive=True))]
    linked = ["docs/guide/" + link["target"].partition("#")[0] for link in LINK.finditer(read("docs/guide/index.md"))]
    first = ["docs/guide/index.md"] + [page for page in linked if page in found]
    first += [page for page in found if page.startswith("docs/guide/")]
    first += [page for page in ("docs/reference/layers.dox", "README.md", "examples/README.md") if page in found]
    return list(dict.fromkeys(first + found))


def check(folder):
    names, links, unresolved = {}, [], []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".html"):
            continue
        text = read(os.path.join(folder, name))
        names[name] = set(re.findall(r'\b(?:id|name)="([^"]*)"', text))
        unresolved += [name] if re.search(r"[\\@]ref \w", text) else []
        for target in re.findall(r'<[^>]*\b(?:href|src|data)="([^"]*)"', text):
            if not re.match(r"[a-z]+:|//", target):
                links.append((name, html.unescape(target)))
    missing = {f"{name}: has @ref in its text" for name in unresolved}
    for page, link in links:
        target, _, part = link.partition("#")
        target = urllib.parse.unquote(target.partition("?")[0]) or page
        path = os.path.normpath(os.path.join(folder, target))
        source = os.path.join(ROOT, target.removeprefix("files/"))
        if target.startswith("files/") and not os.path.exists(path) and os.path.isfile(source):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copyfile(source, path)
        # Doxygen 1.9.4 itself links to lists of private classes, which it does not write.
        lost = part not in ("", "nested-classes") and target in names and part not in names[target]
        if not os.path.exists(path) or lost:
            missing.add(f"{page}: {link} is not there")
    for line in sorted(missing):
        print(line, file=sys.stderr)
    sys.exit(f"{len(missing)} mistakes" if missing else 0)


def main():
    if sys.argv[1] == "pages":
        for page in pages():
            Page(page).convert(read(page))
            print(page)
    elif sys.argv[1] == "page":
        sys.stdout.write(Page(sys.argv[2]).convert(read(sys.argv[2])))
    else:
        check(os.path.abspath(sys.argv[2]))


main()
