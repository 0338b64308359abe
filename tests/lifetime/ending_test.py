"""ending_test.py PROGRAM PLUGIN: checks that every mode of tests/lifetime/ending.cpp ends by itself with exit code 0,
and writes a profile of the whole run if one is requested."""
import json
import os
import subprocess
import sys
import tempfile

program, plugin = sys.argv[1:]
modes = subprocess.run([program, '--list'], check=True, capture_output=True, text=True).stdout.splitlines()
failed = []


def end(mode, **environment):
    try:
        run = subprocess.run([program, mode, plugin], env={**os.environ, **environment}, timeout=120,
                             capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return 'timed out'
    return '' if run.returncode == 0 else f'exit code {run.returncode}\n{run.stderr[-4000:]}'


def trace_of(path):
    try:
        with open(path, encoding='utf-8') as file:
            return '' if json.load(file)['traceEvents'] else 'an empty profile'
    except (OSError, ValueError) as error:
        return f'no profile: {error}'


with tempfile.TemporaryDirectory() as folder:
    checks = [(mode, lambda mode=mode: end(mode)) for mode in modes]
    for mode in modes:
        trace = os.path.join(folder, mode + '.json')
        checks.append((mode + ', with a profile',
                       lambda mode=mode, trace=trace: end(mode, TANDEM_PROFILE=trace) or trace_of(trace)))
    for name, check in checks:
        message = check()
        if message:
            failed.append(name)
            print(f'FAILED: {name}: {message}')
print(f'{len(checks) - len(failed)} passed, {len(failed)} failed')
sys.exit(1 if failed else 0)
