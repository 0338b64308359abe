#!/usr/bin/env bash
# Runs the suite under conditions that other machines have, and ends with a table of what each found.
#
#   tests/conditions.sh [--list] [--keep] [CONDITION[+CONDITION]...] [-- NAMES OF TESTS]
#
# Without a condition: all, one after the other. A+B is one run under both. `user`, `readonly` and `options` need a clone
# of their own, with what has been committed; --keep keeps it and its build folder for the next call. Not part of
# continuous integration: all take hours. Some need root.
# shellcheck disable=SC2016,SC2317
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=${TMPDIR:-/tmp}/tandem-conditions
path=/usr/local/bin:/usr/bin:/bin  # the user's: root's may have folders that only root can read
passed=0 failed=0 skipped=0 rows=() names=() chosen=() keep="" busy=()

list() {
  cat <<'TEXT'
user          a user who is not root, with an own clone and home
home          HOME is not set
readonly      the clone is read-only but for its build folder, with a blank and a ü in its path
umask         umask 077
timezone      TZ=Pacific/Kiritimati, 14 hours ahead of UTC
timezone2     TZ=Pacific/Pago_Pago, 11 hours behind UTC
clock         in each test, a second after its start, midnight comes, and with it summer time
clock_back    in each test, a second after its start, midnight comes, and summer time ends: it is 23:00 again
locale_c      LC_ALL=C
locale_de     LC_ALL=de_DE.UTF-8: decimals with a comma
locale_tr     LC_ALL=tr_TR.UTF-8: another lower case of I
one_core      one core
load          eight processes that compute all the time
few_files     at most 256 open files
small_tmp     TMPDIR is a tmpfs of 300 MB
no_ipv6       a network with lo and IPv4 only
no_numpy      Python without numpy, PIL and onnx
options       built without ccache and the optional packages
random_order  tests, and the cases in each program, in random order
TEXT
}

stop() { echo "conditions.sh: $*" >&2; exit 2; }
say() { echo "==== $*"; }

while [ $# -gt 0 ]; do
  case $1 in
    --list) list; exit 0 ;;
    --keep) keep=1; shift ;;
    --at)  # TIME LIBRARY COMMAND...: runs the command at another time, one test's for each run
      CLOCK_SHIFT=$(($(TZ=Asia/Beirut date -d "$2" +%s) - $(date +%s))) TZ=Asia/Beirut LD_PRELOAD=$3 exec "${@:4}" ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; list; exit 0 ;;
    --) shift; names=("$@"); break ;;
    -*) stop "unknown argument $1 (see tests/conditions.sh --help)" ;;
    *) chosen+=("$1"); shift ;;
  esac
done
[ ${#chosen[@]} -gt 0 ] || mapfile -t chosen < <(list | cut -d' ' -f1)
for condition in $(tr + ' ' <<<"${chosen[*]}"); do
  list | grep -q "^$condition " || stop "unknown condition $condition (see tests/conditions.sh --list)"
done

idle() { [ ${#busy[@]} = 0 ] || kill "${busy[@]}"; busy=(); }
end() { idle; [ -n "$keep" ] || rm -rf "$work"; }
trap end EXIT
trap 'exit 130' INT TERM

# saturday MONTH: the day before the month's last Sunday, next year: files that are from the future disturb build tools.
saturday() {
  local month
  month=$(($(date +%Y) + 1))-$1
  echo "$month-$((30 - $(date -d "$month-31" +%w)))"
}

# add CONDITION: adds what it needs to the run that is being prepared, or returns 1 after setting `lacking`.
add() {
  case $1 in
    user | readonly | small_tmp | no_ipv6) [ "$(id -u)" = 0 ] || { lacking="needs root"; return 1; } ;;
    clock | clock_back) c++ -shared -fPIC -o "$work/clock.so" "$root/tests/shifted_clock.cpp" || stop "no compiler" ;;
  esac
  case $1 in
    user) own=user inner+=(setpriv --reuid=nobody --regid=nogroup --clear-groups
      env USER=nobody LOGNAME=nobody "PATH=$path" "HOME=$work/home" "TMPDIR=$work/tmp") ;;
    home) inner+=(env -u HOME -u XDG_CACHE_HOME) ;;
    readonly)
      where="$work/read only ü" own=${own:-root}
      outer+=(unshare -m bash -c 'mount --bind "$0" "$0" && mount --bind "$0/build" "$0/build" &&
        mount -o remount,bind,ro "$0" && ! touch "$0/run" 2>/dev/null && cd "$0" && exec "$@"' "$where/tandem") ;;
    umask) inner+=(bash -c 'umask 077 && exec "$@"' -) ;;
    timezone) inner+=(env TZ=Pacific/Kiritimati) ;;
    timezone2) inner+=(env TZ=Pacific/Pago_Pago) ;;
    clock) clock="$(saturday 03) 23:59:59" ;;
    clock_back) clock="$(saturday 10) 23:59:59 EEST" ;;
    locale_c) inner+=(env LC_ALL=C) ;;
    locale_de | locale_tr)
      local name=${1#locale_}
      inner+=(env "LC_ALL=${name}_${name^^}.UTF-8")
      locale -a | grep -qi "^${name}_${name}.utf-\?8" || { lacking="needs the locale ${name}_${name^^}.UTF-8"; return 1; } ;;
    one_core) inner+=(taskset -c 0) ;;
    load) load=8 ;;
    few_files) inner+=(bash -c 'ulimit -n 256 && exec "$@"' -) ;;
    small_tmp) outer+=(unshare -m bash -c 'mount -t tmpfs -o size=300m,mode=1777 tmpfs "$0" && exec "$@"' "$work/tmp")
      inner+=(env "TMPDIR=$work/tmp") ;;
    no_ipv6) outer+=(unshare -n bash -c 'ip link set lo up && sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && exec "$@"' -) ;;
    no_numpy)
      mkdir -p "$work/absent"
      for name in numpy PIL onnx; do echo "raise ModuleNotFoundError('$name')" >"$work/absent/$name.py"; done
      inner+=(env "PYTHONPATH=$work/absent") ;;
    options)
      own=${own:-root} where=$work/options
      options=(-Dcurl=disabled -Dgloo=disabled -Dmpi=disabled -Dpt=disabled -Donnx=disabled -Djpeg=disabled) ;;
    random_order) seed=$RANDOM && echo "seed $seed" ;;
  esac
}

# make_clone: clones into $where and builds there, as root with what ccache has, and gives it to the user.
make_clone() {
  [ -d "$where/tandem" ] || git clone -q "$root" "$where/tandem" || return 1
  git -c safe.directory='*' -C "$where/tandem" fetch -q origin HEAD &&
    git -c safe.directory='*' -C "$where/tandem" reset -q --hard FETCH_HEAD || return 1
  # A compiler that is named is one that Meson does not run with ccache.
  env "PATH=$path" ${options[0]:+"CXX=g++"} bash "$where/tandem/run" build "${options[@]}" || return 1
  [ "$own" != user ] || chown -R nobody:nogroup "$where" "$work/home" "$work/tmp"
}

# suite ARGUMENT...: tests/run.py under the condition.
suite() {
  local wrapper=()
  [ -z "$clock" ] || wrapper=(--wrapper "'$root/tests/conditions.sh' --at '$clock' '$work/clock.so'")
  "${outer[@]}" "${inner[@]}" bash -c 'exec python3 "$0" "$1" -j "$(nproc)" "${@:2}"' "$tree/tests/run.py" "$tree/build" \
    "${wrapper[@]}" "$@" </dev/null
}

# count LINE: adds the line that ends a run to p, f and s; any other line is a failure.
count() {
  if [[ $1 =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    p=$((p + BASH_REMATCH[1])) f=$((f + BASH_REMATCH[2])) s=$((s + ${BASH_REMATCH[4]:-0}))
  else
    f=$((f + 1))
  fi
}

# shuffled: one run of tests/run.py for each test, which ends like one run of all.
shuffled() {
  local test cases doctests p=0 f=0 s=0
  doctests=$(meson introspect --tests "$tree/build" | python3 -c 'if True:
    import json, os, sys
    print(*(t["name"] for t in json.load(sys.stdin) if os.path.basename(t["cmd"][0]).startswith("test_")))')
  while read -r test; do
    cases=()
    [[ " $doctests " != *" $test "* ]] || cases=(-- --order-by=rand "--rand-seed=$seed")
    count "$(suite "$test" "${cases[@]}" | tee /dev/stderr | tail -1)"
  done < <(suite --list "${names[@]}" | shuf --random-source=<(yes "$seed"))
  echo "$p passed, $f failed, $s skipped"
}

# one CONDITION[+CONDITION]...: one run and its row.
one() {
  local outer=() inner=() options=() own="" where=$work/clone tree=$root clock="" load=0 seed="" lacking="" began=$SECONDS
  local log=$work/$1.log condition p=0 f=0 s=0
  mkdir -p "$work"/{home,tmp} && chmod 755 "$work" && chmod 1777 "$work/tmp"
  say "$1"
  for condition in ${1//+/ }; do
    add "$condition" || { rows+=("| $1 | not run: $lacking | | | |"); return; }
  done
  if [ -z "$own" ]; then
    "$root/run" build >"$log" 2>&1 || { tail "$log"; lacking="the build failed"; }
  else
    tree=$where/tandem
    make_clone >"$log" 2>&1 || { tail "$log"; lacking="the clone could not be built"; }
  fi
  [ -z "$lacking" ] || { rows+=("| $1 | $lacking | 1 | | |"); failed=$((failed + 1)); return; }
  for ((; load > 0; --load)); do
    while :; do :; done &
    busy+=($!)
  done
  if [ -n "$seed" ]; then shuffled; else suite "${names[@]}"; fi 2>&1 | tee "$log"
  idle
  count "$(tail -1 "$log")"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  rows+=("| $1 | $p | $f | $s | $(((SECONDS - began + 59) / 60)) | $(sed -n 's/^failed: //p' "$log" | paste -sd, | sed 's/,/, /g') |")
}

{  # read as a whole: the script may be edited meanwhile
  for run in "${chosen[@]}"; do one "$run"; done
  printf '%s\n' "| condition | passed | failed | skipped | minutes | what failed |" "|---|---|---|---|---|---|" "${rows[@]}"
  echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
  [ "$failed" = 0 ]
  exit
}
