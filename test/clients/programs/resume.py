"""Holds a sandbox while it is suspended and resumed: tells its address and status before and after."""

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxInClusterConnectionConfig
from tell import namespace, tell, tell_sandbox, wait

client = SandboxClient(SandboxInClusterConnectionConfig())
sandbox = client.create_sandbox("p", namespace=namespace)
tell_sandbox(sandbox)
wait()
tell(ip=sandbox.get_pod_ip(), status=list(sandbox.status()))
wait()
tell_sandbox(sandbox)
