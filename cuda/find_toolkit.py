"""Prints the locations of the CUDA toolkit and cuDNN, one per line: `nvcc PATH`, `include DIR`, `library FILE`, or
`missing WHAT`.

Searches CUDA_HOME (or CUDA_PATH), the nvcc on PATH, pkg-config and /usr/local/cuda; for headers and libraries also the
folders of Python wheels (nvidia-cudnn-cu13, nvidia-nccl-cu13, ...). With --headers it searches for headers only, with
--nccl for NCCL and the runtime instead.
"""
import os
import pathlib
import shutil
import site
import subprocess
import sys
import sysconfig

HEADERS = {"cuda_runtime_api.h": "cudart", "cublasLt.h": "cublasLt", "cublas_v2.h": "cublas", "cudnn.h": "cudnn",
           "cufft.h": "cufft"}
if "--nccl" in sys.argv:
    HEADERS = {"cuda_runtime_api.h": "cudart", "nccl.h": "nccl"}


def pkg_config(name):
    try:
        out = subprocess.run(["pkg-config", "--variable=cudaroot", name], capture_output=True, text=True)
        return out.stdout.strip()
    except OSError:
        return ""


def roots():
    """Candidate toolkit folders, most likely first."""
    found = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    if nvcc := shutil.which("nvcc"):
        found.append(str(pathlib.Path(nvcc).resolve().parent.parent))
    found += sorted((pkg_config(name) for name in ("cudart", "cuda", "cudart-13.0", "cuda-13.0")), reverse=True)
    found += ["/usr/local/cuda", "/usr/lib/cuda"]
    return list(dict.fromkeys(pathlib.Path(f) for f in found if f and pathlib.Path(f).is_dir()))


def wheels():
    """Package folders of the nvidia-* wheels, which contain include/ and lib/."""
    places = {sysconfig.get_paths()["purelib"], *site.getsitepackages(), site.getusersitepackages()}
    if "VIRTUAL_ENV" in os.environ:
        places |= {str(p) for p in pathlib.Path(os.environ["VIRTUAL_ENV"]).glob("lib/python3*/site-packages")}
    return [d for place in sorted(places) for d in sorted(pathlib.Path(place, "nvidia").glob("*")) if d.is_dir()]


def main():
    lines, includes, libraries = [], [], []
    candidates = roots()
    nvcc = next((n for r in candidates if (n := r / "bin/nvcc").is_file() and os.access(n, os.X_OK)), None)
    nvcc = nvcc or shutil.which("nvcc")
    if nvcc:
        lines.append(f"nvcc {nvcc}")
    elif not {"--headers", "--nccl"} & set(sys.argv):
        lines.append("missing nvcc")
    places = candidates + [pathlib.Path("/usr")] + wheels()
    for header, library in HEADERS.items():
        include = next((i for p in places for i in (p / "include", *p.glob("targets/*/include"),
                        *p.glob("include/*-linux-gnu")) if (i / header).is_file()), None)
        lines.append(f"missing {header}") if include is None else includes.append(include)
        if "--headers" in sys.argv:
            continue
        # Wheels contain no libX.so, only libX.so.9.
        file = next((f for p in places for d in (p / "lib64", p / "lib", *p.glob("targets/*/lib"),
                                                 *p.glob("lib/*-linux-gnu"))
                     for f in sorted(d.glob(f"lib{library}.so*"), key=lambda f: len(f.name))), None)
        lines.append(f"missing lib{library}.so") if file is None else libraries.append(file)
    lines += [f"include {i}" for i in dict.fromkeys(includes)] + [f"library {f}" for f in libraries]
    print("\n".join(lines))


main()
