#!/usr/bin/env bash
# debian.sh BUILD: makes Debian packages of a build folder that was configured with --prefix=/usr, in BUILD/debs:
# libtandemN.N (the libraries and their plugins), libtandem-dev (what programs are built with) and tandem-tools.
# They come with an index, so apt can use the folder: deb [trusted=yes] copy:BUILD/debs ./
set -euo pipefail
umask 022  # dpkg-deb refuses other modes
root=$(cd "${0%/*}/.." && pwd)
build=$(cd "$1" && pwd)
work=$build/work
rm -rf "$work" "$build/debs"
mkdir -p "$work/debian" "$build/debs"
cd "$work"
meson install -C "$build" --destdir "$work/all" --strip --quiet >/dev/null
version=$(meson introspect "$build" --projectinfo | python3 -c 'import json, sys; print(json.load(sys.stdin)["version"])')
libdir=$(dirname all/usr/lib/*/libtandem.so)
sonames=$(objdump -p "$libdir"/*.so | awk '$1 == "SONAME" {print $2}')
main=libtandem$(sed -n 's/^libtandem\.so\.//p' <<<"$sonames")

# take PACKAGE FILE...: moves files of the installation into a package.
take() {
  local package=$1 file folder
  mkdir -p "$package/DEBIAN" "$package/usr/share/doc/$package"
  install -m 644 "$root/LICENSE" "$package/usr/share/doc/$package/copyright"
  for file in "${@:2}"; do
    folder=$package/$(dirname "${file#all/}")
    mkdir -p "$folder" && cp -a "$file" "$folder" && rm -r "$file"
  done
}
find "$libdir" -name '*.so*' -type f -exec chmod 644 {} +
take "$main" "$libdir"/*.so.* "$libdir/tandem"
take libtandem-dev all/usr/include all/usr/lib all/usr/share/{gdb,tandem,tandem-torch}
take tandem-tools all/usr/*
left=$(find all -type f)
[ -z "$left" ] || { echo "no package takes $left" >&2; exit 1; }
libdir=${libdir/all/$main}

# Programs that link a library need this package.
sed "s/\.so\./ /; s/\$/ $main (>= $version)/" <<<"$sonames" >"$main/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$main/DEBIAN/triggers"

# links ARGUMENT...: what the files link, as fields of a package.
links() {
  local text
  text=$(dpkg-shlibdeps -O --ignore-missing-info -S"$main" "$@" 2>"$work/log") || { cat "$work/log" >&2; exit 1; }
  sed -n 's/^shlibs:\([A-Za-z]*\)=/\1: /p' <<<"$text"
}
printf '%s\n' 'Source: tandem' '' "Package: $main" 'Architecture: any' >debian/control

# pack PACKAGE SECTION TITLE FIELDS: writes the package.
pack() {
  local package=$1
  cat >"$package/DEBIAN/control" <<TEXT
Package: $package
Source: tandem
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: Tandem authors
Installed-Size: $(du -sk --apparent-size "$package" | cut -f1)
Section: $2
Priority: optional
$4
Description: $3
 Tandem is a framework for deep learning in C++20 with the API of LibTorch's
 C++ frontend: tensors, automatic differentiation, neural networks, data sets
 and training on several devices.
TEXT
  dpkg-deb --root-owner-group --build "$package" "$build/debs" >/dev/null
}
# The engines of process groups are optional: each loads when a program asks for it.
needed=() optional=()
for file in "$libdir"/*.so.*.*.* "$libdir"/tandem/*.so; do
  case $file in
    *_gloo.so | *_mpi.so) optional+=("-e$file") ;;
    *) needed+=("-e$file") ;;
  esac
done
depends=$(links -x"$main" -dDepends "${needed[@]}" -dRecommends "${optional[@]}")
pack "$main" libs "deep learning in C++20: libraries" "$depends"
depends=$(links -dDepends -etandem-tools/usr/bin/tandem)
pack tandem-tools science "deep learning in C++20: train, evaluate and inspect models" "$depends"
pack libtandem-dev libdevel "deep learning in C++20: headers, and packages for pkg-config and CMake" \
  "Depends: $main (= $version)"
cd "$build/debs" && dpkg-scanpackages . >Packages 2>/dev/null
ls "$build"/debs/*.deb
