/** What tests share: each thing is started when the first test file asks for it, and goes after the last. @module */
import { once } from "node:events";
import { get } from "node:http";
import { text } from "node:stream/consumers";
import { inject } from "vitest";

/** The cluster with everything that hookbox runs in it: Metacontroller, all hooks in one process, the keeper, nodes. */
export interface Suite {
  kubeconfig: string;
  kubectl: string;
  /** Base URL of the hooks. */
  hooksURL: string;
  /** Base URL of the collector that its processes send spans to, if there is one. */
  tracesURL: string;
  /** What Prometheus would scrape of the keeper. */
  metricsURL: string;
  engine: "real" | "fake";
  nodes: "real" | "simulated";
  /** Folder that takes the logs of processes. */
  logs: string;
  /** Base URL of a proxy before hooks in a test's own process, which are below their port there. Default: there is none. */
  hookProxy?: string;
  /** File of one JSON line for each write of what our controllers make: kube-apiserver's audit log. */
  writesLog: string;
}

/** A cluster that is an API server with our CRDs, and nothing else. */
export interface BareCluster {
  kubeconfig: string;
  kubectl: string;
}

/** All of them, by name. The last one is done once in the suite's cluster: its value says nothing. */
export interface Shared {
  suite: Suite;
  bare: BareCluster;
  /** A project that has installed the package: its folder. */
  consumer: { folder: string };
  /** A project that has installed the SDK alone: its folder. */
  sdkConsumer: { folder: string };
  /** The runtime's image is on the real node. */
  runtimeImage: object;
}

declare module "vitest" {
  interface ProvidedContext {
    /** Where test files ask for what they share. */
    sharedURL: string;
    /** What the seeds of random tests come from. */
    seed: number;
    /** Whether the long form of tests is wanted: `npm run soak`. */
    isSoak: boolean;
    /** For the report at the end; absent if no test asked for the suite. */
    engine: string | undefined;
    nodes: string | undefined;
  }
}

/** What this file has asked for. */
const known = new Map<string, unknown>();

/** Returns it; the first call starts it. @throws {Error} why it could not be started */
export async function shared<Name extends keyof Shared>(name: Name): Promise<Shared[Name]> {
  // Not by fetch(), which gives up after five minutes: a first start builds Kubernetes.
  const [answer] = await once(get(`${inject("sharedURL")}/${name}`), "response");
  const body = await text(answer);
  if (answer.statusCode !== 200) throw new Error(body);
  const value: Shared[Name] = JSON.parse(body);
  known.set(name, value);
  return value;
}

/** Returns the suite's cluster, which this file waits for as it is loaded: no test has the time for a first start. @throws {Error} if it does not */
export function startedSuite(): Suite {
  const suite = known.get("suite");
  if (!suite) throw new Error('Cannot use the cluster: import "suite.ts", which waits until it is up');
  return suite as Suite;
}
