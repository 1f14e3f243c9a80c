/** The third part of the demo: the runtime, the router, and a sandbox that is suspended and resumed. @module */
import { importRuntimeImage } from "../cluster/runtimeimage.ts";
import { elapsed, held, note, output, typed } from "./screen.ts";
import { quoted } from "./shell.ts";
import { type Chapter, onRealNodes, READY, type Story, SUSPENDED } from "./story.ts";

const WHY_SUSPENDED = ".metadata.annotations.router\\.agents\\.x-k8s\\.io/suspended";

export const ROUTER_CHAPTERS: Chapter[] = [
  { title: "A runtime inside, a router in front", play: onRealNodes(serve) },
  { title: "Idle: nobody uses it, and it is suspended", play: onRealNodes(fallAsleep) },
  { title: "Wake on connect: a request brings it back", play: onRealNodes(wake) },
];

async function serve(story: Story): Promise<void> {
  const { stage, shell } = story;
  typed("docker build -f deploy/runtime/Containerfile -t hookbox-runtime:local .    # here: the same, without docker");
  await importRuntimeImage(stage.cluster.stateDir, { progress: output });
  await shell.show("apply", "-f", "examples/agent.yaml");
  note("The router lets in those whom the API server lets connect to sandboxes:");
  stage.router = await stage.parts.router();
  await shell.until("sandbox/agent", READY, (status) => status === "True");
  const { stdout } = await execute(story, "sh -c 'uname -n | tee note.txt'");
  if (stdout.trim() !== "agent") throw new Error(`The command said "${stdout}"`);
  held("a command ran in the sandbox, and left a file on its volume");
}

async function fallAsleep({ shell }: Story): Promise<void> {
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
  held(`answered after ${elapsed(begun)}, in which the sandbox was woken and started; the file is still there`);
  output(`Server-Timing: ${timing}`);
  const mode = await shell.read("sandbox/agent", ".spec.operatingMode");
  if (mode !== "Running") throw new Error(`The sandbox is to be ${mode}`);
}

/** Runs a command in the sandbox through the router, as the published clients do. */
async function execute({ stage: { router } }: Story, command: string): Promise<{ stdout: string; timing: string }> {
  const body = JSON.stringify({ command });
  if (!router) throw new Error("Nobody has asked where the router is");
  typed(
    `curl ${router.curl} -H 'X-Sandbox-ID: agent' -H 'Content-Type: application/json' -d ${
      quoted(body)
    } $ROUTER/execute`,
  );
  const headers = { ...router.headers, "X-Sandbox-ID": "agent", "Content-Type": "application/json" };
  const answer = await fetch(`${router.url}/execute`, { method: "POST", headers, body });
  const text = await answer.text();
  output(text);
  if (!answer.ok) throw new Error(`The router answered ${answer.status}`);
  return { stdout: JSON.parse(text).stdout, timing: answer.headers.get("server-timing") ?? "" };
}
