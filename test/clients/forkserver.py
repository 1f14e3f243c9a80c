"""Runs programs as forks of one process that has imported the client: each would take two seconds for that.

A line of stdin is one program, as JSON: `path`, `args` and `socket`, where two connections become its stdin and stdout,
and its stderr. A line of stdout tells of one that has begun, `{"socket", "pid"}`, or ended, `{"pid", "code"}`: its exit
code, or minus the signal's number.
"""

import gc
import json
import os
import runpy
import signal
import socket
import sys

import k8s_agent_sandbox  # noqa: F401
# The client imports these when they are first used.
from kubernetes.client import CoreV1Api, CustomObjectsApi  # noqa: F401

# A fork would copy all of that to look whether something of it is garbage, and does at its end.
gc.freeze()


def tell(**facts):
    os.write(1, (json.dumps(facts) + "\n").encode())


def tell_ends(*_):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        tell(pid=pid, code=os.waitstatus_to_exitcode(status))


def become(job):
    """Has this process read and write by the sockets, under the program's name."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptors in [(0, 1), (2,)]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(job["socket"])
            for descriptor in descriptors:
                os.dup2(connection.fileno(), descriptor)
    # What the parent has read ahead is not for the program.
    sys.stdin = open(0, closefd=False)
    sys.argv = [job["path"], *job["args"]]
    sys.path[0] = os.path.dirname(job["path"])


def next_program():
    """Forks for each line; returns the job in the fork, None in the server once nobody wants any more."""
    for line in iter(sys.stdin.readline, ""):
        job = json.loads(line)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if pid == 0:
            become(job)
        else:
            # Nobody is to hear of an end before the beginning.
            tell(socket=job["socket"], pid=pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        if pid == 0:
            return job
    return None


signal.signal(signal.SIGCHLD, tell_ends)
job = next_program()
if job:
    # To the end of the module, so that the program ends as any does: with its threads, and what it wants done at exit.
    runpy.run_path(job["path"], run_name="__main__")
