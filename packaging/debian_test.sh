#!/usr/bin/env bash
# debian_test.sh DEBS: installs the packages of debian.sh into new systems, and uses them there: the tool in one that
# has nothing else, the library in one with a compiler and CMake. Needs mmdebstrap and the network; takes a minute.
set -euo pipefail
root=$(cd "${0%/*}/.." && pwd)
log=$(cd "$1/.." && pwd)/test.log
# A copy that every user may read, without spaces in its path: mmdebstrap splits its hooks at them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp -r "$1" "$work/debs"
cp -r "$root/tests/install" "$work"
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
passed=0 failed=0

# in_system NAME PACKAGES HOOK...: runs hooks of mmdebstrap in a system with the packages and what they depend on.
in_system() {
  local name=$1 packages=$2 hook hooks=()
  shift 2
  for hook in "$@"; do hooks+=("--customize-hook=$hook"); done
  if mmdebstrap --variant=minbase --aptopt='Apt::Install-Recommends "false"' --include="$packages" \
    --setup-hook="echo 'deb [trusted=yes] copy:$work/debs ./' >\"\$1/etc/apt/sources.list.d/tandem.list\"" \
    "${hooks[@]}" "$suite" /dev/null >"$log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    tail -30 "$log"
  fi
}

in_system "the tool alone" tandem-tools 'chroot "$1" tandem --version' 'chroot "$1" tandem devices | tee /dev/stderr |
  grep "own kernels"' 'chroot "$1" dpkg --verify'
in_system "programs" libtandem-dev,g++,make,cmake,pkg-config "copy-in $work/install /root" \
  'chroot "$1" sh -ec "cd /root/install && g++ -std=c++20 program.cpp -o program \$(pkg-config --cflags --libs tandem) &&
     ./program | diff - program.expected"' \
  'chroot "$1" sh -ec "cmake -S /root/install/torch -B /root/torch -DTorch_DIR=/usr/share/tandem-torch &&
     cmake --build /root/torch && /root/torch/example-app | diff - /root/install/torch/expected"' \
  'chroot "$1" sh -ec "cmake -S /root/install/cmake -B /root/all -DSOURCES=/root/install -DPARTS=TensorBoard &&
     cmake --build /root/all && /root/all/tensorboard | diff - /root/install/tensorboard.expected"'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
