/** The second part of the demo: a pool, warm and cold claims, and the end of a claim. @module */
import { elapsed, held, note, same } from "./screen.ts";
import { type Chapter, READY, type Story } from "./story.ts";

const SANDBOX = ".status.sandbox.name";
const annotation = (key: string) => `.metadata.annotations.agents\\.x-k8s\\.io/${key}`;

export const POOL_CHAPTERS: Chapter[] = [
  { title: "A pool: sandboxes that run before anybody asks", play: fill },
  { title: "A claim: a sandbox at once", play: claim },
  { title: "A claim with a variable of its own: made for it", play: coldStart },
  { title: "A claim on an empty pool", play: emptyPool },
  { title: "A claim expires", play: expireClaim },
];

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
  held("the pool has made another one");
}

async function coldStart({ shell }: Story): Promise<void> {
  const claim = manifest("greeting", { env: [{ name: "GREETING", value: "hello" }] });
  await shell.pipe(claim, "apply", "-f", "-");
  await shell.until("sandboxclaim/greeting", READY, (status) => status === "True");
  held(`Ready after ${await milliseconds({ shell }, "greeting")}: a Pod had to be made`);
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
  const { items } = JSON.parse(await shell.quiet("get", "pod", "-o", "json"));
  return new Map(items.map((pod: Loose) => [pod.metadata.name, `${pod.metadata.uid} ${startedAt(pod)}`]));
}

// deno-lint-ignore no-explicit-any -- a Pod as kubectl prints it
type Loose = any;

function startedAt({ status }: Loose): string {
  return status.containerStatuses?.[0]?.state?.running?.startedAt ?? status.startTime;
}
