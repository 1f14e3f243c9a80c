/** What `hookbox install` brings to a cluster, as YAML and as objects: deploy/, as kustomize makes it. Asks nobody. @module */
import { readFileSync } from "node:fs";
import { type Document, parseAllDocuments } from "yaml";
import { SYSTEM_NAMESPACE as SYSTEM } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { readCRDs, renderManifests } from "../../manifests/render.ts";

/** What to bring. */
export interface BundleOptions {
  /** Where hooks run that are not to be installed; undefined: they are, with a Service each. */
  hooksURL?: string | undefined;
  /** Of hooks, keeper and binder. */
  namespace: string;
  /** Of all processes; undefined: as in deploy/, from wherever nodes look for it. */
  image?: string | undefined;
  /** False: without the CRDs. @default true */
  crds?: boolean;
  /** False: without the namespaces. @default true */
  namespaces?: boolean;
  /** False: CRDs, controllers, accounts and rights, and nothing that runs. */
  processes: boolean;
  /** With the policy that only API servers of Kubernetes 1.36 or later know. @default false */
  managedFields?: boolean;
}

/** Clients of these APIs look for the router there, and the NetworkPolicies of templates let in what is there. */
const ROUTER = "agent-sandbox-system";

/** Files of one namespace, and what they are for: rights are always brought. */
interface Part {
  namespace: string;
  of: "namespaces" | "rights" | "hooks" | "processes" | "managedFields";
  files: readonly URL[];
}

/** Each file stands here whole: that is how a bundler finds those that belong to a bundle. */
const PARTS: readonly Part[] = [
  {
    namespace: SYSTEM,
    of: "namespaces",
    files: [new URL("../../../deploy/namespaces/namespaces.yaml", import.meta.url)],
  },
  {
    namespace: SYSTEM,
    of: "hooks",
    files: [
      new URL("../../../deploy/hooks/serviceaccount.yaml", import.meta.url),
      new URL("../../../deploy/hooks/networkpolicy.yaml", import.meta.url),
      new URL("../../../deploy/hooks/sandbox.yaml", import.meta.url),
      new URL("../../../deploy/hooks/sandboxclaim.yaml", import.meta.url),
      new URL("../../../deploy/hooks/sandboxtemplate.yaml", import.meta.url),
      new URL("../../../deploy/hooks/sandboxwarmpool.yaml", import.meta.url),
    ],
  },
  {
    namespace: SYSTEM,
    of: "rights",
    files: [
      new URL("../../../deploy/keeper/rbac.yaml", import.meta.url),
      new URL("../../../deploy/keeper/account.yaml", import.meta.url),
      new URL("../../../deploy/binder/rbac.yaml", import.meta.url),
      new URL("../../../deploy/binder/account.yaml", import.meta.url),
    ],
  },
  {
    namespace: SYSTEM,
    of: "processes",
    files: [
      new URL("../../../deploy/keeper/admission.yaml", import.meta.url),
      new URL("../../../deploy/keeper/keeper.yaml", import.meta.url),
      new URL("../../../deploy/binder/admission.yaml", import.meta.url),
      new URL("../../../deploy/binder/binder.yaml", import.meta.url),
    ],
  },
  {
    namespace: ROUTER,
    of: "rights",
    files: [
      new URL("../../../deploy/router/rbac.yaml", import.meta.url),
      new URL("../../../deploy/router/account.yaml", import.meta.url),
    ],
  },
  {
    namespace: ROUTER,
    of: "processes",
    files: [
      new URL("../../../deploy/router/admission.yaml", import.meta.url),
      new URL("../../../deploy/router/router.yaml", import.meta.url),
    ],
  },
  {
    namespace: SYSTEM,
    of: "managedFields",
    files: [new URL("../../../deploy/managedfields/policy.yaml", import.meta.url)],
  },
];

const CLUSTER_WIDE = [
  "Namespace",
  "ClusterRole",
  "ClusterRoleBinding",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
];

/** What must be there before the rest, in this order; controllers come last, so that what they call for is there. */
const ORDER = ["Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Role"];
const LAST = ["CompositeController", "DecoratorController"];

/** Renders all of it. @throws {RangeError} if `hooksURL` is not an absolute http or https URL */
export function renderBundle(options: BundleOptions): string {
  const { hooksURL, namespace, image, crds = true, namespaces = true, processes, managedFields = false } = options;
  const manifests = renderManifests(hooksURL ?? ((hook) => `http://${hook}.${namespace}:8080`), crds);
  const hooks = processes && hooksURL === undefined;
  const isWanted = { namespaces, rights: true, hooks, processes, managedFields };
  const rendered = [manifests.trimEnd(), ...textsOf(({ of }) => isWanted[of], namespace)].join("\n---\n");
  return `${image === undefined ? rendered : rendered.replace(/^( +image:) hookbox:.*$/gm, `$1 ${image}`)}\n`;
}

/**
 * Renders the namespaces and CRDs, which stay when hookbox is uninstalled because users' Sandboxes depend on them.
 *
 * @param namespace as in {@link BundleOptions}
 */
export function renderKept(namespace: string): string {
  return `${[...textsOf(({ of }) => of === "namespaces", namespace), ...readCRDs()].join("\n---\n").trimEnd()}\n`;
}

function textsOf(isWanted: (part: Part) => boolean, namespace: string): string[] {
  return PARTS.filter(isWanted).flatMap(({ files, namespace: home }) =>
    files.map((file) => placed(file, home).replaceAll(SYSTEM, namespace))
  );
}

/** Reads them into objects, in the order in which they are to be applied. */
export function bundleObjects(text: string): KubeObject[] {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject | null);
  return objects.filter((object) => object !== null).sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ kind }: KubeObject): number {
  if (LAST.includes(kind)) return ORDER.length + 1;
  const rank = ORDER.indexOf(kind);
  return rank < 0 ? ORDER.length : rank;
}

/** What has a namespace is put into that of its process, as its kustomization.yaml does. */
function placed(file: URL, namespace: string): string {
  return parseAllDocuments(readFileSync(file, "utf8")).map((document: Document) => {
    if (!CLUSTER_WIDE.includes(String(document.get("kind")))) document.setIn(["metadata", "namespace"], namespace);
    return document.toString({ lineWidth: 0, flowCollectionPadding: false }).replace(/^---\n/, "").trimEnd();
  }).join("\n---\n");
}
