"""
Does what an agent does with the published client, in whichever version is installed, and prints the result of each step
as JSON: "ok", or what came instead. Awaits what the asynchronous client returns; the other client's results are there
at once.
"""

import asyncio
import inspect
import json
import os
import sys

import k8s_agent_sandbox
from k8s_agent_sandbox import models

options = json.loads(sys.argv[1])
results = {}


async def value(made):
    return await made if inspect.isawaitable(made) else made


async def step(name, work):
    try:
        results[name] = await work()
    except Exception as error:
        # The answer of a router is in an attribute of the error or of its cause.
        answers = (getattr(each, "response", None) for each in (error, error.__cause__))
        detail = next((answer.text for answer in answers if answer is not None), "")
        results[name] = f"{type(error).__name__}: {error} {detail}".strip()


def same(found, wanted):
    return "ok" if found == wanted else f"{found!r}"


async def work_in(client):
    namespace = options["namespace"]
    sandbox = None

    async def create():
        nonlocal sandbox
        sandbox = await value(client.create_sandbox(options["pool"], namespace=namespace))
        return "ok"

    await step("create", create)
    if sandbox is None:
        return
    files = sandbox.files
    # Without it, the client removes the slash at the beginning of a path.
    unsafe = {"allow_unsafe_paths": True} if options["sandboxd"] else {}

    async def run(command):
        return (await value(sandbox.commands.run(command))).model_dump()

    async def command():
        told = await run("sh -c 'echo $((6 * 7)); echo oh >&2; exit 3'")
        return same([told["stdout"], told["stderr"], told["exit_code"]], ["42\n", "oh\n", 3])

    async def code():
        return same((await run("python3 -c 'print(6 * 7)'"))["stdout"], "42\n")

    async def write_read():
        await value(files.write("folder/a.txt", "hello"))
        return same((await value(files.read("folder/a.txt"))).decode(), "hello")

    async def listing():
        return same([entry.name for entry in await value(files.list("folder"))], ["a.txt"])

    async def exists():
        found = [await value(files.exists(path)) for path in ("folder/a.txt", "folder/b.txt")]
        return same(found, [True, False])

    async def absolute():
        await value(files.write("/tmp/x.txt", "there", **unsafe))
        return same((await run("cat /tmp/x.txt"))["stdout"], "there")

    async def large():
        content = os.urandom(5_000_000)
        await value(files.write("large.bin", content))
        return same(await value(files.read("large.bin")) == content, True)

    async def again():
        found = await value(client.get_sandbox(sandbox.claim_name, namespace))
        return same((await value(found.commands.run("cat folder/a.txt"))).stdout, "hello")

    async def claims():
        return same(sandbox.claim_name in await value(client.list_all_sandboxes(namespace)), True)

    async def delete():
        name = sandbox.claim_name
        await value(client.delete_sandbox(name, namespace))
        return same(name in await value(client.list_all_sandboxes(namespace)), False)

    await step("command", command)
    await step("code", code)
    await step("write and read", write_read)
    await step("list", listing)
    await step("exists", exists)
    await step("absolute path", absolute)
    await step("5 MB", large)
    await step("reconnect", again)
    await step("list claims", claims)
    await step("delete", delete)


async def main():
    config = getattr(models, options["config"])(**options["settings"])
    if options["asynchronous"]:
        async with k8s_agent_sandbox.AsyncSandboxClient(config) as client:
            await work_in(client)
    else:
        await work_in(k8s_agent_sandbox.SandboxClient(config))


asyncio.run(main())
print(json.dumps(results))
