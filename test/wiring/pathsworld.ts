/** Folders, a sandbox that works in them, and paths to try; what `cat` in a command finds there is right. @module */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Runtime } from "../../packages/runtime/start.ts";
import { SandboxClient } from "../../packages/sdk/client.ts";
import type { SandboxHandle } from "../../packages/sdk/sandbox.ts";
import { createTestCluster } from "../../packages/testing/mod.ts";
import type { Setting } from "../cli/fakecontext.ts";
import { type Agent, makeAgent, type Stage } from "../cli/mcp/stage.ts";
import { startOpenRuntime } from "../runtime/servers.ts";
import { POOL } from "../sdk/pool.ts";
import { makeTempFolder, useHome } from "../tempfolder.ts";

/** What is at a path: the text of a file, `folder`, or why there is nothing to read. */
export type Found = `text ${string}` | "folder" | "missing" | "refused";

/** For late binding alone. */
export const TOKEN = "token";

/** Folders of this machine, and a sandbox whose working directory and home are two of them. */
export interface World {
  workdir: string;
  home: string;
  outside: string;
  runtime: Runtime;
  sandbox: SandboxHandle;
  agent: Agent;
  setting: Setting;
}

const FILES: Record<string, string> = {
  "work/a.txt": "a",
  "work/dir/b.txt": "b",
  "work/a b.txt": "blank",
  "work/ünï.txt": "unicode",
  "work/q?#%41&.txt": "marks",
  "work/.hidden": "hidden",
  "work/-dash": "dash",
  "work/~": "tilde",
  "above.txt": "above",
  "home/h.txt": "home",
  "outside/dir/o.txt": "o",
  "outside/p.txt": "p",
};

export const PATHS = [
  "a.txt",
  "./a.txt",
  "dir/b.txt",
  "dir//b.txt",
  "dir/./b.txt",
  "dir/../a.txt",
  "../above.txt",
  "a b.txt",
  "ünï.txt",
  "q?#%41&.txt",
  ".hidden",
  "-dash",
  "./~",
  "link",
  "linkout",
  "linkdir/o.txt",
  "linkdir/../p.txt",
  "broken",
  "loop",
  "missing.txt",
  "missing/../a.txt",
  "a.txt/../a.txt",
  "a.txt/",
  "a.txt/below",
  "dir",
  "dir/",
  ".",
  "..",
  "/",
  "WORK/a.txt",
  "OUTSIDE/p.txt",
  "/OUTSIDE//p.txt",
  "/../OUTSIDE/p.txt",
  "~/h.txt",
  "~",
  "/etc/passwd",
  "/proc/sys/kernel/ostype",
  "/proc",
];

/** Makes the folders and starts everything; it goes when the test ends. */
export async function aWorld(): Promise<World> {
  const around = makeTempFolder();
  const at = (path: string) => join(around, path);
  for (const [path, content] of Object.entries(FILES)) {
    mkdirSync(join(at(path), ".."), { recursive: true });
    writeFileSync(at(path), content);
  }
  symlinkSync("a.txt", at("work/link"));
  symlinkSync(at("outside/p.txt"), at("work/linkout"));
  symlinkSync("../outside/dir", at("work/linkdir"));
  symlinkSync("nowhere", at("work/broken"));
  symlinkSync("loop", at("work/loop"));
  useHome(at("home"));
  writeFileSync(at("token"), TOKEN);
  const runtime = await startOpenRuntime(at("work"), "--token-file", at("token"), "--token-scope", "bind");
  const cluster = await createTestCluster({ time: "auto" });
  onTestFinished(async () => {
    await cluster.stop();
    await runtime.stop();
  });
  await cluster.apply(POOL);
  const { api } = cluster;
  const client = new SandboxClient({ api, namespace: "default", routerUrl: `http://127.0.0.1:${runtime.restPort}` });
  const agent = await makeAgent({ cluster, client } as Stage);
  await agent.call("create_sandbox", { name: "mine" });
  const sandbox = await client.connect("mine");
  const transportTo = () => Promise.reject(new Error("not used"));
  const setting: Setting = { api, connect: () => Promise.resolve({ client, way: "router", transportTo }) };
  return { workdir: at("work"), home: at("home"), outside: at("outside"), runtime, sandbox, agent, setting };
}

export function pathOf(path: string, { workdir, outside }: World): string {
  return path.replace("WORK", workdir).replace("OUTSIDE", outside.slice(path.startsWith("/") ? 1 : 0));
}

/** Quotes a path for a shell, but not `~`. */
export function quoted(path: string): string {
  const [tilde = ""] = /^~(\/|$)/.exec(path) ?? [];
  const rest = path.slice(tilde.length);
  return rest === "" ? tilde : `${tilde}'${rest}'`;
}

export async function catOf(path: string, { sandbox }: World): Promise<Found> {
  const { exitCode, stdout, stderr } = await sandbox.commands.run(`cat -- ${quoted(path)}`, { env: { LC_ALL: "C" } });
  if (exitCode === 0) return `text ${stdout}`;
  if (/Is a directory/.test(stderr)) return "folder";
  return /No such file|Not a directory/.test(stderr) ? "missing" : "refused";
}
