"""As e2b_sync.py, for the asynchronous client."""

import asyncio
import json
import os
import sys

from e2b import (
    AsyncSandbox,
    AuthenticationException,
    CommandExitException,
    FileNotFoundException,
    FilesystemEventType,
    NotFoundException,
    PtySize,
    TimeoutException,
)


IS_OLD = sys.argv[2:] == ["old"]


async def raises(kind, coming):
    try:
        await coming
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def until(read, want):
    for _ in range(3000):
        if read() == want:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{read()} never became {want}")


async def main():
    options = json.loads(sys.argv[1])
    sandbox = await AsyncSandbox.create(**options)
    assert await sandbox.is_running()
    commands, files, pty = sandbox.commands, sandbox.files, sandbox.pty

    done = await commands.run("echo out; echo err >&2")
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 0), done
    failed = await raises(CommandExitException, commands.run("exit 3"))
    assert (failed.exit_code, failed.error) == (3, "exit status 3"), failed
    await raises(AuthenticationException, commands.run("true", user="no-such-user"))
    await raises(TimeoutException, commands.run("sleep 1000", timeout=0.5))
    command = await commands.run("cat; echo end", background=True, stdin=True)
    while [one.pid for one in await commands.list()] != [command.pid]:
        await asyncio.sleep(0.02)
    await command.disconnect()
    again = await commands.connect(command.pid)
    await commands.send_stdin(command.pid, "1\n")
    if IS_OLD:
        await commands.send_stdin(command.pid, "23\n")
    else:
        stream = commands.stream_input(command.pid)
        for part in ["2", "3\n"]:
            await stream.send(part)
        await stream.close()
    await commands.close_stdin(command.pid)
    assert (await again.wait()).stdout == "1\n23\nend\n"
    command = await commands.run("sleep 1000", background=True, timeout=0)
    assert await command.kill() is True
    assert (await raises(CommandExitException, command.wait())).error == "signal: killed"
    assert await commands.kill(command.pid) is False
    await raises(NotFoundException, commands.connect(999999))
    # Many at a time.
    many = await asyncio.gather(*[commands.run(f"echo {number}") for number in range(20)])
    assert [one.stdout for one in many] == [f"{number}\n" for number in range(20)]

    written = await files.write("dir/a", "text", metadata={"k": "v"})
    assert written.metadata == {"k": "v"}, written
    assert await files.read("dir/a") == "text"
    assert b"".join([part async for part in await files.read("dir/a", format="stream")]) == b"text"
    assert len(await files.write_files([{"path": "dir/b", "data": b"1"}, {"path": "c", "data": "2"}])) == 2
    assert (await files.get_info("dir/a")).size == 4
    assert await files.make_dir("dir/sub") is True
    assert await files.make_dir("dir/sub") is False
    assert [one.name for one in await files.list("dir")] == ["a", "b", "sub"]
    assert (await files.rename("dir/b", "dir/c")).name == "c"
    assert await files.exists("dir/b") is False
    await files.remove("dir/c")
    await raises(FileNotFoundException, files.read("none"))

    events = []
    exits = []
    watch = await files.watch_dir("dir", on_event=events.append, on_exit=exits.append, recursive=True)
    await files.write("dir/sub/new", "1")
    await until(
        lambda: [(event.type, event.name) for event in events],
        [(FilesystemEventType.CREATE, "sub/new"), (FilesystemEventType.WRITE, "sub/new")],
    )
    await watch.stop()
    await raises(FileNotFoundException, files.watch_dir("none", on_event=events.append))

    shown = bytearray()
    terminal = await pty.create(PtySize(rows=24, cols=80), on_data=shown.extend, timeout=0)
    await pty.resize(terminal.pid, PtySize(rows=30, cols=100))
    await pty.send_stdin(terminal.pid, b"stty size\n")
    await until(lambda: b"30 100" in shown, True)
    await terminal.disconnect()
    again = await pty.connect(terminal.pid, on_data=shown.extend)
    if IS_OLD:
        await pty.send_stdin(terminal.pid, b"exit 6\n")
    else:
        stream = pty.stream_input(terminal.pid)
        for part in [b"exit ", b"6\n"]:
            await stream.send(part)
        await stream.close()
    assert (await raises(CommandExitException, again.wait())).exit_code == 6
    terminal = await pty.create(PtySize(rows=24, cols=80), on_data=shown.extend, timeout=0)
    assert await pty.kill(terminal.pid) is True

    await sandbox.git.init("repository")
    assert (await sandbox.git.status("repository")).is_clean
    if not options.get("debug"):
        running = await commands.run("sleep 1000", background=True, timeout=0)
        assert await sandbox.kill() is True
        await raises(TimeoutException, running.wait())
        assert await sandbox.is_running() is False
    print("done")


asyncio.run(main())
# At the end of Python, the threads of pyqwest 0.12 sometimes abort the process. os._exit() does not wait for them.
sys.stdout.flush()
os._exit(0)
