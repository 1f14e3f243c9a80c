"""
Works in a sandbox through a router: commands and files, as an agent does; waits once, and goes on afterwards.
Without the router's address it comes there as the client does by default, through a port that kubectl forwards.
"""

import io
import os

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig
from tell import namespace, options, tell, wait

client = SandboxClient(SandboxDirectConnectionConfig(api_url=options["url"]) if "url" in options else None)
sandbox = client.create_sandbox("p", namespace=namespace)
files, run = sandbox.files, sandbox.commands.run

written = run("python3 -c \"print(6 * 7)\"").model_dump()
failed = run("sh -c 'echo oh >&2; exit 3'").model_dump()
late = run("sleep 60", command_timeout=1).model_dump()
files.write("folder/a.txt", "hello")
large = os.urandom(options["bytes"])
files.write("large.bin", io.BytesIO(large))
copy = io.BytesIO()
files.read_to("large.bin", copy)
tell(
    claim=sandbox.claim_name,
    sandbox=sandbox.sandbox_id,
    written=written,
    failed=failed,
    late={"timed_out": late["timed_out"], "exit_code": late["exit_code"]},
    text=files.read("folder/a.txt").decode(),
    listed=sorted(entry.name for entry in files.list("folder")),
    exists=[files.exists("folder/a.txt"), files.exists("folder/b.txt")],
    same=copy.getvalue() == large,
)
wait()
after = run("cat folder/a.txt").model_dump()
tell(after=after)
