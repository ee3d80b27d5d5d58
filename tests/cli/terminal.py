# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A command at a terminal."""
import os
import pty
import re
import select
import signal
import time


def at_terminal(*command, text=b"", env=None, wait=b"", then=None, seconds=30):
    """What the terminal shows, and the exit code. When `wait`, a pattern, is on the screen, text is typed and `then` is called."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update({"TERM": "xterm", **(env or {})})
        os.execv(command[0], command)
    seen, end, sent = b"", time.monotonic() + seconds, False
    while time.monotonic() < end:
        if not sent and (not wait or re.search(wait, seen)):
            sent = True
            os.write(terminal, text)
            if then:
                then(child)
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
    else:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return seen, code
