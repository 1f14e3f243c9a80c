"""LangChain's own tests for sandboxes, on a backend of langchain-k8s. They work in /tmp/test_sandbox_ops."""

import json
import os

import langchain_k8s
import pytest
from k8s_agent_sandbox import models
from langchain_tests.integration_tests import SandboxIntegrationTests

options = json.loads(os.environ["OPTIONS"])


class TestBackend(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self):
        settings = dict(options["settings"])
        if "connection" in options:
            settings["connection_config"] = models.SandboxDirectConnectionConfig(**options["connection"])
        backend = getattr(langchain_k8s, options["backend"])(**settings)
        backend.start()
        try:
            yield backend
        finally:
            backend.stop()
