"""Uses the environment of packages/integrations/harbor alone, and in a trial of Harbor."""

import asyncio
import json
import sys
from typing import Any

from checks import check, report
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths
from harbor_words import check_files, folder, trial
from hookbox_harbor import AgentSandboxEnvironment
from k8s_agent_sandbox import SandboxClient

options = json.loads(sys.argv[1])


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
    await check_files(environment, "other/file")
    await environment.stop(delete=True)

    check("command", lambda: (command, ["/tmp/work b c\n", "oh\n", 3]))
    check("folder of a command", lambda: (elsewhere, ["/\n", "", 0]))
    check("bash", lambda: (bash[2], 1))
    check("time limit", lambda: (late[2], 124))
    check(
        "large output",
        lambda: ([len(output[0]), output[0][-4:], output[2]], [1_000_000, "end\n", 0]),
    )
    check("large command", lambda: (large, ["large\n", "", 0]))


def environment_options() -> list[str]:
    """Returns Harbor's options for the environment."""
    words = ["-e", "hookbox_harbor:AgentSandboxEnvironment"]
    for key, value in {"pool": options["pool"], **options["settings"]}.items():
        words += ["--ek", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


check("alone", lambda: (asyncio.run(alone()), None))
check("trial", lambda: trial("/tmp/words", environment_options()))
check("deleted", lambda: (claims(), []))
report()
