"""Reads, writes and looks for files at paths, in a runtime on this machine, by both of its protocols."""

import os
import subprocess

from k8s_agent_sandbox.connector import SandboxConnector
from k8s_agent_sandbox.exceptions import SandboxRequestError
from k8s_agent_sandbox.files.filesystem import Filesystem
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig, SandboxdInClusterConnectionConfig
from tell import options, tell


def files_of(config, **more):
    return Filesystem(SandboxConnector("sandbox", "default", config, None, **more), None, "paths")


def found(files, path, **more):
    try:
        text = files.read(path, **more).decode()
        return "folder" if text.startswith('{"path"') else f"text {text}"
    except SandboxRequestError as error:
        if error.status_code != 404:
            return "refused"
    try:
        files.list(path)
        return "folder"
    except SandboxRequestError:
        return "missing"


def exists(files, path):
    try:
        return files.exists(path)
    except SandboxRequestError:
        return None


def cat(word):
    """What a command in the sandbox reads at a path, which is quoted for a shell."""
    env = {**os.environ, "HOME": options["home"]}
    done = subprocess.run(["/bin/sh", "-c", f"cat -- {word}"], cwd=options["workdir"], env=env, capture_output=True)
    return done.stdout.decode() if done.returncode == 0 else None


def written(files, path, **more):
    try:
        files.write(path, f"new {path}", **more)
        return True
    except SandboxRequestError:
        return False


legacy = files_of(SandboxDirectConnectionConfig(api_url=options["url"]))
rest = files_of(
    SandboxdInClusterConnectionConfig(mode="in-cluster-pod-ip", rest_port=options["rest"]),
    get_pod_ip=lambda: "127.0.0.1",
)
unsafe = {"allow_unsafe_paths": True}
WAYS = {
    "8888": (legacy, {}),
    "8888 with unsafe paths": (legacy, unsafe),
    "8080 with unsafe paths": (rest, unsafe),
}
files, more = WAYS[options["way"]]
for path, word in options["paths"]:
    if not options["write"]:
        tell(path=path, fact=found(files, path, **more), exists=exists(files, path))
        continue
    before = cat(word)
    fact = written(files, path, **more)
    tell(path=path, fact=fact, exists=exists(files, path), before=before, after=cat(word))
