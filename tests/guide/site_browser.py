#!/usr/bin/env python3
"""Opens five pages of the site in a browser (./run docs --test), each 1280 and 400 pixels wide, light and dark.

    site_browser.py HTML [PICTURES]     ends with the line "N passed, N failed"; keeps screenshots in PICTURES

The browser is Debian's chromium; without it, the pages are skipped.
"""
import functools
import http.server
import os
import re
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
from browser import Browser, colors, find_browser
from checks import check, finish

WITH_CODE = ["index", "docs/guide/training", "reference/nn/layers/conv"]
PAGES = [*WITH_CODE, "docs/results/cpu", "reference/areas/layers"]
# The smallest contrast of text and the ground below it, by the formula of WCAG 2, among headings, text, code and links.
CONTRAST = """(() => {
  const parts = color => color.match(/[\\d.]+/g).map(Number)
  const light = color => parts(color).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
  const ground = e => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor
      if ((parts(color)[3] ?? 1) === 1) return color
    }
    return "rgb(255, 255, 255)"
  }
  const texts = [...document.querySelectorAll("article :is(h1, h2, p, li, td, th, a, b, code, pre > code > *)")]
    .filter(e => e.offsetWidth && e.innerText.trim() && !e.classList.contains("headerlink"))
  return Math.min(...texts.map(e => {
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))]
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
  }))
})()"""
SEARCH = """(() => {
  const input = document.querySelector(".md-search__input")
  input.focus()
  input.value = "WORD"
  input.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}))
  return [...document.querySelectorAll(".md-search-result__link")].some(link => link.href.includes("FOUND"))
})()"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def look(browser, server, page, pictures):
    grounds = set()
    for width in (1280, 400):
        for dark in (False, True):
            name = f"{page.replace('/', '_')}-{width}-{'dark' if dark else 'light'}"
            browser.value("localStorage.clear()")  # where the first theme is kept
            browser.open(f"{server}/{page}.html", width, dark)
            browser.value("document.head.insertAdjacentHTML('beforeend', "
                          "'<style>* { transition: none !important }</style>')")
            check(f"{name}: no errors on the console", browser.errors() == [], browser.errors())
            own = (server, "blob:" + server, "data:")
            check(f"{name}: no other server", all(address.startswith(own) for address in browser.addresses()),
                  browser.addresses())
            check(f"{name}: the page is no wider than the window",
                  browser.value("document.documentElement.scrollWidth") <= width,
                  browser.value("document.documentElement.scrollWidth"))
            contrast = browser.value(CONTRAST)
            check(f"{name}: text is readable", contrast >= 4.5, contrast)
            # The button appears when the code is seen.
            browser.value("document.querySelector('article .highlight')?.scrollIntoView()")
            check(f"{name}: a button copies code", page not in WITH_CODE or
                  browser.until("document.querySelector('article .highlight .md-clipboard')?.offsetWidth > 0"))
            browser.value("scrollTo(0, 0)")
            check(f"{name}: a menu or a list of pages",
                  browser.value("document.querySelector('label[for=__drawer].md-header__button').offsetWidth > 0") ==
                  (width < 1000))
            check(f"{name}: the version", re.search(r"Tandem \d+\.\d+\.\d+",
                                                    browser.value("document.querySelector('footer').innerText")))
            check(f"{name}: the screenshot is not empty", colors(browser.screenshot(pictures, name)) > 30)
            grounds.add(browser.value("getComputedStyle(document.body).backgroundColor"))
    check(f"{page}: light and dark differ", len(grounds) == 2, grounds)


def main(site, pictures=None):
    program = find_browser()
    if program is None:
        print("[skipped] the site in a browser: no chromium")
        return finish(skipped=1)
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening, \
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        server = f"http://127.0.0.1:{listening.server_port}"
        browser = Browser(program, folder)
        try:
            browser.open(f"{server}/404.html", 1280, False)
            for page in PAGES:
                look(browser, server, page, pictures)
            for address, word, found in ((server, "gradcheck", "reference/testing.html"),
                                         (server, "Conv2d", "reference/nn/layers/conv.html"),
                                         ("file://" + os.path.abspath(site), "freeze", "docs/guide/howto.html")):
                browser.open(f"{address}/docs/guide/training.html", 1280, False)
                # The theme may lose its index if a question comes while it is loaded.
                browser.until("document.querySelector('.md-search-result__meta').innerText.startsWith('Type')")
                check(f"the search finds {word}", browser.until(SEARCH.replace("WORD", word).replace("FOUND", found)))
                check(f"the search for {word}: no errors on the console", browser.errors() == [], browser.errors())
                browser.screenshot(pictures, f"search-{word}")
        finally:
            browser.close()
            listening.shutdown()
    return finish()


sys.exit(main(*sys.argv[1:]))
