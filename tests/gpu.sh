#!/usr/bin/env bash
# Runs everything that needs a GPU and writes one table of the results for docs/results/.
#
#   tests/gpu.sh tests|sanitizers|bench|all --out FILE [--limit SECONDS] [--deps DIR] [--arch sm_90]
#
#   tests        the whole suite on cuda:0; the same with two logical devices on the GPU
#   sanitizers   compute-sanitizer's memcheck, racecheck, initcheck and synccheck over the operation tests
#   bench        Tandem, PyTorch, eager and compiled, and direct calls of cuBLAS and cuDNN, side by side
#
# FILE is rewritten after every step from FILE.json, which keeps the steps of earlier calls, so the three parts can be run
# separately, each within --limit seconds (default 580; a step that does not fit is killed or not started, and the table
# says so). --deps takes a folder filled by `./run deps --to DIR`. Exit code 77: no CUDA device; 1: a step failed.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
report=$root/tests/gpu_report.py
part="" out="" limit=580 deps="" arch="" bad=0 code=0

stop() { echo "gpu.sh: $*" >&2; exit 2; }

while [ $# -gt 0 ]; do
  case $1 in
    tests | sanitizers | bench | all) [ -z "$part" ] || stop "name one part, or all"; part=$1; shift ;;
    --out | --limit | --deps | --arch)
      [ $# -ge 2 ] || stop "$1 requires a value"
      declare "${1#--}=$2"
      shift 2
      ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) stop "unknown argument $1 (see tests/gpu.sh --help)" ;;
  esac
done
[ -n "$part" ] || stop "name a part to run: tests, sanitizers, bench or all"
[ -n "$out" ] || stop "--out FILE is required: the file for the table"
[[ $limit =~ ^[1-9][0-9]*$ ]] || stop "--limit $limit: expected a number of seconds"
[ -z "$deps" ] || { [ -f "$deps/MANIFEST" ] || stop "--deps $deps: has no MANIFEST (fill it with ./run deps --to $deps)"; deps=$(cd "$deps" && pwd); }
mkdir -p "$(dirname "$out")" || stop "--out $out: cannot create its folder"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
state=$out.json
facts=$(python3 "$report" probe)
case $? in
  0) ;;
  77) echo "$facts"; exit 77 ;;
  *) stop "tests/gpu_report.py failed" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run=("$root/run")
build=$root/build
[ -z "$deps" ] || { run+=(--deps "$deps"); build=$root/build-deps; export PATH=$PATH:$deps/bin; }

left() { echo $((limit - SECONDS)); }

write() {
  python3 "$report" table "$state" >"$out.new" && mv "$out.new" "$out"
}

# facts_of FILE: adds the JSON facts in FILE to the state.
facts_of() {
  python3 "$report" add "$state" --group facts --name facts --code 0 --seconds 0 --log "$1" -- true
}

# step GROUP NAME LIMIT COMMAND...: runs a step (a line of the table), sets code. A failed step does not stop the others.
step() {
  local group=$1 name=$2 most=$3 began=$SECONDS
  shift 3
  [ "$most" -le "$(left)" ] || most=$(left)
  echo "==== $group: $name"
  if [ "$most" -lt 5 ]; then
    echo "no time left for this step" | tee "$work/log"
    code=124
  else
    timeout -k 10 "$most" "$@" </dev/null >"$work/log" 2>&1
    code=$?
    tail -3 "$work/log"
  fi
  echo "==== exit code $code, $((SECONDS - began)) s"
  python3 "$report" add "$state" --group "$group" --name "$name" --code "$code" --seconds $((SECONDS - began)) \
    --log "$work/log" -- "${@//"$root"\//}" || bad=1
  write
}

# ---- the build

# built TARGET...: builds; false if that failed, which the table reports.
built() {
  local option
  option=$(sed -n "s/^option('\(cuda[-_]arch\)'.*/\1/p" "$root/meson_options.txt")
  step build "${*/%all/everything}" 540 "${run[@]}" build -Dcuda=enabled ${arch:+"-D${option:-cuda-arch}=$arch"} "$@" cli/tandem
  [ "$code" = 0 ] || return
  # shellcheck disable=SC2016
  step build "Tandem finds the GPU" 60 bash -c '"$0" devices | tee /dev/stderr | grep -q "^ *cuda:0"' "$build/cli/tandem"
  [ "$code" = 0 ]
}

# ---- the parts

tests_part() {
  built all || return
  step tests "the whole suite on cuda:0" 400 "${run[@]}" test
  step tests "the whole suite, two logical devices on the GPU" 400 env TANDEM_CUDA_DEVICES=2 "${run[@]}" test
}

sanitizers_part() {
  built tests/ops/test_ops || return
  local tool parts seconds
  for tool in memcheck:4 racecheck:3 initcheck:2 synccheck:1; do  # an equal share of the remaining time
    parts=${tool#*:}
    seconds=$((($(left) - 15) / parts))
    step sanitizers "${tool%:*}" $((seconds + 15)) \
      python3 "$root/tests/gpu_sanitize.py" "$build/tests/ops/test_ops" "${tool%:*}" "$seconds"
  done
}

bench_part() {
  built bench/gpu_bench bench/gpu_libraries || return
  step bench "Tandem" 200 "$build/bench/gpu_bench"
  step bench "cuBLAS and cuDNN called directly" 150 "$build/bench/gpu_libraries"
  step bench "PyTorch" 200 python3 "$root/bench/gpu/against_torch.py"
  step bench "PyTorch, compiled" 400 python3 "$root/bench/gpu/against_torch.py" --compiled
}

{
  printf '%s\n' "$facts"
  printf '{"fact": "date", "value": "%s"}\n' "$(date +%F)"
  printf '{"fact": "commit", "value": "%s"}\n' "$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)"
} >"$work/facts"
facts_of "$work/facts"
case $part in
  tests) tests_part ;;
  sanitizers) sanitizers_part ;;
  bench) bench_part ;;
  all) tests_part; sanitizers_part; bench_part ;;
esac
if [ -x "$build/cli/tandem" ]; then
  "$build/cli/tandem" devices 2>&1 | python3 -c 'import json, sys
print(json.dumps({"fact": "tandem devices", "value": " / ".join(" ".join(l.split()) for l in sys.stdin if l.strip())}))' \
    >"$work/facts"
  facts_of "$work/facts"
fi
write
echo "$out"
exit "$bad"
