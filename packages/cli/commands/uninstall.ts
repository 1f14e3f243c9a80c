/** `hookbox uninstall`: deletes what `hookbox install` created, and lists what stays. @module */
import type { Command } from "commander";
import { BINDER_LEASE, KEEPER_LEASE, ROUTER_NAMESPACE } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Api, isOk, messageOf, pathOf } from "../../kube/api.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Ended, Failure, reportOf } from "../failure.ts";
import { createDeleter, isConvertedIn, nameOf, type VersionedCRD } from "../install/apply.ts";
import { bundleObjects, renderBundle } from "../install/bundle.ts";
import { optionsOf, withCluster } from "../options.ts";

interface UninstallOptions {
  apply?: boolean;
  crds?: boolean;
  systemNamespace: string;
}

const MORE = `
Without --apply, prints what it would delete. It keeps CRDs and namespaces, and therefore all Sandboxes, claims, pools and
templates; their Pods keep running. It does not change Metacontroller. If the cluster also serves v1alpha1, switch that
off first: otherwise API servers would call a hook that no longer exists.

Examples:
  hookbox uninstall
  hookbox uninstall --apply`;

const KINDS = ["sandboxes", "sandboxclaims", "sandboxwarmpools", "sandboxtemplates"] as const;
const CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export function defineUninstall(command: Command, context: CommandContext): void {
  command
    .option("--apply", "delete the objects")
    .option("--crds", "also delete the CRDs, and with them every Sandbox, claim, pool and template")
    .option("--system-namespace <name>", "namespace of hooks, keeper and binder", "hookbox-system")
    .addHelpText("after", MORE);
  withCluster(command.action(async () => {
    const options = optionsOf<UninstallOptions>(command);
    const { apply = false, crds = false, systemNamespace } = options;
    const { api } = await context.connectCluster(options);
    const objects = bundled(systemNamespace);
    const isCRD = ({ kind }: KubeObject) => kind === "CustomResourceDefinition";
    await checkConversion(api, objects.filter(isCRD), systemNamespace);
    const remove = createDeleter(api, !apply);
    let failed = false;
    for (const object of objects.filter((one) => crds || !isCRD(one))) {
      // If an object was not deleted, its process may still need the Lease to lead.
      if (failed && object.kind === "Lease") continue;
      try {
        if (await remove(object)) context.stdout.write(`${nameOf(object)} deleted${apply ? "" : " (dry run)"}\n`);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        failed = true;
        for (const line of reportOf(error).lines) context.stderr.write(`${line}\n`);
      }
      context.signal.throwIfAborted();
    }
    if (failed) throw new Ended(1);
    for (const line of await leftover(api, systemNamespace, crds)) context.stdout.write(`${line}\n`);
    if (!apply) context.stdout.write("Nothing was deleted: use --apply.\n");
  }));
}

/** Refuses to delete the installation while API servers need its hook to convert objects. @throws {Failure} */
async function checkConversion(api: Api, crds: readonly KubeObject[], namespace: string): Promise<void> {
  const converted: string[] = [];
  for (const { metadata: { name } } of crds) {
    const answer = await api.send({ method: "GET", path: `${CRD_PATH}/${name}` });
    if (answer.status === 404) continue;
    if (!isOk(answer)) throw new Failure(`Cannot read CustomResourceDefinition ${name}: ${messageOf(answer)}`);
    if (isConvertedIn(answer.body as VersionedCRD, namespace)) converted.push(name);
  }
  if (converted.length === 0) return;
  throw new Failure(
    `Cannot uninstall: API servers use the hook "conversion" to convert ${converted.join(", ")}`,
    "Switch v1alpha1 off first: kubectl apply --server-side --force-conflicts -k crds, then kubectl -n " +
      `${namespace} delete -f deploy/v1alpha1/conversion.yaml -f deploy/v1alpha1/certificate.yaml; or, with Helm, ` +
      "v1alpha1.enabled=false.",
  );
}

/** Controllers are deleted first, so that they do not call hooks that are being deleted. */
function bundled(namespace: string): KubeObject[] {
  // Leases, which the processes create themselves.
  const leases = [KEEPER_LEASE, BINDER_LEASE].map((name): KubeObject => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace },
  }));
  const objects = bundleObjects(renderBundle({ namespace, processes: true, e2b: true, managedFields: true })).reverse();
  return [...objects.filter(({ kind }) => kind !== "Namespace"), ...leases];
}

/** Returns lines that say what stays: the users' objects and the namespaces. */
async function leftover(api: Api, namespace: string, crds: boolean): Promise<string[]> {
  const lines = [`Kept: the namespaces ${namespace} and ${ROUTER_NAMESPACE}.`];
  if (crds) return lines;
  const counts = await Promise.all(KINDS.map(async (resource) => {
    const { status, body } = await api.send({ method: "GET", path: pathOf({ resource }), query: { limit: "1" } });
    const { items = [], metadata } = (status === 200 ? body : {}) as {
      items?: unknown[];
      metadata?: { remainingItemCount?: number };
    };
    return `${items.length + (metadata?.remainingItemCount ?? 0)} ${resource}`;
  }));
  return [
    ...lines,
    `Kept: the CRDs, with ${counts.join(", ")}. Their Pods keep running, but no controller manages them.`,
  ];
}
