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

export const TITLE = `# Command line reference: \`hookbox\`

\`hookbox\`, or \`kubectl hookbox\`, creates sandboxes, runs commands in them, and explains why a sandbox does not start.
A _sandbox_ is an isolated Pod with a stable name and a volume that outlives the Pod. A _pool_ keeps sandboxes running in
advance. A _claim_ is a Kubernetes object that requests one sandbox from a pool. \`hookbox create\` creates a claim, and
you use the sandbox by the name of its claim ([concepts](concepts.md)).

A test runs all commands of this page on a real node, with the pool of [examples/python.yaml](../examples/python.yaml),
and writes the output of the commands here. Ages, addresses and generated names differ in each run, so the test replaces
them with fixed values.

The command finds the cluster and the namespace like kubectl: by \`-n\`, \`--context\`, \`--kubeconfig\`,
\`KUBECONFIG\`, \`~/.kube/config\`, or, in a Pod, by the ServiceAccount of the Pod. If \`KUBECONFIG\` lists several files, the command
uses only the first file that has the context.

Standard output contains only results. Progress and errors go to standard error. \`HOOKBOX_DEBUG=1\` adds stack traces to
errors. The exit code is 0 for success, 1 for a failure, 2 for an invalid command line, 124 for a timeout, and 130 after
Ctrl-C. Commands that run in a sandbox return their own exit code.

Some commands have further names, for people who know kubectl or docker: \`list\` and \`ps\` mean \`get\`, \`delete\` and
\`kill\` mean \`rm\`, \`inspect\` means \`describe\`. To change an object, use \`kubectl edit\`: there is no \`hookbox edit\`.
In the browser, all sandboxes are on one page: \`hookbox dashboard\` opens it ([dashboard](dashboard.md)).
`;

/** More than any node has. */
const GREEDY = { containers: [{ name: "main", image: "busybox:1.37", resources: { requests: { memory: "900Gi" } } }] };
const hasSandbox = (claim: Loose) => claim?.status?.sandbox?.name !== undefined;
const isReady = (claim: Loose) => condition(claim, "Ready")?.status === "True";

export const STORY: Step[] = [
  {
    prose: "## Create a sandbox from a pool\n\nThis pool keeps two sandboxes running:",
    line: "hookbox get pools",
    after: (ns) => untilFull(ns, "python"),
  },
  {
    prose:
      "`create` requests a sandbox from the pool, waits until the sandbox is ready, and prints the name of its claim. " +
      "With `--timeout`, the cluster deletes the sandbox after that time. Otherwise the sandbox stays until you delete it:",
    line: "hookbox create --pool python --name session --timeout 8h",
  },
  { line: "hookbox get claims", after: (ns) => ns.until("sandboxclaim", "session", hasSandbox) },
  {
    prose:
      "STATUS says the same as `hookbox why`, in the words of kubectl. `-o wide` shows more columns, `--sort-by status` " +
      "puts problems first, `--show-labels` adds the labels, and `-w` follows changes. For scripts, there are `-o name`, " +
      "`json`, `yaml`, `jsonpath` and `custom-columns`, as for kubectl:",
    line: "hookbox get claims -o name",
  },
  { line: `hookbox get claims -o jsonpath='{.items[*].status.sandbox.name}'` },
  { line: "hookbox get claims -o custom-columns=NAME:.metadata.name,POOL:.spec.warmPoolRef.name" },
  {
    prose:
      "## Work in a sandbox\n\n`exec` runs a command in the sandbox, and passes on its output and its exit code. With `-i`, the command also gets your input:",
    line: "hookbox exec session -- python3 -c 'print(6 * 7)'",
  },
  { line: `echo 'one two three' | hookbox exec -i session -- wc -w` },
  { line: `hookbox exec session -- sh -c 'echo out; echo err >&2; exit 3'; echo "exit code $?"` },
  {
    prose: "If the template allows it, `--user root` runs the command as another user of the sandbox " +
      "([runtime.md](runtime.md#environment)). `hookbox ssh session` opens a shell. `cp` copies files and folders both ways. " +
      "With `--user`, too, the copy has the rights of that user, and files in the sandbox belong to the user:",
    line: "hookbox cp project session:",
  },
  { line: "hookbox ls -l session:project" },
  { line: "hookbox exec session -C project -- python3 main.py" },
  { line: "hookbox cp session:project/result.txt -" },
  {
    prose:
      "`url` prints the address of a port for the browser. With a [router](router.md), this works if the router finds " +
      "sandboxes by the path or the host of an address: set `HOOKBOX_ROUTER_PATH_PREFIX`, here `/s`, or " +
      "`HOOKBOX_ROUTER_DOMAIN`. Set the address of the router by `--router` or `HOOKBOX_ROUTER_URL`. Without a router, " +
      "`url` forwards the port to your machine until you end the command with Ctrl-C, with `--local-port 3000` to port " +
      "3000.",
    line: "hookbox url session 3000 --router http://router.example",
  },
  {
    prose:
      "`jobs` lists what runs in a sandbox: commands, terminals and background jobs. A background job is a process that a " +
      "command has left behind. [Idle suspension](router.md#idle-suspension) explains which of them keep the sandbox " +
      "awake.\n\n" +
      "`top` shows how much CPU and memory the sandboxes use. With `-w`, `top` updates the table every five seconds. " +
      "With `--sort-by cpu` or `--sort-by memory`, the sandbox that uses most comes first:",
    line: "hookbox top",
  },
  {
    prose:
      "A sandbox is deleted when its time is over. `extend` gives it more time, or, with `--never`, removes its end:",
    line: "hookbox extend session 2h",
  },
  {
    prose: "## Suspend and resume\n\n`suspend` deletes the Pod of the sandbox. The name and the volume stay:",
    line: "hookbox suspend session",
  },
  { line: "hookbox get claims" },
  { prose: "Commands that need the sandbox to run resume it:", line: "hookbox cp session:project/result.txt -" },
  {
    prose:
      "In a script, `wait` waits until a sandbox or a pool is ready. With `--for`, it waits until it is suspended, " +
      "finished or deleted, or has a condition:",
    line: "hookbox wait session pool/python --timeout 5m",
  },
  {
    prose:
      "hookbox never changes the spec of a running Pod. So if you change the Pod template of a Sandbox, for example " +
      "with `kubectl edit sandbox`, the Pod stays as it is. The Sandbox gets the condition `PodOutdated`. " +
      "Its STATUS is then `Running (Pod outdated)`. `restart` deletes the Pod, and hookbox creates a new one from " +
      "the current template:",
    line: "hookbox restart session",
  },
  {
    prose:
      "## Run one command\n\n`run` creates a sandbox, runs one command in it, and deletes the sandbox, also if you press Ctrl-C:",
    line: `hookbox run --pool python -- sh -c 'echo hello from $(hostname | cut -d- -f1); exit 4'; echo "exit code $?"`,
  },
  { line: "hookbox get claims", after: (ns) => ns.until("sandboxclaim", "session", isReady) },
  {
    prose:
      "## Pools\n\n`pool` shows how pools have served claims in the last hour. The hit rate is the share of claims that got " +
      "a member of the pool. For each of the others, a sandbox was created (`COLD`).\n\n`pool simulate` calculates the " +
      "size that a pool needs. Here, 0.5 claims arrive per second for an hour, and a sandbox takes 4 seconds to start. " +
      "`AT ONCE` counts the claims that found a Ready member, `WAITED` those that waited for a member that was starting. " +
      "`WAIT` shows percentiles of the time until a claim has a sandbox. `IDLE` is the average number of unused members:",
    line: "hookbox pool",
    after: (ns) => untilFull(ns, "python"),
  },
  { line: "hookbox pool simulate --rate 0.5 --for 1h --refill 4s" },
  {
    prose: "## Why does it not start?\n\nIf a sandbox cannot start, `create` fails as soon as it finds the cause, " +
      "reports the cause, and deletes what it has created. Here, the name of the pool is misspelled:",
    line: `hookbox create --pool pyhton; echo "exit code $?"`,
  },
  {
    prose:
      "`why` starts at a claim, and finds the object that causes the problem. Here, a template requests more memory than " +
      "any node has:",
    line: "hookbox create --template greedy --name greedy --no-wait",
    after: (ns) => ns.apply(aTemplate("greedy", {}, GREEDY)),
  },
  {
    line: "hookbox why greedy",
    after: (ns) =>
      ns.until("sandbox", "greedy", (sandbox) => condition(sandbox, "PodScheduled")?.reason === "Unschedulable"),
  },
  { line: "hookbox get sandbox greedy" },
  {
    prose:
      "`describe` shows an object with its conditions, its Events, its Sandbox and its Pod. Here are the first lines. " +
      "`events` lists the Events of all sandboxes, or of one, and follows them with `-w`:",
    line: "hookbox describe session | head -n 6",
  },
  {
    prose: "## Delete sandboxes\n\n`rm` deletes sandboxes together with their claims, Pods and volumes:",
    line: "hookbox rm session greedy",
  },
  { line: "hookbox get claims" },
  {
    prose:
      "## Check the cluster\n\n`doctor` checks the cluster. `✓` means that a check has passed. `!` marks a limitation, `✗` an error. The line after `→` says what you can do:",
    line: `hookbox doctor; echo "exit code $?"`,
  },
  { prose: "## All commands", line: "hookbox --help" },
];
