"""
Answers like OpenHands' agent server, as far as the smoke test of openhands-workspace asks. The real one cannot be
installed from wheels: one of its packages, func-timeout, has none.
"""

import json
import subprocess
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

ended: dict[str, dict[str, Any]] = {}


class AgentServer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/health":
            return self.answer("OK")
        if url.path == "/api/bash/bash_events/search":
            [command] = parse_qs(url.query)["command_id__eq"]
            return self.answer({"items": [ended[command]]})
        self.send_error(404)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/api/bash/start_bash_command":
            return self.send_error(404)
        ran = subprocess.run(
            ["bash", "-c", asked["command"]], cwd=asked.get("cwd"), capture_output=True, text=True
        )
        command = uuid.uuid4().hex
        ended[command] = {
            "kind": "BashOutput",
            "id": uuid.uuid4().hex,
            "order": 0,
            "stdout": ran.stdout,
            "stderr": ran.stderr,
            "exit_code": ran.returncode,
        }
        self.answer({"id": command})

    def answer(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("0.0.0.0", 8000), AgentServer).serve_forever()
