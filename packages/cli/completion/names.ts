/** Reads names for completion within a short time, and returns none if that fails. @module */
import { type Api, pathOf } from "../../kube/api.ts";
import { kubeconfigPlaces, readContexts } from "../../kube/kubeconfig.ts";
import { controllerOf, type KubeObject } from "../../api/objects/objects.ts";
import { CLAIM, type Kind, KINDS, SANDBOX } from "../../summary/kinds.ts";
import type { CommandContext } from "../commandcontext.ts";
import type { Need } from "./need.ts";

/** How long a user who presses Tab has to wait at most, in milliseconds. */
const PATIENCE_MS = 1500;
const MOST = "500";

/** Reads the names, sorted; none if it takes too long or fails. */
export async function namesOf(
  context: CommandContext,
  { what, where }: Pick<Need, "what" | "where">,
): Promise<string[]> {
  try {
    if (what === "kinds") return KINDS.map(({ words }) => words[0] ?? "");
    if (what === "contexts") return contextsOf(context, where);
    const { api, namespace } = await context.reach(where);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const read = async (kind: Kind) => await listed(api, { resource: kind.resource, namespace }, signal);
    const name = ({ metadata }: KubeObject) => metadata.name;
    if (what === "namespaces") return (await listed(api, { resource: "namespaces" }, signal)).map(name).sort();
    if (what !== "sandboxes") return unique((await Promise.all(what.kinds.map(read))).flat().map(name));
    const [claims, sandboxes] = await Promise.all([read(CLAIM), read(SANDBOX)]);
    // Sandboxes of pools and claims are not used by their own names.
    const own = sandboxes.filter(({ metadata }) => controllerOf(metadata) === undefined);
    return unique([...claims, ...own].map(name));
  } catch {
    return [];
  }
}

async function listed(api: Api, path: Parameters<typeof pathOf>[0], signal: AbortSignal): Promise<KubeObject[]> {
  const answer = await api.send({ method: "GET", path: pathOf(path), query: { limit: MOST }, signal });
  return answer.status === 200 ? (answer.body as { items: KubeObject[] }).items : [];
}

function contextsOf({ env }: CommandContext, where: Need["where"]): string[] {
  const files = where.kubeconfig ? [where.kubeconfig] : kubeconfigPlaces(env);
  return unique(files.flatMap((file) => {
    try {
      return readContexts(file).names;
    } catch {
      return [];
    }
  }));
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}
