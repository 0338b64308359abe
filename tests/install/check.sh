#!/bin/bash
# check.sh BUILD SOURCE CUDA: installs Tandem and builds and runs programs outside the tree with pkg-config, Meson and
# CMake, also with static libraries; compiles each installed header alone, without Eigen; limits the stripped library to
# 12 MB, or to 24 MB with CUDA's kernels (CUDA is not `disabled`); looks at what gdb loads with the library, and at the
# compilers' options in a subproject and without Git.
set -euo pipefail
here=$(cd "${0%/*}" && pwd)
build=$1 source=$2 limit=12000000
[ "$3" = disabled ] || limit=24000000
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
passed=0 failed=0 skipped=0

check() {
  local name=$1
  shift
  if "$@" >"$to/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    tail -30 "$to/log"
  fi
}

meson install -C "$build" --destdir "$to/root" --strip --quiet >/dev/null
pc=$(find "$to/root" -name tandem.pc)
export PKG_CONFIG_PATH=${pc%/*}
# The tree was installed for another prefix, so all programs also show that it can be moved. For /usr, the paths are fixed.
sed -i "s|=/usr|=$to/root/usr|" "${pc%/*}"/*.pc
prefix=$(realpath "$(pkg-config --variable=prefix tandem)") libdir=$(realpath "${pc%/*}/..")
include=$(realpath "$(pkg-config --variable=includedir tandem)")
kind=shared
[ -f "$libdir/libtandem.so" ] || kind=static

# The components that were built; Tandem itself is program.cpp.
parts=(Models Text)
[ ! -f "${pc%/*}/tandem-pt.pc" ] || parts+=(Pt)
[ ! -f "${pc%/*}/tandem-onnx.pc" ] || parts+=(Onnx)
[ ! -f "${pc%/*}/tandem-vision.pc" ] || parts+=(Vision TensorBoard)
file_of() { case $1 in Tandem) echo program ;; *) echo "${1,,}" ;; esac; }

# says EXPECTED PROGRAM: whether the program prints the contents of the file EXPECTED.
says() { local out && out=$("$2") && echo "$out" && [ "$out" = "$(cat "$1")" ]; }

# compile_with PACKAGE SOURCE ARGUMENT...: builds $to/program with a package of pkg-config.
compile_with() {
  local static=()
  [ $kind = shared ] || static=(--static)
  # shellcheck disable=SC2046,SC2086
  $CXX -std=c++20 -Wall -Wextra -Wshadow -Wconversion -Werror $(pkg-config --cflags "$1") "${@:3}" "$2" -o "$to/program" \
    $(pkg-config "${static[@]}" --libs "$1")
}

with_pkg_config() {
  local name=tandem-${1,,}
  compile_with "${name/#tandem-tandem/tandem}" "$here/$(file_of "$1").cpp" &&
    LD_LIBRARY_PATH=$libdir says "$here/$(file_of "$1").expected" "$to/program"
}

with_meson() {
  mkdir "$to/meson" && cp "$here/meson/meson.build" "$here/program.cpp" "$to/meson" &&
    meson setup "$to/meson/build" "$to/meson" && ninja -C "$to/meson/build" &&
    LD_LIBRARY_PATH=$libdir says "$here/program.expected" "$to/meson/build/user"
}

with_cmake() {
  local part
  cmake -G Ninja -S "$here/cmake" -B "$to/cmake-$kind" -DSOURCES="$here" -DVERSION="$(pkg-config --modversion tandem)" \
    -DPARTS="$(IFS=';' && echo "${parts[*]}")" -DCMAKE_PREFIX_PATH="$prefix" && ninja -C "$to/cmake-$kind" || return 1
  for part in Tandem "${parts[@]}"; do
    says "$here/$(file_of "$part").expected" "$to/cmake-$kind/${part,,}" || return 1
  done
}
with_torch() {
  cmake -G Ninja -S "$here/torch" -B "$to/other" -DTorch_DIR="$prefix/share/tandem-torch" &&
    cmake -G Ninja -S "$here/torch" -B "$to/torch" -DCMAKE_PREFIX_PATH="$prefix/share/tandem-torch" &&
    ninja -C "$to/torch" && says "$here/torch/expected" "$to/torch/example-app"
}
# Without CMake, ported programs may still ask for LibTorch's C++17.
older_standard() {
  # shellcheck disable=SC2086
  ! $CXX -std=c++17 -fsyntax-only "-I$include/tandem/compat" "-I$include" "$here/torch/example-app.cpp" 2>"$to/older" &&
    head -5 "$to/older" | grep -- "compile with -std=c++20"
}
without_text() {
  mv "$libdir"/libtandem_text.* "$to"
  ! cmake -G Ninja -S "$here/cmake" -B "$to/without" -DPARTS=Text -DCMAKE_PREFIX_PATH="$prefix" 2>"$to/without.log" &&
    tr -s ' \n' ' ' <"$to/without.log" | grep "Tandem::Text: the component was not built"
  local code=$?
  mv "$to"/libtandem_text.* "$libdir"
  return $code
}

# Also with a prefix that pkg-config guesses, which is wrong for LIBDIR/TRIPLET/pkgconfig.
moved() {
  local option flag flags
  for option in --dont-define-prefix --define-prefix; do
    flags=$(pkg-config $option --cflags --libs tandem-models) && echo "$option: $flags" || return 1
    for flag in $flags; do
      case $flag in
        -I*) [ "$(realpath "${flag#-I}")" = "$prefix/include" ] || return 1 ;;
        -L*) [ "$(realpath "${flag#-L}")" = "$libdir" ] || return 1 ;;
      esac
    done
    [[ $flags = *-I*-L*-ltandem_models* ]] || return 1
  done
}

# programs PART...: builds those with pkg-config, and all with CMake, with the libraries that are installed.
programs() {
  local part
  for part in "$@"; do check "$kind, pkg-config: a program with $part" with_pkg_config "$part"; done
  if command -v cmake >/dev/null; then
    check "$kind, CMake: a program with each component" with_cmake
  else
    echo "cmake is not installed: its packages were not tested"
    skipped=1
  fi
}
check "pkg-config: a tree that was moved" moved
programs Tandem "${parts[@]}"
check "Meson: a program" with_meson
if command -v cmake >/dev/null; then
  check "CMake: a component that was not built" without_text
  [[ ${parts[*]} != *Pt* ]] || check "CMake: a program for LibTorch" with_torch
fi

# The program does not link libtandem_pt; the library finds it by its soname, which needs no development files.
libtorch_file() {
  compile_with tandem "$here/libtorch.cpp" && mv "$libdir/libtandem_pt.so" "$to" || return 1
  [ "$(LD_LIBRARY_PATH=$libdir "$to/program" "$source/tests/nn/files/libtorch/tensor.pt")" = "15 of 3 x 2" ]
  local code=$?
  mv "$to/libtandem_pt.so" "$libdir"
  return $code
}
if [ $kind = shared ] && [[ ${parts[*]} = *Pt* ]]; then check "a file of LibTorch" libtorch_file; fi

check "C++17: one clear error" older_standard

# It finds its libraries, and these their plugins, without LD_LIBRARY_PATH.
tool() { "$prefix/bin/tandem" --version && "$prefix/bin/tandem" devices; }
[ ! -x "$prefix/bin/tandem" ] || check "the tool" tool

alone() {
  # shellcheck disable=SC2086
  python3 "$here/headers.py" "$include" $CXX && ! grep -rlE '#include *<(Eigen|nlohmann|CLI)' "$include"
}
check "each header alone" alone

small() { echo "$1 bytes" && [ "$1" -le "$limit" ]; }
if [ $kind = shared ]; then
  size=$(stat -L -c %s "$libdir/libtandem.so")
  case $CXX in
    *clang*) ;;  # the limit applies to g++: clang unrolls more
    *) check "stripped library of at most $limit bytes" small "$size" ;;
  esac
  echo "stripped library: $size bytes"
fi

# gdb looks for the scripts of a library in one folder, under the path of the library.
printers() {
  local root scripts=$to/scripts
  root=$(realpath "$to/root")
  mkdir -p "$scripts${root%/*}" && ln -s "$prefix/share/gdb/auto-load" "$scripts$root" &&
    gdb -nx --batch -iex "set auto-load safe-path $scripts" -iex "set auto-load scripts-directory $scripts" \
      -ex "help tandem" "$libdir/libtandem.so" | grep "shows a tensor"
}
gdb_python() { gdb -nx --batch -ex "python print(99 * 99)" 2>/dev/null | grep 9801 >/dev/null; }
[ $kind = static ] || ! gdb_python || check "gdb loads the printers" printers

# In place of the shared libraries, static ones of the same objects: a static build links no others.
make_static() {
  rm -r "$libdir"/*.so* "$libdir/tandem" && python3 - "$build" "$libdir" <<'PYTHON'
import collections, glob, json, os, re, subprocess, sys
build, libdir = sys.argv[1:]
members = collections.defaultdict(list)
for entry in json.load(open(build + "/compile_commands.json")):
    folder, name = os.path.split(entry["output"])
    # Eigen's kernels are a plugin of the shared library, and part of the static one.
    if re.search(r"eigen_(tables|plugin)\.cpp\.o$", name):
        continue
    if re.fullmatch(r"(cuda/)?libtandem(\.so.*|_hot\.a|_check\.a|_eigen\.so|_cuda\.a)\.p", folder):
        members["tandem"].append(entry["output"])
    elif found := re.search(r"/libtandem_(models|pt|onnx|vision|text|tensorboard)\.so.*\.p$", folder):
        members["tandem_" + found[1]].append(entry["output"])
members["tandem"] += (os.path.relpath(file, build) for file in glob.glob(build + "/cuda/*.o"))
for name, objects in members.items():
    subprocess.run(["ar", "crs", f"{libdir}/lib{name}.a", *objects], cwd=build, check=True)
PYTHON
}
# It computes with kernels of all kinds, and has the constructors that no other code calls.
static_lenet() {
  compile_with tandem-pt "$here/torch/example-app.cpp" "-I$include/tandem/compat" &&
    says "$here/torch/expected" "$to/program" || return 1
  for name in tandem_check_processor start_by_environment watch_forks; do
    [[ $name = *processor && $(uname -m) != x86_64 ]] || nm "$to/program" | grep "$name" || return 1
  done
  strip "$to/program" && stat -c %s "$to/program" >"$to/size"
}
if [ $kind = shared ]; then
  kind=static
  check "static libraries" make_static
  programs "${parts[-1]}"
fi
if [[ ${parts[*]} = *Pt* ]]; then
  check "static, pkg-config: LeNet" static_lenet
  [ ! -f "$to/size" ] || echo "LeNet, stripped, with the static library: $(cat "$to/size") bytes"
fi

# flags BUILD WANTED UNWANTED: whether all commands for Tandem's sources match WANTED, and none UNWANTED.
flags() {
  python3 - "$@" <<'PYTHON'
import json, re, sys
entries = json.load(open(sys.argv[1] + "/compile_commands.json"))
commands = [c["command"] for c in entries if "program.cpp" not in c["file"]]
bad = [c for c in commands if not re.search(sys.argv[2], c) or re.search(sys.argv[3], c)]
print(len(bad), "of", len(commands), "commands, such as", *bad[:1])
sys.exit(bool(bad) or len(commands) < 100)
PYTHON
}
subproject() {
  mkdir -p "$to/user/subprojects" && ln -s "$source" "$to/user/subprojects/tandem" &&
    cp "$here/meson/meson.build" "$here/program.cpp" "$to/user"
  env -u PKG_CONFIG_PATH meson setup --force-fallback-for=tandem "$to/user/build" "$to/user" >"$to/setup.log" &&
    ninja -C "$to/user/build" -n && grep "WARNING: optimization=0" "$to/setup.log" &&
    flags "$to/user/build" '-DNDEBUG.* -O[23] ' ' -(O0|g|Werror) ' &&
    { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || grep "CUDA.*disabled" "$to/setup.log"; }
}
check "as a subproject" subproject

# From an archive of the sources, with compilers that may warn of more.
without_git() {
  mkdir "$to/plain" && ln -s "$source"/* "$to/plain" &&
    meson setup "$to/plain/new" "$to/plain" -Dcuda=disabled -D{cli,tests,bench,examples}=false &&
    flags "$to/plain/new" ' -Wno-error ' ' -Werror.* -Werror'
}
check "without Git" without_git
if [ -e "$source/.git" ] && [[ $($CXX -dumpversion) =~ ^(12|14\.0) ]]; then
  check "warnings are errors in a clone" flags "$build" ' -Werror ' ' -Wno-error'
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
