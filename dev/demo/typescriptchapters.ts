/** The last part of the demo: the command `hookbox`, and its SDK. @module */
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { elapsed, held, output, typed } from "./screen.ts";
import { quoted } from "./shell.ts";
import { type Chapter, onRealNodes, READY, type Story } from "./story.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export const TYPESCRIPT_CHAPTERS: Chapter[] = [
  { title: "hookbox: a sandbox from the command line", play: onRealNodes(byCommand) },
  { title: "hookbox why: the cause, and what to do", play: why },
  { title: "From TypeScript", play: onRealNodes(bySDK) },
];

async function byCommand(story: Story): Promise<void> {
  const { shell } = story;
  await shell.show("apply", "-f", "examples/python.yaml");
  await shell.until("sandboxwarmpool/python", READY, (status) => status === "True");
  await hookbox(story, "create", "--pool", "python", "--name", "mine");
  const printed = await hookbox(story, "exec", "mine", "--", "python3", "-c", "print(6 * 7)");
  if (printed.trim() !== "42") throw new Error(`The command printed "${printed}"`);
  await hookbox(story, "cp", "README.md", "mine:docs/readme.md");
  await hookbox(story, "ls", "mine:docs");
  await hookbox(story, "get", "sandboxes");
  await hookbox(story, "rm", "mine");
}

async function why(story: Story): Promise<void> {
  const { shell } = story;
  await shell.pipe(BROKEN, "apply", "-f", "-");
  await shell.until("sandboxclaim/broken", READY, (status) => status === "False");
  const told = await hookbox(story, "why", "claim/broken");
  if (!told.includes("missing-pool")) throw new Error("It does not name the pool that is missing");
  await shell.quiet("delete", "sandboxclaim", "broken");
}

const BROKEN = JSON.stringify({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  metadata: { name: "broken" },
  spec: { warmPoolRef: { name: "missing-pool" } },
});

async function bySDK({ stage, shell }: Story): Promise<void> {
  await shell.until("sandboxwarmpool/python", READY, (status) => status === "True");
  const client = new SandboxClient({ kubeconfig: stage.cluster.kubeconfig });
  const begun = performance.now();
  output('const sandbox = await Sandbox.create({ pool: "python" });');
  const sandbox = await client.create({ pool: "python" });
  output('await sandbox.commands.run("uname -n");');
  const { stdout } = await sandbox.commands.run("uname -n");
  if (stdout.trim() !== sandbox.sandboxName) throw new Error(`The command printed "${stdout}"`);
  held(`the first command had ended ${elapsed(begun)} after create was called`);
  output('await sandbox.files.write("kept.txt", "kept"); await sandbox.suspend();');
  await sandbox.files.write("kept.txt", "kept");
  await sandbox.suspend();
  output("await Sandbox.connect(sandbox.name);");
  const again = await client.connect(sandbox.name);
  if (await again.files.read("kept.txt") !== "kept") throw new Error("The file is gone");
  held("suspended, and back again, and the file is still there");
  await again.kill();
}

/** Shows a hookbox command, runs it, and shows its output. @throws {Error} if it fails */
async function hookbox({ stage }: Story, ...args: string[]): Promise<string> {
  typed(`hookbox ${args.map(quoted).join(" ")}`);
  const env = { ...process.env, KUBECONFIG: stage.cluster.kubeconfig };
  const { stdout } = await promisify(execFile)(process.execPath, ["packages/cli/main.ts", ...args], { cwd: ROOT, env });
  if (stdout !== "") output(stdout);
  return stdout;
}
