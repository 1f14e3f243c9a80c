"""Works in a sandbox through a Gateway, whose address the client reads from the Gateway's status."""

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxGatewayConnectionConfig
from tell import namespace, options, tell

config = SandboxGatewayConnectionConfig(gateway_name=options["name"], gateway_namespace=options["namespace"])
sandbox = SandboxClient(config).create_sandbox("p", namespace=namespace)
files, run = sandbox.files, sandbox.commands.run
files.write("folder/a.txt", "hello")
tell(written=run("cat folder/a.txt").model_dump(), text=files.read("folder/a.txt").decode())
