"""Cases of e2bmethods.py: methods of a sandbox and its parts, which work."""

import asyncio
import inspect
import os
import sys
import time

import e2b
import e2b_code_interpreter

IS_ASYNC = sys.argv[1:] == ["async"]
SIZE = e2b.PtySize(rows=24, cols=80)
WORKING = {}


def exported(name):
    """Returns what the packages export by this name, or its asynchronous form."""
    return getattr(e2b_code_interpreter, f"Async{name}" if IS_ASYNC else name)


Sandbox = exported("Sandbox")


def works(*methods):
    """Registers a case that uses these methods."""

    def register(case):
        WORKING.update(dict.fromkeys(methods, case))
        return case

    return register


def equal(got, want):
    assert got == want, f"{got!r} is not {want!r}"


def within(one, many):
    assert one in many, f"{one!r} is not in {many!r}"


async def of(value):
    """The sync methods return what the async ones return later."""
    return await value if inspect.isawaitable(value) else value


async def until(read, want):
    for _ in range(3000):
        got = await of(read())
        if want(got):
            return
        await of(asyncio.sleep(0.02) if IS_ASYNC else time.sleep(0.02))
    raise AssertionError(f"{got!r} never became what the case waits for")


async def start(sandbox, command, **options):
    return await of(sandbox.commands.run(command, background=True, timeout=0, **options))


async def ended(handle):
    """Waits for a command or terminal, which may have failed."""
    try:
        return await of(handle.wait())
    except e2b.CommandExitException as error:
        return error


async def terminal(sandbox, screen):
    return await of(sandbox.pty.create(SIZE, **({"on_data": screen.extend} if IS_ASYNC else {}), timeout=0))


async def shown(sandbox, handle, screen):
    """Ends a terminal, and returns what it showed."""
    await of(sandbox.pty.send_stdin(handle.pid, b"exit\n"))
    if IS_ASYNC:
        await ended(handle)
    else:
        handle.wait(on_pty=screen.extend)
    return bytes(screen)


async def throwaway():
    return await of(Sandbox.create())


@works("E2B")
async def client(sandbox):
    bound = e2b.E2B(api_key=os.environ["E2B_API_KEY"], api_url=os.environ["E2B_API_URL"])
    equal((await of(getattr(bound, Sandbox.__name__).get_info(sandbox.sandbox_id))).sandbox_id, sandbox.sandbox_id)


@works("Sandbox.create", "sandbox.get_info", "Sandbox.get_info", "sandbox.is_running")
async def created(sandbox):
    for info in [await of(sandbox.get_info()), await of(Sandbox.get_info(sandbox.sandbox_id))]:
        equal((info.sandbox_id, info.state), (sandbox.sandbox_id, e2b.SandboxState.RUNNING))
    equal(await of(sandbox.is_running()), True)


@works("Sandbox.connect", "sandbox.connect", "Sandbox.set_timeout", "sandbox.set_timeout")
async def connected(sandbox):
    equal((await of(Sandbox.connect(sandbox.sandbox_id))).sandbox_id, sandbox.sandbox_id)
    equal((await of(sandbox.connect())).sandbox_id, sandbox.sandbox_id)
    await of(sandbox.set_timeout(900))
    await of(Sandbox.set_timeout(sandbox.sandbox_id, 1200))
    info = await of(sandbox.get_info())
    assert 600 < info.end_at.timestamp() - time.time() < 1800, info.end_at


@works("Sandbox.list", "sandboxes.next_items")
async def listed(sandbox):
    pages = Sandbox.list()
    within(sandbox.sandbox_id, [one.sandbox_id for one in await of(pages.next_items())])


@works("sandbox.pause", "sandbox.kill", "sandbox.beta_pause")
async def paused(sandbox):
    one = await throwaway()
    equal(await of(one.pause()), True)
    equal(await of(one.beta_pause()), False)
    equal(await of(one.kill()), True)
    equal(await of(one.kill()), False)


@works("Sandbox.pause", "Sandbox.kill", "Sandbox.beta_pause")
async def paused_by_name(sandbox):
    name = (await throwaway()).sandbox_id
    equal(await of(Sandbox.beta_pause(name)), True)
    equal(await of(Sandbox.pause(name)), False)
    equal(await of(Sandbox.kill(name)), True)


@works("sandbox.get_metrics", "Sandbox.get_metrics")
async def measured(sandbox):
    equal(len(await of(sandbox.get_metrics())), 1)
    equal(len(await of(Sandbox.get_metrics(sandbox.sandbox_id))), 1)


@works("sandbox.update_network", "Sandbox.update_network")
async def narrowed(sandbox):
    await of(sandbox.update_network({}))
    try:
        await of(Sandbox.update_network(sandbox.sandbox_id, {"allow_internet_access": False}))
    except e2b.SandboxException as error:
        within("agents.x-k8s.io/egress-allow", str(error))
    else:
        raise AssertionError("update_network was not refused")


@works("sandbox.get_host", "sandbox.get_mcp_url", "sandbox.upload_url", "sandbox.download_url", "get_signature")
async def addresses(sandbox):
    within(sandbox.sandbox_id, sandbox.get_host(3000))
    within("50005-", sandbox.get_mcp_url())
    within("signature=", sandbox.upload_url("a"))
    within("signature=", sandbox.download_url("a"))
    within("v1_", e2b.get_signature("a", "read", "user", "token")["signature"])


@works("sandbox.get_mcp_token")
async def mcp_token(sandbox):
    await of(sandbox.files.write("/etc/mcp-gateway/.token", "t", user="root"))
    equal(await of(sandbox.get_mcp_token()), "t")


@works("sandbox.run_code", "sandbox.create_code_context", "sandbox.list_code_contexts")
async def code(sandbox):
    equal((await of(sandbox.run_code("6 * 7"))).text, "42")
    context = await of(sandbox.create_code_context(language="javascript"))
    equal((await of(sandbox.run_code("6 * 7", context=context))).text, "42")
    within(context.id, [one.id for one in await of(sandbox.list_code_contexts())])


@works("sandbox.restart_code_context", "sandbox.remove_code_context")
async def contexts(sandbox):
    context = await of(sandbox.create_code_context())
    await of(sandbox.run_code("x = 1", context=context))
    await of(sandbox.restart_code_context(context))
    equal((await of(sandbox.run_code("x", context=context))).error.name, "NameError")
    await of(sandbox.remove_code_context(context))
    assert context.id not in [one.id for one in await of(sandbox.list_code_contexts())]


@works("commands.run", "commands.list", "commands.kill", "command.wait", "command.kill")
async def commands_run(sandbox):
    equal((await of(sandbox.commands.run("echo a"))).stdout, "a\n")
    one, other = await start(sandbox, "sleep 600"), await start(sandbox, "sleep 600")
    running = [process.pid for process in await of(sandbox.commands.list())]
    assert {one.pid, other.pid} <= {*running}, running
    equal(await of(sandbox.commands.kill(one.pid)), True)
    equal(await of(other.kill()), True)
    for handle in one, other:
        equal((await ended(handle)).error, "signal: killed")


@works("commands.connect", "commands.send_stdin", "commands.close_stdin", "commands.stream_input", "command.disconnect")
async def commands_connect(sandbox):
    command = await start(sandbox, "cat; echo end", stdin=True)
    await of(command.disconnect())
    again = await of(sandbox.commands.connect(command.pid, timeout=0))
    await of(sandbox.commands.send_stdin(command.pid, "1\n"))
    await streamed(sandbox.commands, command.pid, ["2", "3\n"])
    await of(sandbox.commands.close_stdin(command.pid))
    equal((await of(again.wait())).stdout, "1\n23\nend\n")


@works("command.send_stdin", "command.close_stdin")
async def command_stdin(sandbox):
    command = await start(sandbox, "cat", stdin=True)
    await of(command.send_stdin("typed\n"))
    await of(command.close_stdin())
    equal((await of(command.wait())).stdout, "typed\n")


if IS_ASYNC:
    works("input.send", "input.close")(commands_connect)


async def streamed(place, pid, parts):
    if not IS_ASYNC:
        return place.stream_input(pid, iter(parts))
    stream = place.stream_input(pid)
    for part in parts:
        await stream.send(part)
    await stream.close()


@works("files.write", "files.write_files", "files.read", "files.list", "files.get_info", "files.exists", "files.rename")
async def files(sandbox):
    here = sandbox.files
    equal((await of(here.write("e2b/a", "abc"))).name, "a")
    equal(len(await of(here.write_files([{"path": "e2b/b", "data": "b"}, {"path": "e2b/c", "data": b"c"}]))), 2)
    equal(await of(here.read("e2b/a")), "abc")
    equal([one.name for one in await of(here.list("e2b"))], ["a", "b", "c"])
    equal((await of(here.get_info("e2b/a"))).size, 3)
    equal((await of(here.rename("e2b/a", "e2b/d"))).name, "d")
    equal([await of(here.exists(f"e2b/{name}")) for name in "ad"], [False, True])
    await of(here.remove("e2b"))


@works("files.make_dir", "files.remove", "files.watch_dir", "watch.stop")
async def watched(sandbox):
    here, names = sandbox.files, []
    equal([await of(here.make_dir("watched/sub")) for _ in range(2)], [True, False])
    if IS_ASYNC:
        watch = await here.watch_dir("watched", on_event=lambda event: names.append(event.name))
    else:
        watch = here.watch_dir("watched")
    await of(here.write("watched/x", "x"))
    await until(lambda: names if IS_ASYNC else [one.name for one in watch.get_new_events()], lambda got: "x" in got)
    await of(watch.stop())
    await of(here.remove("watched"))
    equal(await of(here.exists("watched")), False)


if not IS_ASYNC:
    works("watch.get_new_events")(watched)


@works("pty.create", "pty.resize", "pty.send_stdin", "pty.stream_input", "pty.connect")
async def terminals(sandbox):
    screen = bytearray()
    one = await terminal(sandbox, screen)
    await of(sandbox.pty.resize(one.pid, e2b.PtySize(rows=20, cols=91)))
    await of(sandbox.pty.send_stdin(one.pid, b"stty size\n"))
    within(b"20 91", await shown(sandbox, one, screen))
    screen = bytearray()
    other = await terminal(sandbox, screen)
    await of(other.disconnect())
    again = await of(sandbox.pty.connect(other.pid, **({"on_data": screen.extend} if IS_ASYNC else {}), timeout=0))
    await streamed(sandbox.pty, other.pid, [b"echo $((6 ", b"* 7))\n"])
    within(b"42", await shown(sandbox, again, screen))


@works("pty.kill")
async def killed_terminal(sandbox):
    one = await terminal(sandbox, bytearray())
    equal(await of(sandbox.pty.kill(one.pid)), True)
    equal((await ended(one)).error, "signal: killed")


@works("git.init", "git.configure_user", "git.set_config", "git.get_config", "git.add", "git.commit", "git.status")
async def git_commit(sandbox):
    git = sandbox.git
    await of(sandbox.commands.run("rm -rf repository bare cloned"))
    await of(git.init("repository", initial_branch="main"))
    await of(git.configure_user("One", "one@example.com", scope="local", path="repository"))
    await of(git.set_config("pull.rebase", "false", scope="local", path="repository"))
    equal(await of(git.get_config("user.name", scope="local", path="repository")), "One")
    await of(sandbox.files.write("repository/file", "1"))
    equal((await of(git.status("repository"))).has_untracked, True)
    await of(git.add("repository"))
    await of(git.commit("repository", "First"))
    equal((await of(git.status("repository"))).is_clean, True)


@works("git.create_branch", "git.checkout_branch", "git.delete_branch", "git.branches", "git.reset", "git.restore")
async def git_branches(sandbox):
    git = sandbox.git
    await of(git.create_branch("repository", "other"))
    equal((await of(git.branches("repository"))).current_branch, "other")
    await of(git.checkout_branch("repository", "main"))
    await of(git.delete_branch("repository", "other"))
    for undo in [lambda: git.reset("repository", mode="hard"), lambda: git.restore("repository", ["file"])]:
        await of(sandbox.files.write("repository/file", "2"))
        await of(undo())
        equal(await of(sandbox.files.read("repository/file")), "1")


@works("git.clone", "git.remote_add", "git.remote_get", "git.push", "git.pull", "git.dangerously_authenticate")
async def git_remote(sandbox):
    git = sandbox.git
    home = (await of(sandbox.commands.run("pwd"))).stdout.strip()
    await of(git.init("bare", bare=True, initial_branch="main"))
    await of(git.remote_add("repository", "origin", f"{home}/bare"))
    equal(await of(git.remote_get("repository", "origin")), f"{home}/bare")
    await of(git.push("repository", remote="origin", branch="main"))
    await of(git.pull("repository", remote="origin", branch="main"))
    await of(git.clone(f"{home}/bare", path="cloned"))
    equal(await of(sandbox.files.read("cloned/file")), "1")
    await of(git.dangerously_authenticate("user", "password"))
