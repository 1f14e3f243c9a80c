/** Reads the bench's command line. @module */
import { parseArgs } from "node:util";
import type { Watched } from "./measure/usage.ts";
import { type Shape, type Sweep, varied } from "./shapes/shape.ts";
import { GROUPS, SHAPES, SWEEPS } from "./shapes/shapes.ts";
import { LAYOUTS } from "./stage/layout.ts";

/** The name of the Go controller in the report, as in `--peer`. */
export const GO_CONTROLLER = "peer";

export interface BenchOptions {
  /** The shapes to run. A sweep is one shape for each size. */
  shapes: Shape[];
  rounds: number;
  /** How this checkout is divided into processes, by name. If there are several, they run alternately. At least one. */
  layouts: string[];
  /** Another checkout, which runs alternately with this one; undefined: none. */
  against: string | undefined;
  /** The Go controller, which also runs alternately: its binary, and the folder of its CRDs. */
  peer: { binary: string; crds: string } | undefined;
  /** An existing cluster to use; undefined: the bench starts its own. */
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Name of the implementation on that cluster, for the report. */
  name: string;
  processes: Watched[];
  hookURLs: string[];
  /** Path of a Python that has the published client; undefined: none, so no shape can use it. */
  python: string | undefined;
  /** Folder for the report. */
  out: string;
  /** Whether to take CPU profiles. */
  profile: boolean;
  help: boolean;
}

const OPTIONS = {
  rounds: { type: "string", default: "1" },
  layout: { type: "string", multiple: true, default: [] as string[] },
  against: { type: "string" },
  peer: { type: "string" },
  "peer-crds": { type: "string" },
  kubeconfig: { type: "string" },
  context: { type: "string" },
  name: { type: "string", default: "this" },
  process: { type: "string", multiple: true, default: [] as string[] },
  hooks: { type: "string", multiple: true, default: [] as string[] },
  python: { type: "string" },
  out: { type: "string", default: ".hookbox/bench" },
  profile: { type: "boolean", default: false },
  count: { type: "string" },
  clients: { type: "string" },
  rate: { type: "string" },
  namespaces: { type: "string" },
  pools: { type: "string" },
  replicas: { type: "string" },
  standing: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

const CHANGES: Record<string, Sweep["parameter"]> = {
  count: "count",
  clients: "clients",
  rate: "perSecond",
  namespaces: "namespaces",
  pools: "pools",
  replicas: "replicas",
  standing: "standing",
};

const WIDTH = Math.max(...SHAPES.map(({ name }) => name.length)) + 2;

export const HELP = `Usage: npm run bench -- <shape>… [options]

Puts load on an implementation of the Agent Sandbox API, and reports how long objects took and what they cost. Without
--kubeconfig it starts a cluster, the hooks, the keeper and Metacontroller for each run, and ends them. It runs
the binary that METACONTROLLER names, otherwise the fake Metacontroller.

Shapes:
${SHAPES.map(({ name, about }) => `  ${name.padEnd(WIDTH)}${about}${sizes(name)}`).join("\n")}

Groups of shapes:
${Object.entries(GROUPS).map(([name, { about }]) => `  ${name.padEnd(WIDTH)}${about}`).join("\n")}

Options:
  --rounds N           how often each shape runs (default 1)
  --against DIR        another checkout of hookbox with installed packages, which runs in turns with this one
  --peer PATH          the binary of the controller of kubernetes-sigs/agent-sandbox, which runs in turns with hookbox
  --peer-crds DIR      the YAML files of its CRDs
  --layout NAME        how hookbox is divided into processes; if you repeat it, the layouts run in turns:
${Object.entries(LAYOUTS).map(([name, { about }]) => `                       ${name.padEnd(14)}${about}`).join("\n")}
  --kubeconfig F       a cluster that already runs an implementation; the bench starts nothing
  --context C          context of the kubeconfig
  --name NAME          name of that implementation in the report (default this)
  --process NAME=PID   a process of this machine to measure; can be repeated
  --hooks URL          base URL of a hook with /metrics; can be repeated
  --python PATH        a Python with the package k8s-agent-sandbox, for episodes-python
  --out DIR            folder for report.json, report.md and the plots (default .hookbox/bench)
  --profile            write CPU profiles to the folder: kube-apiserver, Metacontroller, and hooks and keeper on Node
                       (--layout node)
  --count N, --clients N, --rate R, --namespaces N, --pools N, --replicas N, --standing N
                       change the shapes; --clients is how many run at a time, R is per second, --replicas is the size
                       of each pool
  --help               this text
`;

function sizes(name: string): string {
  const sweep = SWEEPS[name];
  return sweep ? `: ${sweep.values.join(", ")}` : "";
}

/** Reads the arguments. @throws {TypeError | RangeError} if one is not valid */
export function readOptions(args: string[]): BenchOptions {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const changes = Object.entries(CHANGES).flatMap(([option, parameter]) => {
    const text = values[option as "count"];
    return text === undefined ? [] : [{ parameter, value: number(text, option) }];
  });
  if (positionals.length === 0 && !values.help) throw new RangeError("Cannot run: name a shape, or see --help");
  if (values.against !== undefined && values.kubeconfig !== undefined) {
    throw new RangeError("Cannot compare with --against on a cluster of --kubeconfig: run each by itself");
  }
  if (values.python === undefined && positionals.includes("episodes-python")) {
    throw new RangeError("Cannot run episodes-python without --python: name a Python with k8s-agent-sandbox");
  }
  const peer = goControllerOf(values.peer, values["peer-crds"]);
  if (peer !== undefined && values.kubeconfig !== undefined) {
    throw new RangeError(
      "Cannot run the Go controller of --peer on a cluster of --kubeconfig: the bench starts its own clusters for it",
    );
  }
  if (peer !== undefined && values.name === GO_CONTROLLER) {
    throw new RangeError(`Cannot call hookbox "${GO_CONTROLLER}", as --peer`);
  }
  const unknown = values.layout.find((name) => !Object.hasOwn(LAYOUTS, name));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot use layout "${unknown}": there are ${Object.keys(LAYOUTS).join(", ")}`);
  }
  return {
    shapes: positionals.flatMap((name) => GROUPS[name]?.shapes ?? [name]).flatMap(sizesOf).map((shape) =>
      changes.reduce((changed, { parameter, value }) => varied(changed, parameter, value), shape)
    ),
    rounds: number(values.rounds, "rounds"),
    layouts: values.layout.length > 0 ? values.layout : Object.keys(LAYOUTS).slice(0, 1),
    against: values.against,
    peer,
    kubeconfig: values.kubeconfig,
    context: values.context,
    name: values.name,
    processes: values.process.map(watched),
    hookURLs: values.hooks,
    python: values.python,
    out: values.out,
    profile: values.profile,
    help: values.help,
  };
}

function goControllerOf(binary: string | undefined, crds: string | undefined): BenchOptions["peer"] {
  if (binary === undefined && crds === undefined) return undefined;
  if (binary === undefined) {
    throw new RangeError("Cannot use --peer-crds without --peer: name the Go controller's binary");
  }
  if (crds === undefined) throw new RangeError("Cannot use --peer without --peer-crds: name the folder of its CRDs");
  return { binary, crds };
}

function sizesOf(name: string): Shape[] {
  const shape = SHAPES.find((known) => known.name === name);
  if (!shape) {
    const known = [...SHAPES.map((s) => s.name), ...Object.keys(GROUPS)];
    throw new RangeError(`Cannot run shape "${name}": there are ${known.join(", ")}`);
  }
  const sweep = SWEEPS[name];
  return sweep ? sweep.values.map((value) => varied(shape, sweep.parameter, value)) : [shape];
}

function watched(text: string): Watched {
  const [, name = "", pid] = /^([^=]+)=(\d+)$/.exec(text) ?? [];
  if (pid === undefined) throw new RangeError(`Cannot measure process "${text}": write it as NAME=PID`);
  return { name, pid: Number(pid) };
}

function number(text: string, option: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new RangeError(`Cannot use --${option} "${text}": it is not a number of at least 0`);
}
