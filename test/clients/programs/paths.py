"""Reads, writes and looks for files at paths, in a runtime on this machine, by the client and by deepagents' backends."""

import os
import subprocess
from types import SimpleNamespace

from k8s_agent_sandbox.commands.command_executor import CommandExecutor
from k8s_agent_sandbox.connector import SandboxConnector
from k8s_agent_sandbox.exceptions import SandboxRequestError
from k8s_agent_sandbox.files.filesystem import Filesystem
from k8s_agent_sandbox.models import (
    SandboxDirectConnectionConfig,
    SandboxdInClusterConnectionConfig,
    SandboxdPodTunnelConnectionConfig,
)
from tell import options, tell


class Client:
    """The client's own files."""

    def __init__(self, sandbox, **more):
        self.files = sandbox.files
        self.more = more

    def found(self, path):
        try:
            text = self.files.read(path, **self.more).decode()
            return "folder" if text.startswith('{"path"') else f"text {text}"
        except SandboxRequestError as error:
            if error.status_code != 404:
                return "refused"
        try:
            self.files.list(path)
            return "folder"
        except SandboxRequestError:
            return "missing"

    def exists(self, path):
        try:
            return self.files.exists(path)
        except SandboxRequestError:
            return None

    def written(self, path, text):
        try:
            self.files.write(path, text, **self.more)
            return True
        except SandboxRequestError:
            return False


MISSING = ["not_found", "Not a directory"]


class Backend:
    """A backend of deepagents, whose errors are values."""

    def __init__(self, backend):
        self.backend = backend
        self.facts = {}

    def found(self, path):
        self.facts[path] = self.look(path)
        return self.facts[path]

    def look(self, path):
        read = self.backend.read(path)
        if read.error is None:
            # A text lacks the newline at its end. Only absolute paths can be downloaded.
            [whole] = self.backend.download_files([path])
            return f"text {whole.content.decode() if whole.content else read.file_data['content']}"
        if self.backend.ls(path).error is None:
            return "folder"
        return "missing" if any(word in read.error for word in MISSING) else f"refused {read.error}"

    def exists(self, path):
        # Each look takes several commands in the sandbox.
        fact = self.facts.get(path) or self.look(path)
        return fact.split(" ")[0] in ("text", "folder")

    def written(self, path, text):
        self.facts.clear()
        return self.backend.write(path, text).error is None


def cat(word):
    """What a command in the sandbox reads at a path, which is quoted for a shell."""
    env = {**os.environ, "HOME": options["home"]}
    done = subprocess.run(["/bin/sh", "-c", f"cat -- {word}"], cwd=options["workdir"], env=env, capture_output=True)
    return done.stdout.decode() if done.returncode == 0 else None


def sandbox_of(config, **more):
    connector = SandboxConnector("sandbox", "default", config, None, **more)
    files, commands = Filesystem(connector, None, "paths"), CommandExecutor(connector, None, "paths")
    return SimpleNamespace(files=files, commands=commands, claim_name="sandbox", sandbox_id="sandbox", is_active=True)


def by_8888():
    return sandbox_of(SandboxDirectConnectionConfig(api_url=options["url"]))


def by_8080():
    ports = {"rest_port": options["rest"], "grpc_port": options["grpc"]}
    config = SandboxdInClusterConnectionConfig(mode="in-cluster-pod-ip", **ports)
    return sandbox_of(config, get_pod_ip=lambda: "127.0.0.1")


def kubernetes_sandbox():
    from langchain_k8s import KubernetesSandbox

    return KubernetesSandbox(sandbox=by_8888())


def sandboxd_backend():
    from langchain_k8s import SandboxdBackend

    # It insists on a tunnel, which it does not open for a sandbox that exists.
    tunnel = SandboxdPodTunnelConnectionConfig()
    return SandboxdBackend(sandbox=by_8080(), connection_config=tunnel, sandboxd_root=options["workdir"])


WAYS = {
    "8888": lambda: Client(by_8888()),
    "8888 with unsafe paths": lambda: Client(by_8888(), allow_unsafe_paths=True),
    "8080 with unsafe paths": lambda: Client(by_8080(), allow_unsafe_paths=True),
    "KubernetesSandbox": lambda: Backend(kubernetes_sandbox()),
    "SandboxdBackend": lambda: Backend(sandboxd_backend()),
}
way = WAYS[options["way"]]()
for path, word in options["paths"]:
    if not options["write"]:
        tell(path=path, fact=way.found(path), exists=way.exists(path))
        continue
    before = cat(word)
    fact = way.written(path, f"new {path}")
    tell(path=path, fact=fact, exists=way.exists(path), before=before, after=cat(word))
