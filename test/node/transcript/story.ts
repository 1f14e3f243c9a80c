/** What docs/cli.md shows: each command line, what is said before it, and what has to hold before it is typed. @module */
import { condition, type Loose, type Namespace } from "../../integration/namespace.ts";
import { aTemplate, untilFull } from "../../integration/pools.ts";

/** One command line of the page. */
export interface Step {
  /** Markdown before it; a step without goes on in the same block. */
  prose?: string;
  /** As somebody types it. */
  line: string;
  /** Makes what the step shows, or waits until it is there. */
  after?: (ns: Namespace) => Promise<unknown>;
}

export const TITLE = `# The command

\`hookbox\`, or \`kubectl hookbox\`, creates sandboxes, works in them, and explains why a sandbox does not start. A test
runs all commands of this page on a real node, with the pool of [examples/python.yaml](../examples/python.yaml), and
writes their output here. Ages, addresses and names that differ each time are replaced.

The command finds the cluster and the namespace like kubectl: by \`-n\`, \`--context\`, \`--kubeconfig\`,
\`KUBECONFIG\`, \`~/.kube/config\`, or in a Pod by its ServiceAccount. If \`KUBECONFIG\` lists several files, the command
uses only the first file that has the context.

Standard output contains only results. Progress and errors go to standard error. \`HOOKBOX_DEBUG=1\` adds stack traces to
errors. The exit code is 0 for success, 1 for a failure, 2 for an invalid command line, 124 for a timeout, and 130 after
Ctrl-C. Commands that run in a sandbox return their own exit code.
`;

/** More than any node has. */
const GREEDY = { containers: [{ name: "main", image: "busybox:1.37", resources: { requests: { memory: "900Gi" } } }] };
const hasSandbox = (claim: Loose) => claim?.status?.sandbox?.name !== undefined;
const isReady = (claim: Loose) => condition(claim, "Ready")?.status === "True";

export const STORY: Step[] = [
  {
    prose: "## Create a sandbox from a pool\n\nA pool keeps sandboxes running before they are needed:",
    line: "hookbox get pools",
    after: (ns) => untilFull(ns, "python"),
  },
  {
    prose: "`create` takes a sandbox from the pool, waits until it is ready, and prints its name:",
    line: "hookbox create --pool python --name session --timeout 8h",
  },
  { line: "hookbox get claims", after: (ns) => ns.until("sandboxclaim", "session", hasSandbox) },
  { line: "hookbox get claims -o name" },
  {
    prose: "## Work in a sandbox\n\n`exec` passes on the input, the output and the exit code of the command:",
    line: "hookbox exec session -- python3 -c 'print(6 * 7)'",
  },
  { line: `echo 'one two three' | hookbox exec -i session -- wc -w` },
  { line: `hookbox exec session -- sh -c 'echo out; echo err >&2; exit 3'; echo "exit code $?"` },
  {
    prose: "`hookbox exec -it session` opens a shell. `cp` copies files and folders both ways:",
    line: "hookbox cp project session:",
  },
  { line: "hookbox ls -l session:project" },
  { line: "hookbox exec session -C project -- python3 main.py" },
  { line: "hookbox cp session:project/result.txt -" },
  {
    prose:
      "If there is a router that finds sandboxes by path or host (`HOOKBOX_ROUTER_URL`, `HOOKBOX_ROUTER_PATH_PREFIX`), " +
      "each port of a sandbox has an address for the browser. Without a router, `hookbox url` forwards the port as long as " +
      "it runs.",
    line: "hookbox url session 3000 --router http://router.example",
  },
  {
    prose:
      "`top` shows how much CPU and memory the sandboxes use. With `-w` it updates the table in place every five " +
      "seconds. With `--sort-by cpu` or `memory`, the highest use comes first:",
    line: "hookbox top",
  },
  {
    prose: "## Suspend and resume\n\n`suspend` deletes the Pod; the name and the volume stay:",
    line: "hookbox suspend session",
  },
  { line: "hookbox get claims" },
  { prose: "Commands that need the sandbox wake it:", line: "hookbox cp session:project/result.txt -" },
  {
    prose:
      "hookbox never changes the spec of a running Pod. After `kubectl edit sandbox`, the Sandbox therefore has the " +
      "condition `PodOutdated`, which `hookbox get sandboxes` shows as the reason. `restart` creates a new Pod from the " +
      "present spec:",
    line: "hookbox restart session",
  },
  {
    prose:
      "## Run one command\n\n`run` creates a sandbox, runs one command, and deletes the sandbox, also after Ctrl-C:",
    line: `hookbox run --pool python -- sh -c 'echo hello from $(hostname | cut -d- -f1); exit 4'; echo "exit code $?"`,
  },
  { line: "hookbox get claims", after: (ns) => ns.until("sandboxclaim", "session", isReady) },
  {
    prose:
      "## Pools\n\n`pool` shows how pools have served claims in the last hour. `pool simulate` finds the size that a pool " +
      "needs:",
    line: "hookbox pool",
    after: (ns) => untilFull(ns, "python"),
  },
  { line: "hookbox pool simulate --rate 0.5 --for 1h --refill 4s" },
  {
    prose:
      "## Why does it not start?\n\nIf a sandbox cannot start, `create` fails at once with the cause, and deletes what it " +
      "has created:",
    line: `hookbox create --pool pyhton; echo "exit code $?"`,
  },
  {
    prose:
      "`why` follows a claim to the object that causes the problem. Here a template requests more memory than any node " +
      "has:",
    line: "hookbox create --template greedy --name greedy --no-wait",
    after: (ns) => ns.apply(aTemplate("greedy", {}, GREEDY)),
  },
  {
    line: "hookbox why greedy",
    after: (ns) =>
      ns.until("sandbox", "greedy", (sandbox) => condition(sandbox, "PodScheduled")?.reason === "Unschedulable"),
  },
  { line: "hookbox get sandbox greedy -o wide" },
  {
    prose: "## Delete sandboxes\n\n`rm` deletes sandboxes with everything they have:",
    line: "hookbox rm session greedy",
  },
  { line: "hookbox get claims" },
  {
    prose: "## Check the cluster\n\n`doctor` reports what keeps sandboxes from working, or from working well:",
    line: `hookbox doctor; echo "exit code $?"`,
  },
  { prose: "## All commands", line: "hookbox --help" },
];
