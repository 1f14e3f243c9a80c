/** What a fault fixture is: how it is made, who is asked about, and who is to blame. @module */
import type { Code } from "../../../packages/api/diagnosis/catalogue.ts";
import { type Loose, type Namespace, sleeper } from "../../integration/namespace.ts";

export interface Fault {
  name: string;
  /** Such as `claim/demo`; names are unique among the fixtures that share a namespace. */
  subject: string;
  code: Code;
  /** Such as `Pod/demo`; `@` stands for the namespace's name. */
  culprit: string;
  /** A Pod has to run: not on simulated nodes. */
  needs?: "kubelet" | "both kinds of node";
  /** What it does to its namespace would hurt others. */
  isAlone?: true;
  make(ns: Namespace, atEnd: (end: () => Promise<void>) => void): Promise<void>;
}

/** A Sandbox is enough: the fixture is what is wrong with its Pod. */
export function podFault(
  name: string,
  code: Code,
  culprit: string,
  podSpec: Loose,
  more: Partial<Fault> & { spec?: Loose } = {},
): Fault {
  const { spec = {}, ...rest } = more;
  return {
    name,
    subject: `sandbox/${name}`,
    code,
    culprit,
    make: (ns) => ns.apply(sleeper(name, spec, podSpec)),
    ...rest,
  };
}

/** The spec of the one container, laid over a busybox that sleeps. */
export function container(over: Loose): Loose {
  return { containers: [{ name: "main", image: "busybox:1.37", command: ["sleep", "86400"], ...over }] };
}

/** A volume claim template. */
export function aVolume(name: string, storageClassName?: string): Loose {
  const resources = { requests: { storage: "1Mi" } };
  return { metadata: { name }, spec: { accessModes: ["ReadWriteOnce"], resources, storageClassName } };
}
