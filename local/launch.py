"""Runs MiniStack on a loopback port. Called by ministack.ts with the Python of the virtual environment.

    python launch.py <port, 0 for a free one> <run folder> [--tethered]

The port is bound here, before MiniStack loads, and written to `<run folder>/port`: no other process can
take it between the choice and the use, and whatever answers on it is this engine. With --tethered the
engine ends when its standard input closes, that is when its parent has died, even by SIGKILL.
"""

import os
import shutil
import signal
import socket
import sys
import threading

HOST = "127.0.0.1"
PORT_TAKEN = 98
GRACE_SECONDS = 8

wanted, folder, tethered = int(sys.argv[1]), sys.argv[2], "--tethered" in sys.argv


def leave_nothing():
    """Removes the run folder and ends what is left of the group: the Lambda workers, and this process."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.getpgid(0) == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)


def end_with_parent():
    while os.read(0, 1024):
        pass
    timer = threading.Timer(GRACE_SECONDS, leave_nothing)
    timer.daemon = True
    timer.start()
    os.kill(os.getpid(), signal.SIGTERM)


listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
try:
    listener.bind((HOST, wanted))
    listener.listen(256)
except OSError as error:
    print(f"port {wanted}: {error.strerror}", file=sys.stderr)
    sys.exit(PORT_TAKEN)
port = listener.getsockname()[1]

# Read by MiniStack when it is imported, so they come first.
os.environ["GATEWAY_PORT"] = str(port)
os.environ["BIND_HOST"] = HOST

import asyncio  # noqa: E402

from hypercorn.asyncio import serve  # noqa: E402
from hypercorn.config import Config  # noqa: E402
from ministack.app import app  # noqa: E402

config = Config()
config.bind = [f"fd://{listener.detach()}"]
config.keep_alive_timeout = 75
config.loglevel = "WARNING"

with open(os.path.join(folder, "port.new"), "w") as file:
    file.write(str(port))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))

if tethered:
    threading.Thread(target=end_with_parent, daemon=True).start()
try:
    asyncio.run(serve(app, config))
finally:
    if tethered:
        leave_nothing()
