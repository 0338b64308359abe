#!/usr/bin/env python3
"""Compares BytePairTokenizer with tiktoken on random texts.

    tiktoken_test.py ANSWERS     ANSWERS is the program of text_answers.cpp

The vocabulary is made here: all bytes, and the pairs that are most frequent in texts like those compared. It is written
both as a file of tiktoken and as GPT-2's two files. 10,000 texts must have equal tokens and must come back unchanged,
and so must every character of Unicode, between two letters. Without tiktoken the test is skipped.
"""
import base64
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import regex
    import tiktoken
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
WORDS = ("the of and tokens lower newest widest don't they're I'll we've it's "
         "déjà naïve Straße Москва 東京 مرحبا 2026 3.14 e-mail").split()
SPACES = [" ", " ", " ", "  ", "\n", "\t", "\r\n", " \n ", "\u3000", "\u00a0", "\u2003", "\x1c", "\x85", ""]
ALPHABET = "abcdefgst'' ,.!?0123456789ÄéñßΩЖжشक中あ\u0301\u200d\U0001F600\U00010330½Ⅷ\u0000\u007f_-<|>"


def texts(count):
    draw = random.Random(1)
    for i in range(count):
        if i % 4 == 0:
            yield "".join(draw.choice(ALPHABET) for _ in range(draw.randrange(60)))
        elif i % 4 == 1:
            codes = (draw.randrange(draw.choice((0x80, 0x800, 0x10000, 0x110000))) for _ in range(draw.randrange(30)))
            yield "".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000)
        else:
            yield "".join(draw.choice(WORDS) + draw.choice(SPACES) for _ in range(draw.randrange(25)))


def train(samples, merges):
    """Byte pairs by frequency: the ranks of all tokens, and the merges in order."""
    words = collections.Counter(w for text in samples for w in regex.findall(PATTERN, text))
    parts = {w: [bytes([b]) for b in w.encode()] for w in words}
    ranks, made = {bytes([b]): b for b in range(256)}, []
    while len(made) < merges:
        pairs = collections.Counter()
        for w, p in parts.items():
            for pair in zip(p, p[1:]):
                pairs[pair] += words[w]
        # one merge for each token, as in GPT-2's files
        pairs = {p: n for p, n in pairs.items() if p[0] + p[1] not in ranks}
        (a, b), _ = max(pairs.items(), key=lambda item: (item[1], item[0]))
        ranks[a + b] = len(ranks)
        made.append((a, b))
        for w, p in parts.items():
            i = 0
            while i + 1 < len(p):
                if p[i] == a and p[i + 1] == b:
                    p[i : i + 2] = [a + b]
                i += 1
    return ranks, made


def written(token):
    """A token as GPT-2's files write it."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    return "".join(chr(b if b in printable else 0x100 + others.index(b)) for b in token)


def answers(program, arguments, asked):
    lines = "".join(text.hex() + "\n" for text in asked)
    said = subprocess.run([program, *arguments], input=lines, capture_output=True, text=True,
                          check=True).stdout.split("\n")
    for line in said[:-1]:
        tokens, text = line.split("|")
        yield [int(t) for t in tokens.split()], bytes.fromhex(text)


def main():
    asked = list(texts(10000))
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    asked += ["x".join(f"a{c}b {c}{c} 1{c}" for c in characters[i : i + 100]) for i in range(0, len(characters), 100)]
    ranks, merges = train(asked[:2000], 300)
    encoding = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    expected = [encoding.encode_ordinary(text) for text in asked]
    loose = random.Random(2)
    bytes_only = [loose.randbytes(loose.randrange(40)) for _ in range(1000)]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "small.bpe").write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % r for t, r in ranks.items()))
        (folder / "vocab.json").write_text(json.dumps({written(t): r for t, r in ranks.items()}))
        (folder / "merges.txt").write_text("#version: 0.2\n" +
                                           "".join(f"{written(a)} {written(b)}\n" for a, b in merges))
        for arguments in (["tiktoken", folder / "small.bpe"], ["gpt2", folder / "vocab.json", folder / "merges.txt"]):
            given = [text.encode() for text in asked] + bytes_only
            ours = list(answers(sys.argv[1], arguments, given))
            wrong = [i for i, tokens in enumerate(expected) if ours[i][0] != tokens]
            changed = [text for text, (_, back) in zip(given, ours) if text != back]
            for problem, found in (("other tokens than tiktoken", [ascii(asked[i]) for i in wrong]),
                                   ("not decoded", changed)):
                good = not found and len(ours) == len(given)
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print(f"FAILED: {arguments[0]}: {len(found)} of {len(given)} texts: {problem}: {found[:5]}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
