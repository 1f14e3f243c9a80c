"""Works in a sandbox without a router, as a program inside the cluster does: commands by gRPC, files by REST."""

import io
import os

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxdInClusterConnectionConfig
from tell import namespace, options, tell

client = SandboxClient(SandboxdInClusterConnectionConfig(mode="in-cluster-pod-ip"))
sandbox = client.create_sandbox("p", namespace=namespace)
files, run = sandbox.files, sandbox.commands.run

# The client's deadline is as early as the runtime's, so the processes may end a moment after the answer.
COUNT = """for _ in $(seq 100); do
  left=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'slee[p] 60' || true)
  [ $left = 0 ] && break
  sleep 0.1
done
echo $left"""

files.write("folder/a b.txt", "hello")
large = os.urandom(options["bytes"])
files.write("large.bin", io.BytesIO(large))
copy = io.BytesIO()
files.read_to("large.bin", copy)
told = dict(
    shell=run("echo $((6 * 7)) | cat; echo oh >&2; exit 3").model_dump(),
    there=run("pwd; echo $COLOUR", env={"COLOUR": "green"}, cwd="folder").model_dump(),
    late=run("echo begun; sleep 60", command_timeout=1).model_dump(),
    left=run(COUNT).model_dump(),
    text=files.read("folder/a b.txt").decode(),
    listed=sorted(entry.name for entry in files.list("folder")),
    exists=[files.exists("folder/a b.txt"), files.exists("folder/b.txt")],
    same=copy.getvalue() == large,
)
files.delete("folder/a b.txt")
tell(**told, after=files.exists("folder/a b.txt"))
