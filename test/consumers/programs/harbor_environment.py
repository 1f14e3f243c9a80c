"""Uses the environment of packages/integrations/harbor alone, and in a trial of Harbor."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from checks import check, report
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths
from hookbox_harbor import AgentSandboxEnvironment
from k8s_agent_sandbox import SandboxClient

options = json.loads(sys.argv[1])
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
workdir = "/tmp/words"
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


def claims() -> list[str]:
    return SandboxClient().list_all_sandboxes(options["namespace"])


async def alone() -> None:
    """Checks each method of an environment."""
    environment = AgentSandboxEnvironment(
        environment_dir=folder / "none",
        environment_name="words",
        session_id="words__1",
        trial_paths=TrialPaths(folder / "trial"),
        task_env_config=EnvironmentConfig(docker_image="python", workdir="/tmp/work"),
        pool={"python": options["pool"]},
        **options["settings"],
    )
    await environment.start(force_build=False)

    async def run(command: str, **more: Any) -> list[Any]:
        told = await environment.exec(command, **more)
        return [told.stdout, told.stderr, told.return_code]

    command = await run('echo "$PWD $A"; echo oh >&2; exit 3', env={"A": "b c"})
    elsewhere = await run("pwd", cwd="/")
    bash = await run("set -o pipefail; false | true")
    late = await run("sleep 60", timeout_sec=1)
    output = await run("head -c 6000000 /dev/zero; echo end; (sleep 600; echo late) &")
    large = await run(f": {'x' * 300_000}; echo large")
    source, target = folder / "source", folder / "target"
    (source / "deep").mkdir(parents=True)
    (source / "deep/tool").write_bytes(bytes(range(256)) * 8192)
    (source / "deep/tool").chmod(0o750)
    (source / "link").symlink_to("deep/tool")
    await environment.upload_dir(source, "/tmp/up/there")
    await environment.download_dir("/tmp/up", target)
    await environment.upload_file(source / "deep/tool", "/tmp/new/folder/file")
    await environment.download_file("/tmp/new/folder/file", folder / "other/file")
    kinds = [await environment.is_dir("/tmp/up"), await environment.is_file("/tmp/up")]
    await environment.stop(delete=True)

    content = (source / "deep/tool").read_bytes()
    there = target / "there"
    mode = (there / "deep/tool").stat().st_mode & 0o777
    check("command", lambda: (command, ["/tmp/work b c\n", "oh\n", 3]))
    check("folder of a command", lambda: (elsewhere, ["/\n", "", 0]))
    check("bash", lambda: (bash[2], 1))
    check("time limit", lambda: (late[2], 124))
    check(
        "large output",
        lambda: ([len(output[0]), output[0][-4:], output[2]], [1_000_000, "end\n", 0]),
    )
    check("large command", lambda: (large, ["large\n", "", 0]))
    check("folders", lambda: ([(there / "link").read_bytes() == content, mode], [True, 0o750]))
    check("files", lambda: ((folder / "other/file").read_bytes() == content, True))
    check("kinds", lambda: (kinds, [True, False]))


def trial() -> tuple[Any, Any]:
    """Runs a task with the agent that follows the solution."""
    task = folder / "words"
    for name, text in FILES.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    settings = {"pool": options["pool"], **options["settings"]}
    harbor = [str(Path(sys.executable).with_name("harbor")), "run", "-p", str(task), "-a", "oracle"]
    environment = ["-e", "hookbox_harbor:AgentSandboxEnvironment"]
    for key, value in settings.items():
        environment += ["--ek", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    ran = subprocess.run(
        [*harbor, *environment, "-q", "-o", str(folder / "jobs")],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(folder)},
    )
    found = [json.loads(file.read_text()) for file in (folder / "jobs").glob("*/*/result.json")]
    if len(found) != 1:
        raise RuntimeError(ran.stdout + ran.stderr)
    [result] = found
    return [result["exception_info"], result["verifier_result"]["rewards"]], [None, {"reward": 1.0}]


check("alone", lambda: (asyncio.run(alone()), None))
check("trial", trial)
check("deleted", lambda: (claims(), []))
report()
