/** Says what a repeated `hookbox project create` changes: an option that is left out gets its default value again. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { COUNTED_CLAIMS } from "../../summary/quotas.ts";

/** The parts of a project's objects that options decide. */
interface Decided extends KubeObject {
  spec?: {
    hard?: Record<string, string>;
    replicas?: number;
    volumeClaimTemplates?: { spec: { resources?: { requests?: Record<string, string> } } }[];
    podTemplate?: {
      spec: { containers: { image?: string; args?: string[]; resources?: { limits?: Record<string, string> } }[] };
    };
  };
}

const NOT_SET = "not set";

/** Returns the options by which an object was created. */
function optionsOf({ kind, spec = {} }: Decided): [option: string, value: string][] {
  const [container] = spec.podTemplate?.spec.containers ?? [];
  const { limits } = container?.resources ?? {};
  const values: [string, string | number | undefined][] = kind === "ResourceQuota"
    ? [["--sandboxes", spec.hard?.[COUNTED_CLAIMS]]]
    : kind === "SandboxWarmPool"
    ? [["--size", spec.replicas]]
    : kind === "SandboxTemplate"
    ? [
      ["--image", container?.image],
      ["--storage", spec.volumeClaimTemplates?.[0]?.spec.resources?.requests?.["storage"]],
      ["--root", container?.args?.includes("--allow-users") ? "set" : undefined],
      ["--cpu", limits?.["cpu"]],
      ["--memory", limits?.["memory"]],
    ]
    : [];
  return values.map(([option, value]) => [option, String(value ?? NOT_SET)]);
}

/** Returns a line for each option whose value changes, such as `--storage was 2Gi, and is now not set`. */
export function changesOf(before: KubeObject, after: KubeObject): string[] {
  const now = new Map(optionsOf(after));
  return optionsOf(before)
    .filter(([option, value]) => now.get(option) !== value)
    .map(([option, value]) => `${option} was ${value}, and is now ${now.get(option)}`);
}
