"""Finds a sandbox by its claim as the options say and tells of it, or of the error."""

from k8s_agent_sandbox import SandboxClient
from tell import namespace, options, tell_error, tell_sandbox

client = SandboxClient()
try:
    tell_sandbox(client.get_sandbox(namespace=namespace, **options))
except Exception as error:
    tell_error(error)
