"""Harbor's own environment for E2B, alone and in a trial, from a template that exists."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from checks import check, report
from e2b import Sandbox, TemplateException
from harbor.environments.e2b import E2BEnvironment
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

template = "base"
folder = Path(tempfile.mkdtemp())

TASK = """
schema_version = "1.4"
[task]
name = "hookbox/words"
version = "1.0.0"
[verifier]
environment_mode = "shared"
[environment]
docker_image = "python"
workdir = "/tmp"
[environment.env]
WHO = "you"
"""

FILES = {
    "task.toml": TASK,
    "instruction.md": "Count the words of words.txt into count.txt.",
    "environment/words.txt": "one two three",
    "solution/solve.sh": '#!/bin/bash\nwc -w < words.txt > count.txt; echo "$WHO" > who.txt\n',
    "tests/test.sh": '#!/bin/bash\n[ "$(cat count.txt who.txt | xargs)" = "3 you" ]\n'
    "echo $((1 - $?)) > /logs/verifier/reward.txt\n",
}


def environment(**more: Any) -> E2BEnvironment:
    return E2BEnvironment(
        environment_dir=folder / "none",
        environment_name="words",
        session_id="words__1",
        trial_paths=TrialPaths(folder / "trial"),
        task_env_config=EnvironmentConfig(docker_image="python", workdir="/tmp"),
        **more,
    )


async def alone() -> None:
    """Checks each method of an environment."""
    box = environment(prebuilt_template_id=template)
    await box.start(force_build=False)

    async def run(command: str, **more: Any) -> list[Any]:
        told = await box.exec(command, **more)
        return [told.stdout, told.stderr, told.return_code]

    command = await run('echo "$PWD $A"; echo oh >&2; exit 3', env={"A": "b c"})
    user = await run("id -un")
    source, target = folder / "source", folder / "target"
    (source / "deep").mkdir(parents=True)
    (source / "deep/tool").write_bytes(bytes(range(256)) * 8192)
    (source / "deep/tool").chmod(0o750)
    (source / "link").symlink_to("deep/tool")
    await box.upload_dir(source, "/tmp/up/there")
    await box.download_dir("/tmp/up", target)
    await box.upload_file(source / "deep/tool", "/tmp/new/folder/file")
    await box.download_file("/tmp/new/folder/file", folder / "file")
    kinds = [await box.is_dir("/tmp/up"), await box.is_file("/tmp/up")]
    await box.stop(delete=True)

    content = (source / "deep/tool").read_bytes()
    there = target / "there"
    mode = (there / "deep/tool").stat().st_mode & 0o777
    check("command", lambda: (command, ["/tmp b c\n", "oh\n", 3]))
    check("user", lambda: (user[0], "root\n"))
    check("folders", lambda: ([(there / "link").read_bytes() == content, mode], [True, 0o750]))
    check("files", lambda: ((folder / "file").read_bytes() == content, True))
    check("kinds", lambda: (kinds, [True, False]))


def trial() -> tuple[Any, Any]:
    """Runs a task with the agent that follows the solution."""
    task = folder / "words"
    for name, text in FILES.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    harbor = [str(Path(sys.executable).with_name("harbor")), "run", "-p", str(task), "-a", "oracle"]
    ran = subprocess.run(
        [*harbor, "-e", "e2b", "--ek", f"prebuilt_template_id={template}"]
        + ["-q", "-o", str(folder / "jobs")],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(folder)},
    )
    found = [json.loads(file.read_text()) for file in (folder / "jobs").glob("*/*/result.json")]
    if len(found) != 1:
        raise RuntimeError(ran.stdout + ran.stderr)
    [result] = found
    return [result["exception_info"], result["verifier_result"]["rewards"]], [None, {"reward": 1.0}]


def refused() -> tuple[Any, Any]:
    """Without a template, Harbor builds one."""
    try:
        return asyncio.run(environment().start(force_build=False)), "refused"
    except TemplateException as error:
        return "not supported by hookbox" in str(error), True


check("alone", lambda: (asyncio.run(alone()), None))
check("trial", trial)
check("no template", refused)
check("deleted", lambda: (Sandbox.list().next_items(), []))
report()
