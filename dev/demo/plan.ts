/** Decides what the demo creates on a cluster that exists, from what is there already. @module */
import type { KubeObject } from "../../packages/api/objects/objects.ts";

/** What was found on the cluster. */
export interface Found {
  /** Version of Kubernetes, such as `v1.36.0`, and its second number. */
  version: string;
  minor: number;
  /** Whether the API server serves Metacontroller's kinds. */
  hasMetacontroller: boolean;
  /** The objects of hookbox's installation that exist, as in {@link Wanted.hookbox}. */
  hookbox: readonly KubeObject[];
  /** The versions that each existing CRD of hookbox serves, by name of the CRD. */
  served: ReadonlyMap<string, readonly string[]>;
  /** The Deployment of another controller for the same kinds, if it runs: `namespace/name`. */
  otherController: string | undefined;
  /** How many Sandboxes, claims, pools and templates there are. */
  objects: number;
  hasNamespace: boolean;
  hasNodes: boolean;
  hasDefaultStorage: boolean;
}

/** What the demo would create on an empty cluster. */
export interface Wanted {
  context: string;
  namespace: string;
  /** All objects of hookbox's installation. */
  hookbox: readonly KubeObject[];
}

/** What the demo does on this cluster. */
export interface Plan {
  /** Whether the demo installs Metacontroller, and removes it at the end. */
  installsMetacontroller: boolean;
  /** The objects of hookbox to create; empty: hookbox is installed already. */
  creates: readonly KubeObject[];
  /** What the demo uses and does not change, as sentences. */
  uses: string[];
}

/** First version with ValidatingAdmissionPolicies of v1, which hookbox's processes need. */
const OLDEST_MINOR = 30;
const VERSION = "v1beta1";
/** What stays on a cluster when hookbox is uninstalled. */
const RETAINED = ["Namespace", "CustomResourceDefinition"];

/** Returns the plan. @throws {Error} if the demo cannot run there without changing what belongs to others */
export function planOf(found: Found, { context, namespace, hookbox }: Wanted): Plan {
  const refuse = (why: string, remedy: string): never => {
    throw new Error(`Cannot run the demo on ${context}: ${why}. ${remedy}`);
  };
  const { version, minor, hasMetacontroller, served, otherController, objects } = found;
  if (minor < OLDEST_MINOR) refuse(`it runs Kubernetes ${version}`, `Use Kubernetes 1.${OLDEST_MINOR} or later.`);
  if (!found.hasNodes) refuse("it has no node that is Ready", 'Look at "kubectl get nodes".');
  if (found.hasNamespace) {
    refuse(
      `namespace ${namespace} exists already, and the demo deletes its namespace at the end`,
      "Choose another name with --namespace.",
    );
  }
  if (!found.hasDefaultStorage) {
    refuse(
      "it has no default StorageClass, so volumes of sandboxes would stay pending",
      "Choose one: kubectl annotate storageclass NAME storageclass.kubernetes.io/is-default-class=true",
    );
  }
  for (const [crd, versions] of served) {
    if (!versions.includes(VERSION)) {
      refuse(
        `its CRD ${crd} serves ${versions.join(", ") || "no version"}, but not ${VERSION}`,
        "Update the CRDs first.",
      );
    }
  }
  if (otherController !== undefined) {
    refuse(`Deployment ${otherController} manages its Sandboxes`, "Use a cluster without another controller.");
  }
  const isController = ({ kind }: KubeObject) => /^(Composite|Decorator)Controller$/.test(kind);
  const missing = hookbox.filter((object) => !found.hookbox.includes(object));
  const others = found.hookbox.filter(({ kind }) => !RETAINED.includes(kind));
  const uses = hasMetacontroller
    ? ["Metacontroller is installed already: the demo uses it, and does not change it."]
    : [];
  // An installation can lack some of its processes, which may run elsewhere, but it has its controllers.
  if (hookbox.filter(isController).every((object) => found.hookbox.includes(object))) {
    uses.push("hookbox is installed already: the demo uses it, and does not change it.");
    return { installsMetacontroller: false, creates: [], uses };
  }
  if (others.length > 0) {
    const [{ kind, metadata: { name } } = { kind: "", metadata: { name: "" } }] = others;
    refuse(
      `hookbox is installed only in part: ${kind} ${name} exists, but not all of its controllers`,
      'Complete it with "hookbox install --apply --image IMAGE", or remove it with "hookbox uninstall --apply".',
    );
  }
  if (objects > 0) {
    refuse(
      `it has ${objects} Sandboxes, claims, pools or templates, which an installation for the demo would manage`,
      'Install hookbox yourself first ("hookbox install"), or use another cluster.',
    );
  }
  if (served.size > 0) {
    uses.push(`${served.size} CRDs of hookbox are installed already: the demo uses them, and does not change them.`);
  }
  return { installsMetacontroller: !hasMetacontroller, creates: missing, uses };
}
