"""Makes the virtual environment of the embedded engine. Called by install.ts; POSIX only.

    python3 install.py <folder> <requirements.txt>

Python holds the lock and not Node, because a `flock` ends with its process however that ends: two test
runs at once can't break each other, and a killed installation leaves no stale lock. The marker is
written last, so a half-made environment is never taken for an installed one.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys

folder, requirements = sys.argv[1], sys.argv[2]
marker = os.path.join(folder, ".installed")
child = None


def interrupted(number, _frame):
    if child is not None:
        child.terminate()
    raise SystemExit(128 + number)


def run(step, command):
    global child
    print(f"step: {step}", flush=True)
    child = subprocess.Popen(command, stderr=subprocess.STDOUT)
    if child.wait() != 0:
        raise SystemExit(1)
    child = None


signal.signal(signal.SIGTERM, interrupted)
signal.signal(signal.SIGINT, interrupted)
os.makedirs(os.path.dirname(folder), exist_ok=True)

with open(folder + ".lock", "w") as lock:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("step: waiting for another installation to end", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    if os.path.exists(marker):
        sys.exit(0)
    try:
        shutil.rmtree(folder, ignore_errors=True)
        run("making a virtual environment", [sys.executable, "-m", "venv", folder])
        pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install"]
        quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
        run("downloading", [*pip, *quiet, "--require-hashes", "--no-deps", "-r", requirements])
        with open(marker, "w") as done:
            done.write("")
    except BaseException:
        if child is not None and child.poll() is None:
            child.wait()
        shutil.rmtree(folder, ignore_errors=True)
        raise
