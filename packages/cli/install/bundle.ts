/** Renders the objects that `hookbox install` applies, as YAML and as objects. @module */
import { readFileSync } from "node:fs";
import { type Document, parseAllDocuments } from "yaml";
import { SYSTEM_NAMESPACE as SYSTEM } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { readCRDs, renderManifests } from "../../manifests/render.ts";

/** Options of the bundle. */
export interface BundleOptions {
  /** URL of hooks that run elsewhere. Undefined: hooks are installed, each with a Service. */
  hooksURL?: string | undefined;
  /** Namespace of hooks, keeper and binder. */
  namespace: string;
  /** Image of all processes. Undefined: the images in deploy/, from the default registry of the nodes. */
  image?: string | undefined;
  /** Whether to include the CRDs. @default true */
  crds?: boolean;
  /** Whether to include the namespaces. @default true */
  namespaces?: boolean;
  /** Whether to include the processes. False: only CRDs, controllers, accounts and rights. */
  processes: boolean;
  /** Whether to include the policy that requires Kubernetes 1.36 or later. @default false */
  managedFields?: boolean;
}

/**
 * Namespace of the router. Clients of the Agent Sandbox APIs expect it there, and the NetworkPolicies of templates
 * allow traffic from it.
 */
const ROUTER = "agent-sandbox-system";

/** Files of one namespace and their purpose. Rights are always included. */
interface Part {
  namespace: string;
  of: "namespaces" | "rights" | "hooks" | "processes" | "managedFields";
  files: readonly URL[];
}

/** Each path is written in full, because a bundler finds the files of a bundle by these expressions. */
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

/** Kinds that are applied first, in this order. Controllers come last, so that the hooks that they call exist. */
const ORDER = ["Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Role"];
const LAST = ["CompositeController", "DecoratorController"];

/** Renders all objects as YAML. @throws {RangeError} if `hooksURL` is not an absolute http or https URL */
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

/** Parses the YAML into objects, in the order in which they must be applied. */
export function bundleObjects(text: string): KubeObject[] {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject | null);
  return objects.filter((object) => object !== null).sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ kind }: KubeObject): number {
  if (LAST.includes(kind)) return ORDER.length + 1;
  const rank = ORDER.indexOf(kind);
  return rank < 0 ? ORDER.length : rank;
}

/** Sets the namespace of namespaced objects to that of their process, as its kustomization.yaml does. */
function placed(file: URL, namespace: string): string {
  return parseAllDocuments(readFileSync(file, "utf8")).map((document: Document) => {
    if (!CLUSTER_WIDE.includes(String(document.get("kind")))) document.setIn(["metadata", "namespace"], namespace);
    return document.toString({ lineWidth: 0, flowCollectionPadding: false }).replace(/^---\n/, "").trimEnd();
  }).join("\n---\n");
}
