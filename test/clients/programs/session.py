"""A client as a context manager: on leaving it deletes what it made and found, but not what it named."""

from k8s_agent_sandbox import SandboxClient
from tell import namespace, tell, wait

with SandboxClient() as client:
    made = client.create_sandbox("p", namespace=namespace)
    named = client.create_sandbox("p", namespace=namespace, claim_name="named")
    found = client.get_sandbox("found", namespace)
    tell(made=made.claim_name, named=named.claim_name, found=found.claim_name)
    wait()
