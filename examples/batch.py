"""
Runs a batch of episodes with the Python client of the Agent Sandbox APIs (k8s-agent-sandbox), as batch.ts does: for each
episode it claims a sandbox, writes a program there, runs it in some steps, reads the reward, and deletes the sandbox.
Needs the pool of python.yaml: python batch.py [episodes] [at once]. HOOKBOX_ROUTER_URL is the address of the router;
without it, the client forwards a port. With HOOKBOX_TIMES, the times of each episode are written to this file.
"""

import json
import math
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import local

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig

episodes, at_once = (int(word) for word in (sys.argv[1:] + ["100", "20"][len(sys.argv) - 1 :])[:2])
namespace = os.environ.get("HOOKBOX_NAMESPACE", "default")
pool = os.environ.get("HOOKBOX_POOL", "python")
router = os.environ.get("HOOKBOX_ROUTER_URL")
STEPS = 3
PROGRAM = """import random, sys
random.seed(int(sys.argv[1]))
with open("reward", "a") as file:
    print(sum(random.random() < 0.5 for _ in range(100)), file=file)
"""
of_thread = local()


def client():
    """Each thread has a client of its own."""
    if not hasattr(of_thread, "client"):
        config = SandboxDirectConnectionConfig(api_url=router) if router else None
        of_thread.client = SandboxClient(config)
    return of_thread.client


def timed(doing):
    """What it returns, and how many milliseconds it took."""
    begun = time.perf_counter()
    result = doing()
    return result, (time.perf_counter() - begun) * 1000


def episode(seed):
    begun = time.time()
    found = {"seed": seed, "begun": begun * 1000, "commands": []}
    try:
        def create():
            return client().create_sandbox(
                pool, namespace=namespace, sandbox_ready_timeout=300, shutdown_after_seconds=600
            )

        sandbox, found["ready"] = timed(create)
        try:
            sandbox.files.write("step.py", PROGRAM)
            for step in range(STEPS):
                result, took = timed(lambda: sandbox.commands.run(f"python3 step.py {seed + step}"))
                if result.exit_code != 0:
                    raise RuntimeError(f"the step ended with {result.exit_code}: {result.stderr}")
                found["commands"].append(took)
            lines = sandbox.files.read("reward").decode().split()
            found["reward"] = sum(map(float, lines)) / STEPS
        finally:
            sandbox.terminate()
        found["episode"] = (time.time() - begun) * 1000
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}"
    return found


def summary(values):
    """Half of the times, 95 % and 99 % of them are not longer."""
    ordered = sorted(values)
    at = lambda percent: round(ordered[math.ceil(len(ordered) * percent / 100) - 1]) if ordered else "-"
    return f"p50 {at(50)} ms, p95 {at(95)} ms, p99 {at(99)} ms"


begun = time.time()
with ThreadPoolExecutor(at_once) as threads:
    found = list(threads.map(episode, range(episodes)))
done = [one for one in found if "error" not in one]
mean = sum(one["reward"] for one in done) / max(1, len(done))
print(f"{len(done)} of {episodes} episodes, mean reward {mean:.1f}")
commands = [took for one in found for took in one["commands"]]
times = {"ready": [one["ready"] for one in done], "command": commands, "episode": [one["episode"] for one in done]}
for what, values in times.items():
    print(f"{what:<8} {summary(values)}", file=sys.stderr)
print(f"{time.time() - begun:.1f} s", file=sys.stderr)
for one in found:
    if "error" in one:
        print(f"{one['seed']}: {one['error']}", file=sys.stderr)
if "HOOKBOX_TIMES" in os.environ:
    with open(os.environ["HOOKBOX_TIMES"], "w") as file:
        json.dump(found, file)
sys.exit(0 if len(done) == episodes else 1)
