/**
 * The chapters of the demo about clients of sandboxes: requests through the router, the command `hookbox`, and its SDK.
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { shellWord } from "../../packages/api/shellwords.ts";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { type Chapter, hookbox, needing, READY, ROOT, type Story, SUSPENDED } from "./stage.ts";
import { elapsed, held, note, output, typed } from "./terminal.ts";

const WHY_SUSPENDED = ".metadata.annotations.router\\.agents\\.x-k8s\\.io/suspended";

/** The name of the runtime's image in examples/. */
const RUNTIME = "hookbox-runtime:local";

const BROKEN = JSON.stringify({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  metadata: { name: "broken" },
  spec: { warmPoolRef: { name: "missing-pool" } },
});

export const CLIENT_CHAPTERS: Chapter[] = [
  { title: "A runtime inside, a router in front", play: needing(["containers", "runtime", "router"], serve) },
  {
    title: "Idle: nobody uses it, and it is suspended",
    play: needing(["containers", "runtime", "router"], suspendIdle),
  },
  { title: "Wake on connect: a request brings it back", play: needing(["containers", "runtime", "router"], wake) },
  { title: "hookbox: a sandbox from the command line", play: needing(["containers", "runtime"], byCommand) },
  { title: "hookbox why: the cause, and what to do", play: why },
  { title: "From TypeScript", play: needing(["containers", "runtime"], bySDK) },
];

async function serve(story: Story): Promise<void> {
  const { stage, shell } = story;
  await applyExample(story, "examples/agent.yaml");
  note("The router admits the users whom the API server allows to connect to sandboxes:");
  stage.router = await stage.parts.router();
  await shell.until("sandbox/agent", READY, (status) => status === "True");
  const { stdout } = await execute(story, "sh -c 'uname -n | tee note.txt'");
  if (stdout.trim() !== "agent") throw new Error(`The command said "${stdout}"`);
  held("a command ran in the sandbox, and left a file on its volume");
}

async function suspendIdle({ shell }: Story): Promise<void> {
  const begun = performance.now();
  await shell.show("annotate", "sandbox", "agent", "--overwrite", "router.agents.x-k8s.io/idle-seconds=3");
  await shell.until("sandbox/agent", SUSPENDED, (status) => status === "True");
  held(`suspended ${elapsed(begun)} later: its Pod is gone, its volume is not`);
  await shell.show("get", "sandbox/agent", "pod/agent", "pvc/work-agent", "--ignore-not-found");
  await shell.show("get", "sandbox", "agent", "-o", `jsonpath={${WHY_SUSPENDED}}`);
  await shell.show("get", "events", "--field-selector", "involvedObject.kind=Sandbox,reason=SuspendedIdle");
}

async function wake(story: Story): Promise<void> {
  const { shell } = story;
  await shell.show("annotate", "sandbox", "agent", "--overwrite", "router.agents.x-k8s.io/idle-seconds=1800");
  const begun = performance.now();
  const { stdout, timing } = await execute(story, "cat note.txt");
  if (stdout.trim() !== "agent") throw new Error(`The file says "${stdout}"`);
  held(`answered after ${elapsed(begun)}, in which the sandbox was resumed and started; the file is still there`);
  output(`Server-Timing: ${timing}`);
  const mode = await shell.read("sandbox/agent", ".spec.operatingMode");
  if (mode !== "Running") throw new Error(`The operating mode of the sandbox is ${mode}`);
}

/** Runs a command in the sandbox through the router, as the published clients do. */
async function execute(
  { stage: { router, where } }: Story,
  command: string,
): Promise<{ stdout: string; timing: string }> {
  const body = JSON.stringify({ command });
  if (!router) throw new Error("The address of the router is not known yet");
  const named = {
    ...where.namespace === "default" ? {} : { "X-Sandbox-Namespace": where.namespace },
    "X-Sandbox-ID": "agent",
    "Content-Type": "application/json",
  };
  const options = Object.entries(named).map(([name, value]) => `-H '${name}: ${value}'`).join(" ");
  typed(`curl ${router.curl} ${options} -d ${shellWord(body)} $ROUTER/execute`);
  const headers = { ...router.headers, ...named };
  const answer = await fetch(`${router.url}/execute`, { method: "POST", headers, body });
  const text = await answer.text();
  output(text);
  if (!answer.ok) throw new Error(`The router answered ${answer.status}`);
  return { stdout: JSON.parse(text).stdout, timing: answer.headers.get("server-timing") ?? "" };
}

async function byCommand(story: Story): Promise<void> {
  const { shell } = story;
  await applyExample(story, "examples/python.yaml");
  await shell.until("sandboxwarmpool/python", READY, (status) => status === "True");
  await hookbox(story, ["create", "--pool", "python", "--name", "mine"]);
  const printed = await hookbox(story, ["exec", "mine", "--", "python3", "-c", "print(6 * 7)"]);
  if (printed.trim() !== "42") throw new Error(`The command printed "${printed}"`);
  await hookbox(story, ["cp", "README.md", "mine:docs/readme.md"]);
  await hookbox(story, ["ls", "mine:docs"]);
  await hookbox(story, ["get", "sandboxes"]);
  await hookbox(story, ["rm", "mine"]);
}

async function why(story: Story): Promise<void> {
  const { shell } = story;
  await shell.pipe(BROKEN, "apply", "-f", "-");
  await shell.until("sandboxclaim/broken", READY, (status) => status === "False");
  const explanation = await hookbox(story, ["why", "claim/broken"]);
  if (!explanation.includes("missing-pool")) throw new Error("The explanation does not name the missing pool");
  await shell.run("delete", "sandboxclaim", "broken");
}

async function bySDK({ stage, shell }: Story): Promise<void> {
  await shell.until("sandboxwarmpool/python", READY, (status) => status === "True");
  const client = new SandboxClient(stage.where);
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

/** Applies an example with the runtime's image, under the name that the image has on this cluster. */
async function applyExample({ stage, shell }: Story, file: string): Promise<void> {
  const image = await stage.parts.runtimeImage();
  if (image === RUNTIME) return void await shell.show("apply", "-f", file);
  const text = readFileSync(join(ROOT, file), "utf8").replaceAll(RUNTIME, image);
  await shell.apply(text, `sed 's|${RUNTIME}|${image}|' ${file}`);
}
