# The developer commands of ./run, which sources this file: check, deps, format, emulated, nvcc, sanitize, clang, dispatch,
# arm, fuzz, docs, package, abi.
# shellcheck shell=bash disable=SC2154,SC2086

# Packages for a machine without network, which must have g++ and python3. Without libcurl: nothing can be downloaded there.
bundle="libeigen3-dev zlib1g-dev zlib1g doctest-dev libcli11-dev nlohmann-json3-dev libpng-dev libpng16-16
  meson ninja-build pkgconf-bin libpkgconf3 dataset-fashion-mnist"

do_deps() {
  [ "${1:-}" = --to ] && [ $# -eq 2 ] || stop "usage: ./run deps --to DIR"
  command -v apt-get dpkg >/dev/null || stop "deps needs apt-get and dpkg: run it on Debian or Ubuntu"
  local to=$2 work arch
  [ ! -e "$to" ] || [ -f "$to/MANIFEST" ] || [ -z "$(ls -A "$to")" ] || stop "$to is not empty"
  mkdir -p "$to" "$state" 2>/dev/null || stop "cannot write $to"
  to=$(cd "$to" && pwd)
  work=$to/new
  arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
  rm -rf "$work" && mkdir -p "$work"/{debs,root,bin,data}
  (cd "$work/debs" && { download || { apt update && download; }; }) ||
    { tail -3 "$state/apt.log" >&2; stop "apt-get could not download the packages"; }
  for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$work/root"; done
  for deb in "$work"/debs/*.deb; do dpkg-deb -W --showformat '# ${Package} ${Version} ${Architecture}\n' "$deb"; done >"$work/versions"
  trim "$work" "$arch"
  rm -rf "${to:?}"/{root,bin,data,MANIFEST}
  mv "$work"/{root,bin,data} "$to"
  (cd "$to" && cat new/versions && find root bin data -type f -print0 | sort -z | xargs -0 sha256sum) >"$work/MANIFEST"
  mv "$work/MANIFEST" "$to" && rm -rf "$work"
  echo "$to: $(du -sb --apparent-size "$to" | awk '{printf "%.1f MiB", $1 / 1048576}') in $(find "$to" -type f | wc -l) files"
  echo "copy it to the other machine and run there: ./run --deps DIR test"
}

download() { apt-get -q -o APT::Sandbox::User=root download $bundle >>"$state/apt.log" 2>&1; }

# trim WORK MULTIARCH: keeps what compiling, linking and training need, and makes the folder relocatable.
trim() {
  local root=$1/root lib=$1/root/usr/lib/$2 link tool
  mv "$root"/usr/share/datasets/* "$1/data"
  [ ! -d "$root/lib" ] || { cp -a "$root/lib/." "$root/usr/lib" && rm -rf "${root:?}/lib"; }
  rm -rf "$root"/usr/share/{doc,man,datasets,bash-completion,zsh,vim,emacs,polkit-1,lintian,bug,aclocal} "$root/usr/lib/cmake" \
    "$root/usr/share/cmake" "$lib"/*.a "$root/usr/bin/"libpng*
  find "$root" -type l -lname '/*' | while read -r link; do ln -sfn "$(basename "$(readlink "$link")")" "$link"; done
  echo "$2" >"$root/multiarch"
  mv "$root/usr/bin/ninja" "$1/bin/ninja"
  for tool in pkg-config pkgconf; do
    printf '#!/bin/sh\nexec env LD_LIBRARY_PATH="%s" "%s" "$@"\n' '$(dirname "$0")/../root/usr/lib/'"$2" \
      '$(dirname "$0")/../root/usr/bin/pkgconf' >"$1/bin/$tool"
  done
  cat >"$1/bin/meson" <<'PYTHON'
#!/usr/bin/env python3
import pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "root/usr/lib/python3/dist-packages"))
from mesonbuild import mesonmain
sys.exit(mesonmain.main())
PYTHON
  chmod +x "$1"/bin/*
  rm -f "$root/usr/bin/meson"
}

do_format() {
  local mode=-i
  case ${1:-} in
    --check) mode="--dry-run --Werror" ;;
    "") ;;
    *) stop "usage: ./run format [--check]" ;;
  esac
  need format clang-format
  cd "$root" || exit
  { git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh' 2>/dev/null ||
    find . -path './build*' -prune -o -regex '.*\.\(h\|cpp\|cu\|cuh\)' -print0; } | xargs -0r -n 40 clang-format $mode
}

do_check() {
  [ -z "$deps" ] || stop "check does not work with --deps"
  git -C "$root" rev-parse HEAD >/dev/null 2>&1 || stop "check needs git and a clone: it asks which files have changed"
  need format clang-format
  exec python3 "$root/.ci/check.py" "$build" "$@"
}

# with_clang FOLDER: makes the following commands build in FOLDER with clang++.
with_clang() {
  need clang clang llvm  # llvm: symbolizes sanitizer reports
  need clang-rt "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
  build=$root/$1
  export CXX=clang++
  ! command -v ccache >/dev/null || CXX="ccache clang++"  # Meson does so by itself only for the compiler that it chooses
}

# Tests of suite `processes` start programs and mostly wait for them: another compiler proves nothing new there.
# run_tests COMMAND [ARGUMENT]...: messages about failures name this command.
run_tests() { exec ${aslr:-} python3 "$root/tests/run.py" "$build" --again "./run $1" -j "$(jobs)" "${@:2}"; }

sanitized() {  # -O1, which meson.build uses for the kernels only: the suite still takes only minutes
  with_clang "$1"
  export CXXFLAGS="-g1 -fno-omit-frame-pointer -fno-sanitize-recover=all ${CXXFLAGS:-}"
  configure -Dbuildtype=plain -Doptimization=1 -Db_lundef=false "-Db_sanitize=$2" "${@:3}"
}

# Emulates the CUDA backend on the host if the toolkit's headers are found.
emulated_or_not() {
  if python3 "$root/cuda/find_toolkit.py" --headers | grep -q '^missing'; then
    echo -Dcuda=disabled
  else
    echo -Dcuda=emulated
  fi
}

do_emulated() {
  build=$root/build-emulated
  configure -Dcuda=emulated
  TANDEM_CUDA_DEVICES=${TANDEM_CUDA_DEVICES:-2} run_tests emulated "$@"
}

# Compiles the CUDA backend for one architecture, not optimized, because nothing here runs it; the rest comes from ccache.
do_nvcc() {
  build=$root/build-nvcc
  configure -Dcuda=auto -Dcuda-arch=sm_90 -Dcuda-args=--Ofast-compile=max,-Xcompiler=-O0 -Dcpu=dispatch -Dtests=false \
    -Dbench=false -Dexamples=false
  compile
  program cli/tandem devices
}

do_sanitize() {
  local kind=${1:-} aslr
  [ $# -eq 0 ] || shift
  case $kind in
    address)
      sanitized build-asan address,undefined -Dfuzz=true "$(emulated_or_not)"
      export TANDEM_CUDA_DEVICES=${TANDEM_CUDA_DEVICES:-2}
      export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
      export UBSAN_OPTIONS=print_stacktrace=1
      export LSAN_OPTIONS=suppressions=$root/tests/leaks_of_others.txt:print_suppressions=0
      run_tests "sanitize address" --without processes "$@"
      ;;
    thread)
      sanitized build-tsan thread -Dcuda=disabled
      export TSAN_OPTIONS=suppressions=$root/tests/races_of_others.txt
      ! setarch -R true 2>/dev/null || aslr="setarch -R"  # the shadow memory needs the usual address layout
      run_tests "sanitize thread" --suite tsan "$@"
      ;;
    *) stop "usage: ./run sanitize address|thread" ;;
  esac
}

do_clang() {
  with_clang build-clang
  configure -Dcuda=disabled
  run_tests clang --without processes "$@"
}

# Compiles the library for 64-bit Arm, not optimized for speed, and compares the bits of its results under QEMU.
do_arm() {
  need arm "ccache g++-aarch64-linux-gnu qemu-user"
  build=$root/build-arm
  local libraries="zlib1g-dev:arm64 libstdc++6:arm64"
  if [ "$(dpkg-query -W -f '${db:Status-Status} ' $libraries 2>/dev/null)" != "installed installed " ]; then
    as_root dpkg --add-architecture arm64
    apt update || true
    apt install $libraries || { tail -5 "$state/apt.log" >&2; stop "apt-get could not install $libraries"; }
  fi
  [ -f "$build/build.ninja" ] || configure --cross-file "$root/tests/golden/aarch64.ini" -Dcuda=disabled \
    -Dcpu=armv8-a -Doptimization=1 -Dcli=false -Dbench=false -Dexamples=false
  compile tests/golden/golden
  # All but what takes minutes under QEMU.
  local parts=("$@")
  [ $# -gt 0 ] || parts=(op wide random "large sum" "large mean" "large var" "large norm" "large cumsum" "large logsumexp"
    "large softmax" "large log_softmax" "large layer_norm" "large batch_norm" "large cross_entropy" "large dot" "large mv"
    "large matmul 16" "large linear 33" "large conv1d" "large conv2d 33" "large conv2d 20 1" "large max" "large attention"
    "train lenet" "train lstm" "train gpt2")
  exec python3 "$root/tests/golden/golden_test.py" "qemu-aarch64 $build/tests/golden/golden" \
    "$root/tests/golden/golden.txt" --except "$root/tests/golden/excepted.txt" "${parts[@]}"
}

# Runs the tests once with each set of CPU kernels; the last line adds up their counts.
do_dispatch() {
  local set line passed=0 failed=0 skipped=0
  if [ "${1:-}" = --clang ]; then
    shift
    with_clang build-dispatch-clang
  else
    build=$root/build-dispatch
  fi
  configure -Dcuda=disabled -Dcpu=dispatch
  for set in avx2 avx512; do
    echo "kernels: $set"
    if [ $set = avx512 ] && ! grep -qw avx512vl /proc/cpuinfo; then
      echo "[skipped] $set: this processor lacks it"
      skipped=$((skipped + 1))
      continue
    fi
    (export TANDEM_CPU=$set; run_tests dispatch --without processes "$@") | tee "$build/tests.log" || true
    line=$(tail -1 "$build/tests.log")
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
      passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
    else
      failed=$((failed + 1))
    fi
  done
  echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
  [ "$failed" = 0 ]
}

# fuzz_target NAME SECONDS: runs one target and reports in one line, after its log if there are findings. The weights of
# libFuzzer's entropic schedule take most of the time of targets with much coverage. An input that takes a minute hangs;
# the slowest seed, functions that call each other as often as a program may have nodes, takes six seconds.
fuzz_target() {
  local name=$1
  mkdir -p "$build/fuzz/$name"
  [ ! -d "$root/tests/fuzz/corpus/$name" ] || cp -n "$root/tests/fuzz/corpus/$name"/* "$build/fuzz/$name"
  if (cd "$build/fuzz" && "$build/tests/fuzz/fuzz_$name" -max_total_time="$2" -entropic=0 -timeout=60 \
    -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$build/fuzz/$name-" "$build/fuzz/$name" >"$name.log" 2>&1); then
    echo "fuzz $name: $(awk '/number_of_executed_units/ {print $2}' "$build/fuzz/$name.log") inputs, no findings"
  else
    tail -30 "$build/fuzz/$name.log"
    echo "fuzz $name: FAILED"
    return 1
  fi
}

# Runs every target in tests/fuzz for SECONDS, from its corpus in tests/fuzz/corpus/NAME; findings stay in build-asan.
do_fuzz() {
  local seconds=${1:-10} passed=0 failed=0 target running=0 code
  [[ $seconds =~ ^[0-9]+$ ]] || stop "usage: ./run fuzz [SECONDS]"
  sanitized build-asan address,undefined -Dfuzz=true "$(emulated_or_not)"
  compile fuzz
  for target in "$build"/tests/fuzz/fuzz_*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    if [ $((++running)) -gt "$(nproc)" ]; then
      wait -n && passed=$((passed + 1)) || failed=$((failed + 1))
    fi
    fuzz_target "${target##*/fuzz_}" "$seconds" &
  done
  while wait -n; code=$?; [ $code != 127 ]; do
    [ $code = 0 ] && passed=$((passed + 1)) || failed=$((failed + 1))
  done
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}

# Whether MkDocs, its theme Material and Doxygen are installed, from Debian or from elsewhere.
has_docs_tools() { command -v doxygen && [[ $(mkdocs build --help 2>/dev/null) =~ [^a-z]material[^a-z] ]]; } >/dev/null

# The site of guide and reference in build/docs/html; with --serve, on a port of this machine until Ctrl-C; with --test,
# in a browser, whose pictures of pages stay in build/docs/pictures.
do_docs() {
  local site=$build/docs inputs
  [[ "$*" =~ ^(--test|--serve( [0-9]+)?)?$ ]] || stop "usage: ./run docs [--serve [PORT] | --test]"
  has_docs_tools || need docs "doxygen mkdocs-material"
  has_docs_tools || stop "docs needs Doxygen and MkDocs with the theme Material; on Debian: apt-get install doxygen" \
    "mkdocs-material; elsewhere, in a virtual environment: pip install mkdocs-material"
  mkdir -p "$site/include"
  ln -sfn "$root" "$site/include/tandem"  # sources include "tandem/..."
  cd "$root" || exit
  rm -rf "$site/xml" "$site/html"
  inputs=$(python3 docs/site.py headers | sed "s|^|$site/include/tandem/|" | tr '\n' ' ') || exit
  INPUTS="$inputs docs/reference" OUTPUT=$site doxygen docs/Doxyfile || exit
  python3 docs/site.py pages "$site/xml" "$site/pages" || exit
  SITE_PAGES=$site/pages SITE_HTML=$site/html SITE_VERSION="Tandem $(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)" \
    mkdocs build -f "$site/pages.yml" >"$site/mkdocs.log" 2>&1 || { grep -v '^INFO' "$site/mkdocs.log" >&2; exit 1; }
  python3 docs/site.py finish "$site/html" || exit
  echo "$site/html/index.html"
  case ${1:-} in
    --serve) exec python3 -m http.server --bind 127.0.0.1 --directory "$site/html" "${2:-8000}" ;;
    --test)
      command -v chromium >/dev/null || (need browser chromium) || true
      exec python3 tests/guide/site_browser.py "$site/html" "$site/pictures"
      ;;
  esac
}

# Packages for Debian and Ubuntu in build-package/debs. --test installs them, with nothing but what they depend on, into
# a new system, and uses them there.
do_package() {
  [ $# = 0 ] || [ "$*" = --test ] || stop "usage: ./run package [--test]"
  [ -z "$deps" ] || stop "package does not work with --deps"
  local cpu=dispatch
  [ "$(uname -m)" = x86_64 ] || cpu=""
  need package "dpkg-dev${1:+ mmdebstrap}"
  command -v dpkg-shlibdeps >/dev/null || stop "package needs dpkg-dev"
  build=$root/build-package
  configure --prefix=/usr -Dcuda=disabled -Dnccl=disabled "-Dcpu=$cpu" -Dtests=false -Dbench=false -Dexamples=false
  compile
  "$root/packaging/debian.sh" "$build" || stop "the packages could not be made"
  [ $# = 0 ] || exec "$root/packaging/debian_test.sh" "$build/debs"
}

library_of() { ninja -C "$1" -t targets all | sed -n 's/^\(libtandem\.so[.0-9]*\): .*LINKER.*/\1/p'; }

# differences PATTERN ARGUMENT...: adds abidiff's report to $report and prints its summary, the line with PATTERN.
differences() {
  local pattern=$1 found code=0
  shift
  found=$(abidiff "$@" 2>&1) || code=$?
  printf '%s\n' "$found" >>"$report"
  # Bits 1 and 2 of the code say that it failed, the others that something differs.
  [ $((code & 3)) = 0 ] || { echo "abidiff failed"; return 0; }
  grep -i "$pattern.*summary" <<<"$found" || echo "$pattern: nothing differs"
}

# Reports how the classes that programs compile (members, sizes, bases: the ABI's part that is in headers) differ from
# REVISION's (default: the last tag). With --build, also how the exported functions differ, which builds the library of
# REVISION once. Differences are no failure: a minor version may change all of this.
do_abi() {
  local library="" work=$root/build-abi old report side header
  [ "${1:-}" != --build ] || { library=1 && shift; }
  [ $# -le 1 ] || stop "usage: ./run abi [--build] [REVISION]"
  cd "$root" || exit
  old=${1:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
  [ -n "$old" ] || { echo "abi: there is no tag to compare with"; return 0; }
  git rev-parse -q --verify "$old^{commit}" >/dev/null || stop "abi: Git knows no $old"
  command -v abidiff >/dev/null || (need abi abigail-tools) || true
  command -v abidiff >/dev/null || { echo "abi: abidiff is not installed"; return 0; }
  echo "abi: since $old"
  old=$work/$(git rev-parse --short=12 "$old^{commit}")
  if [ ! -d "$old/tandem" ]; then
    rm -rf "$old/new" && mkdir -p "$old/new"
    git archive "${old##*/}" | tar -x -C "$old/new"
    touch "$old/new/.git"  # compiled as in a clone: ccache may have it
    mv "$old/new" "$old/tandem"
  fi
  mkdir -p "$work/now" && ln -sfn "$root" "$work/now/tandem"
  report=$work/report.txt
  printf '[suppress_type]\nname_regexp = ^((std|__gnu_cxx)::|type$)\n' >"$work/not_ours"
  for side in "$old" "$work/now"; do
    {
      for header in tandem.h models/models.h onnx/onnx.h nn/files/pt/pt.h nn/files/tensorboard/summary_writer.h \
        datasets/vision/transforms.h datasets/text/byte_pair.h; do
        [ ! -f "$old/tandem/$header" ] || echo "#include \"tandem/$header\""
      done
      echo 'extern "C" int tandem_abi() { return 0; }'  # abidiff needs one symbol
    } >"$side/abi.cpp"
    ${CXX:-c++} -std=c++20 -g -O0 -w -shared -fPIC -fno-eliminate-unused-debug-types "-I$side" "$side/abi.cpp" \
      -o "$side/abi.so" 2>"$report" || { echo "abi: headers do not compile: $report"; return 0; }
  done
  differences types --non-reachable-types --suppressions "$work/not_ours" --headers-dir1 "$old/tandem" \
    --headers-dir2 "$root" "$old/abi.so" "$work/now/abi.so"
  if [ -n "$library" ]; then
    configure
    compile $(library_of "$build")
    [ -f "$old/tandem/build/build.ninja" ] ||
      meson setup "$old/tandem/build" "$old/tandem" -Dcpu=dispatch -Dcuda=disabled \
        -D{cli,tests,bench,examples}=false >"$work/setup.log" || stop "abi: meson could not configure $old/tandem"
    (build=$old/tandem/build && compile $(library_of "$build"))
    differences symbols "$old/tandem/build/libtandem.so" "$build/libtandem.so"
  fi
  echo "the report: $report"
}
