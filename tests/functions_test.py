#!/usr/bin/env python3
"""Checks that formulas and CUDA kernels call no function of the C or CUDA library that rounds in its own way.

    tests/functions_test.py

The functions of core/formulas/ have the same bits on all processors and devices; those of <cmath> that are exact or
correctly rounded (sqrt, fma, floor, fmod, nextafter, …) may be called beside them. The last line is
`N passed, N failed`.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INEXACT = """acos acosh asin asinh atan atan2 atanh cbrt cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx
    erfinv exp exp10 exp2 expm1 fdividef hypot j0 j1 jn lgamma lgamma_r log log10 log1p log2 norm normcdf normcdfinv pow
    powi rcbrt rhypot rnorm rsqrt sin sincos sincospi sinh sinpi tan tanh tgamma y0 y1 yn"""
NAME = f"(?:{'|'.join(INEXACT.split())})"
QUALIFIED = re.compile(rf"(?:\bstd|(?<![\w>])) *::({NAME}[fl]?)\(")
BUILTIN = re.compile(rf"(?<![\w:])((?:__builtin_|__){NAME}[fl]?|{NAME}f)\(")
PLAIN = re.compile(rf"(?<![\w.:>~])({NAME})\(")
# In these, a name without a namespace is one of core/formulas/math.h, or a function of tensors.
OURS = ("math.h", "math_angles.h", "math_powers.h", "_ops.h")


def calls(text, plain):
    """The functions that a source calls; `plain`: also by names without a namespace, except its own functions."""
    text = re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)
    found = QUALIFIED.findall(text) + BUILTIN.findall(text)
    if plain:
        own = set(re.findall(r"\b(?:auto|T|double|float|void|V|bool)&? (?:\w+, )*(\w+)[(,;]", text))  # or members
        found += [name for name in PLAIN.findall(text) if name not in own]
    return found


def main():
    bad = []
    sources = [p for folder in ("core/formulas", "cuda") for p in sorted((ROOT / folder).rglob("*"))
               if p.suffix in (".h", ".cuh", ".cu")]
    for path in sources:
        name, text = str(path.relative_to(ROOT)), path.read_text()
        bad += [f"{name}: {f}() rounds in its own way, use a function of core/formulas/"
                for f in calls(text, plain=not name.endswith(OURS))]
        if "cuda/toolkit/" not in name and re.search(r"\basm\b.*\.approx", text):
            bad.append(f"{name}: an approximate instruction")
        if "cuda/strict/" in name and re.search(r"tensor_cores\.h|\bfast_exp2\(", text):
            bad.append(f"{name}: approximate powers, or products of tensor cores")
    found = calls("a = std::exp(x) + ::powf(x, y) + __expf(x) + rsqrtf(x) + log(x); // sin(x)", plain=True)
    kept = calls("inline T tanh(T x) { return math::exp(x) + x.log() + std::sqrt(x) + tanh(x); }", plain=True)
    if found != ["exp", "powf", "__expf", "rsqrtf", "log"] or kept:
        bad.append(f"the check finds {found} and {kept}")
    if len(sources) < 100:
        bad.append(f"the check reads {len(sources)} sources only")
    print(*bad, sep="\n")
    print(f"{0 if bad else 1} passed, {1 if bad else 0} failed")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
