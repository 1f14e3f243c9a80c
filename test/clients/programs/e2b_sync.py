"""
Every method of commands, files, pty and git of E2B's published Python client. Its arguments: the options as JSON, and
"old" for version 2.31.
"""

import json
import os
import sys
import time

from e2b import (
    AuthenticationException,
    CommandExitException,
    FileNotFoundException,
    FileType,
    FilesystemEventType,
    InvalidArgumentException,
    NotFoundException,
    PtySize,
    Sandbox,
    SandboxException,
    TimeoutException,
)


def raises(kind, act):
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def until(read, want):
    for _ in range(3000):
        if read() == want:
            return
        time.sleep(0.02)
    raise AssertionError(f"{read()} never became {want}")


IS_OLD = sys.argv[2:] == ["old"]
options = json.loads(sys.argv[1])
sandbox = Sandbox.create(**options)
assert sandbox.is_running()
commands, files = sandbox.commands, sandbox.files

# Commands.
done = commands.run("echo out; echo $A $E2B_SANDBOX; echo err >&2", envs={"A": "1"})
assert (done.stdout, done.stderr, done.exit_code) == ("out\n1 true\n", "err\n", 0) and not done.error, done
failed = raises(CommandExitException, lambda: commands.run("exit 3"))
assert (failed.exit_code, failed.error) == (3, "exit status 3"), failed
raises(InvalidArgumentException, lambda: commands.run("true", cwd="/no/such"))
raises(AuthenticationException, lambda: commands.run("true", user="no-such-user"))
raises(TimeoutException, lambda: commands.run("sleep 1000", timeout=0.5))
until(commands.list, [])
seen = []
assert commands.run("echo a; echo b >&2", on_stdout=seen.append, on_stderr=seen.append).exit_code == 0
assert sorted(seen) == ["a\n", "b\n"], seen
command = commands.run("cat; echo end", background=True, stdin=True)
[listed] = commands.list()
assert (listed.pid, listed.cmd, listed.args) == (command.pid, "/bin/bash", ["-l", "-c", "cat; echo end"]), listed
command.disconnect()
again = commands.connect(command.pid)
commands.send_stdin(command.pid, "1\n")
if IS_OLD:
    commands.send_stdin(command.pid, "23\n")
else:
    commands.stream_input(command.pid, iter(["2", "3\n"]))
commands.close_stdin(command.pid)
assert again.wait().stdout == "1\n23\nend\n"
command = commands.run("sleep 1000", background=True, timeout=0)
assert command.kill() is True
killed = raises(CommandExitException, command.wait)
assert (killed.exit_code, killed.error) == (-1, "signal: killed"), killed
assert commands.kill(command.pid) is False
raises(NotFoundException, lambda: commands.connect(999999))
raises(NotFoundException, lambda: commands.send_stdin(999999, "x"))

# Files.
written = files.write("dir/a ü.txt", "text", metadata={"Author": "me"})
assert (written.name, written.metadata) == ("a ü.txt", {"author": "me"}), written
assert written.path.endswith("/dir/a ü.txt"), written
assert files.read("dir/a ü.txt") == "text"
assert files.read("dir/a ü.txt", format="bytes") == bytearray(b"text")
assert b"".join(files.read("dir/a ü.txt", format="stream")) == b"text"
assert [one.name for one in files.write_files([{"path": "dir/b", "data": b"1"}, {"path": "c", "data": "2"}])] == ["b", "c"]
files.write("empty", "")
assert files.read("empty") == ""
files.write("gzip", "x" * 10000, gzip=True)
assert files.read("gzip", gzip=True) == "x" * 10000
info = files.get_info("dir/a ü.txt")
assert (info.type, info.size, info.mode, info.permissions) == (FileType.FILE, 4, 0o644, "-rw-r--r--"), info
assert info.metadata == {"author": "me"}, info
assert files.make_dir("dir/sub") is True
assert files.make_dir("dir/sub") is False
commands.run("ln -s b dir/link")
assert [(one.name, one.type) for one in files.list("dir", depth=2)] == [
    ("a ü.txt", FileType.FILE),
    ("b", FileType.FILE),
    ("link", FileType.FILE if IS_OLD else FileType.SYMLINK),
    ("sub", FileType.DIR),
], files.list("dir", depth=2)
assert files.rename("dir/b", "dir/sub/moved").path.endswith("/dir/sub/moved")
assert files.exists("dir/sub/moved") is True
assert files.exists("dir/b") is False
files.remove("dir/sub")
files.remove("dir/sub")
raises(FileNotFoundException, lambda: files.read("none"))
raises(FileNotFoundException, lambda: files.get_info("none"))
raises(FileNotFoundException, lambda: files.list("none"))
raises(FileNotFoundException, lambda: files.rename("none", "x"))
raises(InvalidArgumentException, lambda: files.read("dir"))
raises(AuthenticationException, lambda: files.read("dir", user="no-such-user"))

# Watches.
watch = files.watch_dir("dir", recursive=True, include_entry=True)
files.write("dir/new", "1")
events = []


def gathered():
    events.extend(watch.get_new_events())
    return [(event.type, event.name) for event in events]


until(gathered, [(FilesystemEventType.CREATE, "new"), (FilesystemEventType.WRITE, "new")])
assert events[1].entry.size == 1, events
watch.stop()
raises(SandboxException, watch.get_new_events)

# Terminals.
terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=0)
sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=100))
sandbox.pty.send_stdin(terminal.pid, b"stty size; exit 5\n")
shown = bytearray()
ended = raises(CommandExitException, lambda: terminal.wait(on_pty=shown.extend))
assert ended.exit_code == 5 and b"30 100" in shown, (ended, shown)
terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=0)
terminal.disconnect()
again = sandbox.pty.connect(terminal.pid)
if IS_OLD:
    sandbox.pty.send_stdin(terminal.pid, b"exit 6\n")
else:
    sandbox.pty.stream_input(terminal.pid, iter([b"exit ", b"6\n"]))
assert raises(CommandExitException, again.wait).exit_code == 6
terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=0)
assert sandbox.pty.kill(terminal.pid) is True
assert raises(CommandExitException, terminal.wait).error == "signal: killed"

# Git.
git = sandbox.git
git.init("repository", initial_branch="main")
git.configure_user("Some One", "one@example.com", path="repository", scope="local")
files.write("repository/file", "1")
assert git.status("repository").has_untracked, git.status("repository")
git.add("repository")
git.commit("repository", "First")
git.create_branch("repository", "other")
assert git.branches("repository").current_branch == "other", git.branches("repository")
git.checkout_branch("repository", "main")
assert git.status("repository").is_clean, git.status("repository")
if not options.get("debug"):
    running = commands.run("sleep 1000", background=True, timeout=0)
    assert sandbox.kill() is True
    raises(TimeoutException, running.wait)
    assert sandbox.is_running() is False
print("done")
# At the end of Python, the threads of pyqwest 0.12 sometimes abort the process. os._exit() does not wait for them.
sys.stdout.flush()
os._exit(0)
