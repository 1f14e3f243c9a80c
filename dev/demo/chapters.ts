/** The chapters of the demo. Each throws if what it claims is not true. @module */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COPY } from "./parts.ts";
import { POOL_CHAPTERS } from "./poolchapters.ts";
import { ROUTER_CHAPTERS } from "./routerchapters.ts";
import { elapsed, held, note, output, same, typed } from "./screen.ts";
import { type Chapter, READY, type Story, SUSPENDED } from "./story.ts";
import { TYPESCRIPT_CHAPTERS } from "./typescriptchapters.ts";

const READY_REASON = '.status.conditions[?(@.type=="Ready")].reason';

export const CHAPTERS: Chapter[] = [
  { title: "Install: CRDs, functions, Metacontroller, the keeper", play: ({ stage }) => stage.parts.install() },
  { title: "A sandbox", play: create },
  { title: "A command in it, and a file on its volume", play: execute },
  { title: "Suspend: the Pod goes, the volume stays", play: suspend },
  { title: "Resume: a new Pod on the old volume", play: resume },
  { title: "Redeploy one function while the sandbox runs", play: redeploy },
  { title: "Expire", play: expire },
  ...POOL_CHAPTERS,
  ...ROUTER_CHAPTERS,
  ...TYPESCRIPT_CHAPTERS,
];

async function create({ shell }: Story): Promise<void> {
  const begun = performance.now();
  await shell.show("apply", "-f", "examples/sandbox.yaml");
  await shell.until("sandbox/demo", READY, (status) => status === "True");
  held(`Ready ${elapsed(begun)} after kubectl apply`);
  await shell.show("get", "sandbox,pod,pvc");
  await shell.show("get", "service", "demo");
}

async function execute({ stage, shell }: Story): Promise<void> {
  if (stage.cluster.nodes !== "real") return note(SIMULATED);
  await shell.show("exec", "demo", "--", "sh", "-c", "echo hello from $(hostname) | tee /workspace/note.txt");
  await shell.show("exec", "demo", "--", "ls", "-l", "/workspace");
}

const SIMULATED = "The nodes are simulated: there is no container to run a command in.";

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
  if (stage.cluster.nodes !== "real") return note(SIMULATED);
  const text = await shell.show("exec", "demo", "--", "cat", "/workspace/note.txt");
  if (!text.startsWith("hello from")) throw new Error(`The file did not survive: ${text}`);
  held("the file is still there");
}

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

function edit({ file, before, after }: typeof EDITS[number]): void {
  const path = join(COPY, file);
  const code = readFileSync(path, "utf8");
  if (!code.includes(before)) throw new Error(`Cannot edit ${file}: it has no line ${JSON.stringify(before.trim())}`);
  writeFileSync(path, code.replace(before, after));
  output(after.startsWith(before) ? ` ${before}+${after.slice(before.length)}` : `-${before}+${after}`);
}

async function redeploy({ stage: { parts }, shell }: Story): Promise<void> {
  const before = await shell.read("pod/demo", ".metadata.uid");
  typed(`$EDITOR ${EDITS.map(({ file }) => file).join(" ")}    # every Pod gets one more label`);
  EDITS.forEach(edit);
  const others = async () => [...await parts.running()].filter(([name]) => name !== "sandbox").sort().join();
  const [rest, begun] = [await others(), performance.now()];
  await parts.redeploy();
  held(`the function was replaced in ${elapsed(begun)}`);
  same("the other functions, Metacontroller and the keeper", rest, await others());
  await parts.touch();
  await shell.until("pod/demo", ".metadata.labels.example\\.com/edition", (label) => label === "second");
  await shell.show("get", "pod", "demo", "-L", "example.com/edition");
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
