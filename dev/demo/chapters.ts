/**
 * The chapters of the demo, first about Sandboxes, then about pools and claims. Each throws if one of its statements is
 * not true. @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT_CHAPTERS } from "./clientchapters.ts";
import { E2B_CHAPTER } from "./e2bchapter.ts";
import { type Chapter, READY, type Story, SUSPENDED } from "./stage.ts";
import { elapsed, held, note, output, same, typed } from "./terminal.ts";

const READY_REASON = '.status.conditions[?(@.type=="Ready")].reason';

export const CHAPTERS: Chapter[] = [
  { title: "Install: CRDs, functions, Metacontroller, the keeper", play: ({ stage }) => stage.parts.install() },
  { title: "A sandbox", play: create },
  { title: "A command in it, and a file on its volume", play: execute },
  { title: "Suspend: the Pod goes, the volume stays", play: suspend },
  { title: "Resume: a new Pod on the old volume", play: resume },
  { title: "Redeploy one function while the sandbox runs", play: redeploy },
  { title: "Expire", play: expire },
  { title: "A pool: sandboxes that run before anybody asks", play: fill },
  { title: "A claim: a sandbox at once", play: claim },
  { title: "A claim with its own variable: a new sandbox", play: coldStart },
  { title: "A claim on an empty pool", play: emptyPool },
  { title: "A claim expires", play: expireClaim },
  ...CLIENT_CHAPTERS,
  E2B_CHAPTER,
];

/** Two edits: one adds a label to every Pod, the other declares it for the guard. `after` replaces the line `before`. */
const EDITS = [
  {
    file: "hooks/sandbox/pod.ts",
    before: "    ...propagatedLabels(sandbox),\n",
    after: '    ...propagatedLabels(sandbox),\n    "example.com/edition": "second",\n',
  },
  {
    file: "hooks/sandbox/podrules.ts",
    before: "const ADDED_LABELS: Readonly<Record<string, string>> = {};\n",
    after: 'const ADDED_LABELS: Readonly<Record<string, string>> = { "example.com/edition": "second" };\n',
  },
];

const SANDBOX = ".status.sandbox.name";

// deno-lint-ignore no-explicit-any -- a Pod as kubectl prints it
type Loose = any;

async function create({ shell }: Story): Promise<void> {
  const begun = performance.now();
  await shell.show("apply", "-f", "examples/sandbox.yaml");
  await shell.until("sandbox/demo", READY, (status) => status === "True");
  held(`Ready ${elapsed(begun)} after kubectl apply`);
  await shell.show("get", "sandbox,pod,pvc");
  await shell.show("get", "service", "demo");
}

async function execute({ stage, shell }: Story): Promise<void> {
  if (stage.missing.containers) return note(stage.missing.containers);
  await shell.show("exec", "demo", "--", "sh", "-c", "echo hello from $(hostname) | tee /workspace/note.txt");
  await shell.show("exec", "demo", "--", "ls", "-l", "/workspace");
}

async function suspend({ shell }: Story): Promise<void> {
  const volume = await shell.read("pvc/work-demo", ".metadata.uid");
  const begun = performance.now();
  await shell.show("patch", "sandbox", "demo", "--type=merge", "-p", '{"spec":{"operatingMode":"Suspended"}}');
  await shell.until("sandbox/demo", SUSPENDED, (status) => status === "True");
  held(`suspended after ${elapsed(begun)}`);
  await shell.show("get", "sandbox,pod,pvc");
  same("the volume", volume, await shell.read("pvc/work-demo", ".metadata.uid"));
  if (await shell.read("pod/demo", ".metadata.uid")) throw new Error("The Pod is still there");
}

async function resume({ stage, shell }: Story): Promise<void> {
  const begun = performance.now();
  await shell.show("patch", "sandbox", "demo", "--type=merge", "-p", '{"spec":{"operatingMode":"Running"}}');
  await shell.until("sandbox/demo", READY, (status) => status === "True");
  held(`Ready again after ${elapsed(begun)}`);
  if (stage.missing.containers) return note(stage.missing.containers);
  const text = await shell.show("exec", "demo", "--", "cat", "/workspace/note.txt");
  if (!text.startsWith("hello from")) throw new Error(`The file did not survive: ${text}`);
  held("the file is still there");
}

function edit(copy: string, { file, before, after }: typeof EDITS[number]): void {
  const path = join(copy, file);
  const code = readFileSync(path, "utf8");
  if (!code.includes(before)) throw new Error(`Cannot edit ${file}: it has no line ${JSON.stringify(before.trim())}`);
  writeFileSync(path, code.replace(before, after));
  output(after.startsWith(before) ? ` ${before}+${after.slice(before.length)}` : `-${before}+${after}`);
}

async function redeploy({ stage: { parts }, shell }: Story): Promise<void> {
  if (parts.whyFixed !== undefined) return note(parts.whyFixed);
  const { copy } = parts;
  const before = await shell.read("pod/demo", ".metadata.uid");
  if (copy !== undefined) {
    typed(`$EDITOR ${EDITS.map(({ file }) => file).join(" ")}    # every Pod gets one more label`);
    EDITS.forEach((one) => edit(copy, one));
  }
  const others = async () => [...await parts.running()].filter(([name]) => name !== "sandbox").sort().join();
  const [rest, begun] = [await others(), performance.now()];
  await parts.redeploy();
  held(`the function was replaced in ${elapsed(begun)}`);
  same("the other functions, Metacontroller and the keeper", rest, await others());
  if (copy !== undefined) {
    await parts.touch();
    await shell.until("pod/demo", ".metadata.labels.example\\.com/edition", (label) => label === "second");
    await shell.show("get", "pod", "demo", "-L", "example.com/edition");
  }
  same("the Pod", before, await shell.read("pod/demo", ".metadata.uid"));
}

async function expire({ shell }: Story): Promise<void> {
  const shutdownTime = new Date(Date.now() + 3000).toISOString().replace(/\.\d+Z/, "Z");
  const spec = { spec: { shutdownTime, shutdownPolicy: "Delete" } };
  await shell.show("patch", "sandbox", "demo", "--type=merge", "-p", JSON.stringify(spec));
  const due = Date.parse(shutdownTime);
  await shell.until("sandbox/demo", READY_REASON, (reason) => reason === "SandboxExpired" || reason === "");
  await shell.until("sandbox/demo", ".metadata.name", (name) => name === "");
  held(`the sandbox was gone ${((Date.now() - due) / 1000).toFixed(1)} s after its shutdownTime`);
  await shell.until("pod/demo", ".metadata.name", (name) => name === "");
  await shell.until("pvc/work-demo", ".metadata.name", (name) => name === "");
  await shell.show("get", "sandbox,pod,pvc");
  held("and with it Pod, Service and volume");
}
const annotation = (key: string) => `.metadata.annotations.agents\\.x-k8s\\.io/${key}`;

async function fill({ shell }: Story): Promise<void> {
  const begun = performance.now();
  await shell.show("apply", "-f", "examples/template.yaml", "-f", "examples/pool.yaml");
  await shell.until("sandboxwarmpool/agents", READY, (status) => status === "True");
  held(`full ${elapsed(begun)} after kubectl apply`);
  await shell.show("get", "sandboxwarmpool,sandbox");
  await shell.show("get", "networkpolicy");
}

async function claim({ shell }: Story): Promise<void> {
  const pods = await podsByName({ shell });
  const begun = performance.now();
  await shell.show("apply", "-f", "examples/claim.yaml");
  await shell.until("sandboxclaim/session", READY, (status) => status === "True");
  held(`Ready ${elapsed(begun)} after kubectl began; ${await milliseconds({ shell }, "session")} of that were ours`);
  await shell.show("get", "sandboxclaim,sandbox");
  const name = await shell.read("sandboxclaim/session", SANDBOX);
  const label = ".metadata.labels.sandbox\\.users\\.io/user";
  await shell.until(`pod/${name}`, label, (user) => user === "ada");
  same("the Pod, and when its container started", pods.get(name), (await podsByName({ shell })).get(name));
  await shell.show("get", "pod", name, "-L", "sandbox.users.io/user");
  await shell.until("sandboxwarmpool/agents", ".status.readyReplicas", (count) => count === "3");
  held("the pool has created another one");
}

async function coldStart({ shell }: Story): Promise<void> {
  const claim = manifest("greeting", { env: [{ name: "GREETING", value: "hello" }] });
  await shell.pipe(claim, "apply", "-f", "-");
  await shell.until("sandboxclaim/greeting", READY, (status) => status === "True");
  held(`Ready after ${await milliseconds({ shell }, "greeting")}: a Pod had to be created`);
  const env = await shell.read("pod/greeting", ".spec.containers[0].env[0].value");
  if (env !== "hello") throw new Error(`The variable is "${env}"`);
  held("the variable is in the Pod, which is named like the claim");
}

async function emptyPool({ shell }: Story): Promise<void> {
  await shell.show("scale", "sandboxwarmpool", "agents", "--replicas=0");
  await shell.until("sandboxwarmpool/agents", ".status.replicas", (count) => count === "");
  const bound = await shell.read("sandboxclaim/session", SANDBOX);
  await shell.pipe(manifest("alone"), "apply", "-f", "-");
  await shell.until("sandboxclaim/alone", READY, (status) => status === "True");
  held(`Ready after ${await milliseconds({ shell }, "alone")}`);
  await shell.show("get", "sandboxclaim");
  if (!await shell.read(`pod/${bound}`, ".metadata.uid")) throw new Error("The sandbox of the first claim is gone");
  held("the sandboxes that claims have stay when their pool shrinks");
}

async function expireClaim({ shell }: Story): Promise<void> {
  const shutdownTime = new Date(Date.now() + 2000).toISOString().replace(/\.\d+Z/, "Z");
  const lifecycle = { spec: { lifecycle: { shutdownTime, shutdownPolicy: "Delete" } } };
  const bound = await shell.read("sandboxclaim/session", SANDBOX);
  await shell.show("patch", "sandboxclaim", "session", "--type=merge", "-p", JSON.stringify(lifecycle));
  const due = Date.parse(shutdownTime);
  await shell.until("sandboxclaim/session", ".metadata.name", (name) => name === "");
  held(`the claim was gone ${((Date.now() - due) / 1000).toFixed(1)} s after its shutdownTime`);
  await shell.until(`pod/${bound}`, ".metadata.name", (name) => name === "");
  held("and with it its Sandbox and Pod");
  await shell.show("get", "events", "--field-selector", "involvedObject.kind=SandboxClaim");
  note("The other claims keep their sandboxes until somebody deletes them.");
}

function manifest(name: string, spec: object = {}): string {
  return JSON.stringify({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { name },
    spec: { warmPoolRef: { name: "agents" }, ...spec },
  });
}

/** Returns the time from when the hook first observed the claim until it wrote Ready. */
async function milliseconds({ shell }: Pick<Story, "shell">, claim: string): Promise<string> {
  const [seen, ready] = await Promise.all(
    ["controller-first-observed-at", "claim-first-ready-at"].map((key) =>
      shell.until(`sandboxclaim/${claim}`, annotation(key), (time) => time !== "")
    ),
  );
  return `${Date.parse(ready ?? "") - Date.parse(seen ?? "")} ms`;
}

async function podsByName({ shell }: Pick<Story, "shell">): Promise<Map<string, string>> {
  const { items } = JSON.parse(await shell.run("get", "pod", "-o", "json"));
  return new Map(items.map((pod: Loose) => [pod.metadata.name, `${pod.metadata.uid} ${startedAt(pod)}`]));
}

function startedAt({ status }: Loose): string {
  return status.containerStatuses?.[0]?.state?.running?.startedAt ?? status.startTime;
}
