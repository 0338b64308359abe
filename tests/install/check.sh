#!/bin/bash
# check.sh BUILD PROGRAM SOURCE CUDA: installs Tandem, builds PROGRAM (and models.cpp, pt.cpp and so on) outside the tree and
# runs it; compiles each installed header alone, without Eigen; limits the stripped library to 12 MB, or to 24 MB with CUDA's
# kernels (CUDA is not `disabled`); configures Tandem as a subproject.
set -euo pipefail
build=$1 program=$2 source=$3 limit=12000000
[ "$4" = disabled ] || limit=24000000
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
passed=0 failed=0

check() {
  local name=$1
  shift
  if "$@" >"$to/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $name"; tail -30 "$to/log"; fi
}

meson install -C "$build" --destdir "$to/root" --strip --quiet >/dev/null
pc=$(find "$to/root" -name tandem.pc)
export PKG_CONFIG_SYSROOT_DIR=$to/root PKG_CONFIG_PATH=${pc%/*}
flags=$(pkg-config --cflags tandem)
include=$(pkg-config --variable=includedir tandem)
[ ! -d "$to/root$include" ] || include=$to/root$include  # not every pkg-config adds the folder
lib=$(readlink -f "$(find "$to/root" -name libtandem.so)")

# outside SOURCE PACKAGE: builds and runs a program with a package of pkg-config.
outside() {
  # shellcheck disable=SC2046,SC2086
  $CXX -std=c++20 -Wall -Wextra -Wshadow -Wconversion -Werror $flags "$1" -o "$to/program" $(pkg-config --libs "$2") &&
    [ "$(LD_LIBRARY_PATH=${lib%/*} "$to/program")" = "$(cat "${1%.cpp}.expected")" ]
}
check "a program outside the tree" outside "$program" tandem
check "a program with a model" outside "${program%/*}/models.cpp" tandem-models
[ ! -f "${pc%/*}/tandem-pt.pc" ] || check "a program with a .pt file" outside "${program%/*}/pt.cpp" tandem-pt

check "a program with a text" outside "${program%/*}/text.cpp" tandem-text
[ ! -f "${pc%/*}/tandem-vision.pc" ] || check "a program with an image" outside "${program%/*}/vision.cpp" tandem-vision

alone() {
  # shellcheck disable=SC2086
  python3 "${0%/*}/headers.py" "$include" $CXX && ! grep -rlE '#include *<(Eigen|nlohmann|CLI)' "$include"
}
check "each header alone" alone

small() { echo "$(stat -c %s "$lib") bytes" && [ "$(stat -c %s "$lib")" -le "$limit" ]; }
case $CXX in
  *clang*) ;;  # the limit applies to g++: clang unrolls more
  *) check "stripped library of at most $limit bytes" small ;;
esac
echo "stripped library: $(stat -c %s "$lib") bytes"

subproject() {
  mkdir -p "$to/user/subprojects" && ln -s "$source" "$to/user/subprojects/tandem" && cp "$program" "$to/user/main.cpp"
  printf '%s\n' "project('user', 'cpp', default_options: ['cpp_std=c++20'])" \
    "executable('user', 'main.cpp', dependencies: dependency('tandem', fallback: 'tandem'))" >"$to/user/meson.build"
  env -u PKG_CONFIG_PATH -u PKG_CONFIG_SYSROOT_DIR meson setup "$to/user/build" "$to/user" && ninja -C "$to/user/build" -n
}
check "configured as a subproject" subproject
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
