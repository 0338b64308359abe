#!/usr/bin/env python3
"""Prepares pages for Doxygen and checks what it has made of them (./run docs).

    site.py guide            prints the guide's pages in the order in which its index links to them
    site.py page FILE        prints a page for Doxygen: headings have GitHub's anchors, links lead to Doxygen's pages
    site.py check HTML       ends with an error if a page in the folder HTML leads to a file or anchor that is not there

Links to other files of the repository lead to copies of them in HTML/files, which `check` makes.
"""
import html
import os
import re
import shutil
import sys
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GUIDE = os.path.join(ROOT, "docs/guide")
PICTURES = (".svg", ".png", ".jpg")
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)")
CODE = re.compile(r"(`+)(?:.*?[^`])?\1(?!`)")


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
        self.path = os.path.abspath(path)

    def target(self, link):
        """What Doxygen calls the target, and whether it is one of its pages."""
        name, _, part = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(self.path), urllib.parse.unquote(name))) if name else self.path
        if not os.path.exists(path):
            sys.exit(f"{os.path.relpath(self.path, ROOT)}: the link leads to {link}, which is not there")
        if path.endswith(".md"):
            return anchor(path, part) if part else page_id(path), True
        return "files/" + os.path.relpath(path, ROOT), False

    def link(self, match):
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            return match[0]
        if target.endswith(PICTURES):
            return f"{match['picture']}[{match['text']}]({os.path.basename(target)})"
        if self.path.endswith(".dox") and target.startswith("../guide/") and not os.path.exists(GUIDE + "/index.md"):
            return match["text"]
        name, page = self.target(target)
        return f"[{match['text']}]({'@ref ' if page else ''}{name})"

    def line(self, text):
        heading = re.fullmatch(r"(#+)\s+(.*?)\s*#*", text)
        name = ""
        if heading:
            first = heading[1] == "#" and not self.titled
            self.titled |= first
            name = " {#" + (page_id(self.path) if first else anchor(self.path, slug(heading[2]))) + "}"
            text = text.replace("`", "")  # Doxygen shows code in headings as <tt>
        # Outside of `code` only.
        parts, end = [], 0
        for code in CODE.finditer(text):
            parts += [self.prose(text[end:code.start()]), code[0]]
            end = code.end()
        return "".join(parts) + self.prose(text[end:]) + name

    def prose(self, text):
        return LINK.sub(self.link, text if self.path.endswith(".dox") else text.replace("@", "\\@"))

    def convert(self, text):
        self.titled, fence, lines = False, None, []
        for line in text.splitlines():
            mark = re.match(r"\s*(```+|~~~+)", line)
            if fence is None and mark:
                fence = mark[1]
            elif fence is not None and mark and line.strip() == fence:
                fence = None
            elif fence is None:
                line = self.line(line)
            lines.append(line)
        return "\n".join(lines) + "\n"


def guide():
    """index.md, then the pages it links to, then the others."""
    pages = sorted("docs/guide/" + name for name in os.listdir(GUIDE) if name.endswith(".md")) if os.path.isdir(GUIDE) else []
    index = "docs/guide/index.md"
    if index in pages:
        with open(os.path.join(ROOT, index), encoding="utf-8") as file:
            linked = ["docs/guide/" + link["target"].partition("#")[0] for link in LINK.finditer(file.read())]
        pages = [index] + list(dict.fromkeys([page for page in linked if page in pages] + pages))
    return list(dict.fromkeys(pages))


def check(folder):
    names, links = {}, []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".html"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        names[name] = set(re.findall(r'\b(?:id|name)="([^"]*)"', text))
        for target in re.findall(r'<[^>]*\b(?:href|src|data)="([^"]*)"', text):
            if not re.match(r"[a-z]+:|//", target):
                links.append((name, html.unescape(target)))
    missing = set()
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
    sys.exit(f"{len(missing)} links lead nowhere" if missing else 0)


def main():
    if sys.argv[1] == "guide":
        print(*guide())
    elif sys.argv[1] == "page":
        with open(sys.argv[2], encoding="utf-8") as file:
            sys.stdout.write(Page(sys.argv[2]).convert(file.read()))
    else:
        check(sys.argv[2])


main()
