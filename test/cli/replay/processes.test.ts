/** A hook as a process that records, on Node and on Deno; there it may write to that one folder. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { freePorts } from "../../../dev/cluster/ports.ts";
import { replay } from "../../../packages/cli/commands/replay.ts";
import { aPoolRequest } from "../../poolcalls.ts";
import { aMember } from "../../pools.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const RUNTIMES = {
  node: () => [],
  deno: (port: number, folder: string) => [
    "run",
    "--no-prompt",
    "--cached-only",
    `--allow-net=127.0.0.1:${port}`,
    `--allow-write=${folder}`,
    `--allow-read=${folder}`,
  ],
};

test.for(["node", "deno"] as const)("%s records, and replays the same", async (runtime) => {
  const folder = makeTempFolder();
  const [port = 0] = await freePorts(1);
  const child = spawn(
    `${ROOT}node_modules/.bin/${runtime}`,
    [
      ...RUNTIMES[runtime](port, folder),
      "hooks/sandboxwarmpool/main.ts",
      ...[
        "--host",
        "127.0.0.1",
        "--port",
        String(port),
        "--record",
        folder,
        "--max-batch-size",
        "2",
        "--pool-interval-ms",
        "0",
      ],
    ],
    { cwd: ROOT, stdio: ["ignore", "ignore", "pipe"] },
  );
  try {
    const log = await listening(child);
    const requests = [1, 2, 3].map((count) => ({
      controller: {},
      ...aPoolRequest({ sandboxes: [aMember(count)] }),
    }));
    for (const request of requests) await asked(port, "sync", request);
    await asked(port, "customize", { controller: {}, parent: requests[0]?.parent });
    expect(log()).not.toContain("Cannot");
  } finally {
    child.kill("SIGTERM");
  }
  expect(await exited(child)).toBe(0);
  expect(await replay({ paths: [folder] })).toMatchObject({
    requests: { sandboxwarmpool: 4 },
    differing: 0,
    kinds: [],
  });
});

async function asked(port: number, endpoint: string, body: object): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/${endpoint}`, { method: "POST", body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
}

/** Resolves with what tells all that was logged. */
function listening(child: ChildProcess): Promise<() => string> {
  let errors = "";
  return new Promise((resolve, reject) => {
    child.stderr?.setEncoding("utf8").on("data", (part) => {
      errors += part;
      if (errors.includes('"Listening"')) resolve(() => errors);
    });
    child.once("exit", (code) => reject(new Error(`ended with ${code}: ${errors}`)));
  });
}

function exited(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once("exit", (code) => resolve(code)));
}
