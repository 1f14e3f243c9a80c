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

\`hookbox\`, or \`kubectl hookbox\`, makes sandboxes, works in them, and says why one does not start.
Everything on this page was printed by a test on a real node, with the pool of
[examples/python.yaml](../examples/python.yaml); ages, addresses and names that differ each time were replaced.

A cluster and a namespace are found as kubectl finds them: \`-n\`, \`--context\`, \`--kubeconfig\`, \`KUBECONFIG\` (of
several files the first that has the context, and that one alone), \`~/.kube/config\`, or in a Pod its ServiceAccount.
Results are on standard output, and nothing else; progress and complaints on standard error. Exit codes are 0, 1 for
failures, 2 for command lines that make no sense, 124 when time is over, 130 after Ctrl-C, and those of commands that
run in sandboxes. \`HOOKBOX_DEBUG=1\` adds stacks to complaints.
`;

/** More than any node has. */
const GREEDY = { containers: [{ name: "main", image: "busybox:1.37", resources: { requests: { memory: "900Gi" } } }] };
const hasSandbox = (claim: Loose) => claim?.status?.sandbox?.name !== undefined;
const isReady = (claim: Loose) => condition(claim, "Ready")?.status === "True";

export const STORY: Step[] = [
  {
    prose: "## A sandbox from a pool\n\nA pool keeps sandboxes running before anybody asks:",
    line: "hookbox get pools",
    after: (ns) => untilFull(ns, "python"),
  },
  {
    prose: "`create` takes one, waits until it is ready, and prints its name:",
    line: "hookbox create --pool python --name session --timeout 8h",
  },
  { line: "hookbox get claims", after: (ns) => ns.until("sandboxclaim", "session", hasSandbox) },
  { line: "hookbox get claims -o name" },
  {
    prose: "## Work in it\n\nOutput, input and exit code are the command's own:",
    line: "hookbox exec session -- python3 -c 'print(6 * 7)'",
  },
  { line: `echo 'one two three' | hookbox exec -i session -- wc -w` },
  { line: `hookbox exec session -- sh -c 'echo out; echo err >&2; exit 3'; echo "exit code $?"` },
  {
    prose: "`hookbox exec -it session` is a shell. Files go both ways, folders too:",
    line: "hookbox cp project session:",
  },
  { line: "hookbox ls -l session:project" },
  { line: "hookbox exec session -C project -- python3 main.py" },
  { line: "hookbox cp session:project/result.txt -" },
  {
    prose:
      "A port of the sandbox has an address for the browser, where there is a router that tells sandboxes apart by " +
      "path or host (`HOOKBOX_ROUTER_URL`, `HOOKBOX_ROUTER_PATH_PREFIX`). Without one, `hookbox url` forwards the port as " +
      "long as it runs.",
    line: "hookbox url session 3000 --router http://router.example",
  },
  {
    prose: "What it uses. `hookbox top -w` goes on, and shows it anew every five seconds in the same place; with " +
      "`--sort-by cpu` or `memory` those that use most come first:",
    line: "hookbox top",
  },
  {
    prose: "## Suspend and resume\n\nThe Pod goes, the name and the volume stay:",
    line: "hookbox suspend session",
  },
  { line: "hookbox get claims" },
  { prose: "Whatever needs it wakes it:", line: "hookbox cp session:project/result.txt -" },
  {
    prose: "A Pod's spec is never changed while it lives: after `kubectl edit sandbox` its Sandbox has the condition " +
      "`PodOutdated`, which `hookbox get sandboxes` shows as the reason. This makes another Pod, from the spec as it is " +
      "now:",
    line: "hookbox restart session",
  },
  {
    prose: "## One-off\n\n`run` makes a sandbox, runs one command, and deletes it, also after Ctrl-C:",
    line: `hookbox run --pool python -- sh -c 'echo hello from $(hostname | cut -d- -f1); exit 4'; echo "exit code $?"`,
  },
  { line: "hookbox get claims", after: (ns) => ns.until("sandboxclaim", "session", isReady) },
  {
    prose: "## Pools\n\nHow well they have served in the last hour, and how large one has to be:",
    line: "hookbox pool",
    after: (ns) => untilFull(ns, "python"),
  },
  { line: "hookbox pool simulate --rate 0.5 --for 1h --refill 4s" },
  {
    prose: "## Why does it not start?\n\nWhat cannot start says so at once, with the cause, and is deleted again:",
    line: `hookbox create --pool pyhton; echo "exit code $?"`,
  },
  {
    prose: "`why` walks from a claim to whatever is to blame. Here a template wants more memory than any node has:",
    line: "hookbox create --template greedy --name greedy --no-wait",
    after: (ns) => ns.apply(aTemplate("greedy", {}, GREEDY)),
  },
  {
    line: "hookbox why greedy",
    after: (ns) =>
      ns.until("sandbox", "greedy", (sandbox) => condition(sandbox, "PodScheduled")?.reason === "Unschedulable"),
  },
  { line: "hookbox get sandbox greedy -o wide" },
  { prose: "## The end\n\nSandboxes go with all they have:", line: "hookbox rm session greedy" },
  { line: "hookbox get claims" },
  {
    prose: "## The cluster\n\n`doctor` says what keeps sandboxes from working, or from working well:",
    line: `hookbox doctor; echo "exit code $?"`,
  },
  { prose: "## All commands", line: "hookbox --help" },
];
