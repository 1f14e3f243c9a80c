/** Renders the objects that `hookbox install` applies. @module */
import { readFileSync } from "node:fs";
import { type Document, parseAllDocuments } from "yaml";
import { ROUTER_NAMESPACE, SYSTEM_NAMESPACE } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { readCRDs, renderManifests } from "../../manifests/render.ts";

/** Which objects to render. */
export interface BundleOptions {
  /** URL of hooks that already run elsewhere. Undefined: the bundle contains the hooks, each with a Service. */
  hooksURL?: string | undefined;
  /** Namespace of hooks, keeper and binder. */
  namespace: string;
  /** Image of all containers. Undefined: the image that deploy/ names, from the default registry of the nodes. */
  image?: string | undefined;
  /** Options of the router, such as `--authz-mode=allow-all`. @default [] */
  routerArgs?: readonly string[];
  /** Whether to include the API for E2B's SDKs. @default false */
  e2b?: boolean;
  /** Whether to include the CRDs. @default true */
  crds?: boolean;
  /** Whether to include the namespaces. @default true */
  namespaces?: boolean;
  /** Whether to include the Deployments. If not, the bundle has only CRDs, controllers, ServiceAccounts and RBAC. */
  processes: boolean;
  /**
   * Whether to include the MutatingAdmissionPolicy that removes managedFields. It requires Kubernetes 1.36 or later.
   *
   * @default false
   */
  managedFields?: boolean;
}

/** Files that are included together. */
interface Part {
  /** Namespace of their objects. */
  namespace: string;
  /** Decides which option includes the files. `rbac` is always included. */
  purpose: "namespaces" | "rbac" | "hooks" | "processes" | "e2b" | "managedFields";
  files: readonly URL[];
}

/** Each path is written in full, because rolldown finds the files to publish by these expressions. */
const PARTS: readonly Part[] = [
  {
    namespace: SYSTEM_NAMESPACE,
    purpose: "namespaces",
    files: [new URL("../../../deploy/namespaces/namespaces.yaml", import.meta.url)],
  },
  {
    namespace: SYSTEM_NAMESPACE,
    purpose: "hooks",
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
    namespace: SYSTEM_NAMESPACE,
    purpose: "rbac",
    files: [
      new URL("../../../deploy/keeper/rbac.yaml", import.meta.url),
      new URL("../../../deploy/keeper/account.yaml", import.meta.url),
      new URL("../../../deploy/binder/rbac.yaml", import.meta.url),
      new URL("../../../deploy/binder/account.yaml", import.meta.url),
    ],
  },
  {
    namespace: SYSTEM_NAMESPACE,
    purpose: "processes",
    files: [
      new URL("../../../deploy/keeper/admission.yaml", import.meta.url),
      new URL("../../../deploy/keeper/keeper.yaml", import.meta.url),
      new URL("../../../deploy/binder/admission.yaml", import.meta.url),
      new URL("../../../deploy/binder/secrets.yaml", import.meta.url),
      new URL("../../../deploy/binder/claimheaders.yaml", import.meta.url),
      new URL("../../../deploy/binder/binder.yaml", import.meta.url),
    ],
  },
  {
    namespace: SYSTEM_NAMESPACE,
    purpose: "rbac",
    files: [new URL("../../../deploy/users/roles.yaml", import.meta.url)],
  },
  {
    namespace: ROUTER_NAMESPACE,
    purpose: "rbac",
    files: [
      new URL("../../../deploy/router/rbac.yaml", import.meta.url),
      new URL("../../../deploy/router/account.yaml", import.meta.url),
    ],
  },
  {
    namespace: ROUTER_NAMESPACE,
    purpose: "processes",
    files: [
      new URL("../../../deploy/router/admission.yaml", import.meta.url),
      new URL("../../../deploy/router/router.yaml", import.meta.url),
    ],
  },
  {
    namespace: ROUTER_NAMESPACE,
    purpose: "e2b",
    files: [
      new URL("../../../deploy/e2b/rbac.yaml", import.meta.url),
      new URL("../../../deploy/e2b/account.yaml", import.meta.url),
      new URL("../../../deploy/e2b/e2b.yaml", import.meta.url),
    ],
  },
  {
    namespace: SYSTEM_NAMESPACE,
    purpose: "managedFields",
    files: [new URL("../../../deploy/managedfields/policy.yaml", import.meta.url)],
  },
];

const CLUSTER_SCOPED = [
  "Namespace",
  "ClusterRole",
  "ClusterRoleBinding",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
];

/** Kinds that are applied first, in this order. */
const FIRST_KINDS = ["Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Role"];
/** Kinds that are applied last: Metacontroller then calls the hooks, so these must exist. */
const LAST_KINDS = ["CompositeController", "DecoratorController"];

/** Renders the objects as YAML. @throws {RangeError} if `hooksURL` is not an absolute http or https URL */
export function renderBundle(options: BundleOptions): string {
  const { hooksURL, namespace, image, crds = true, namespaces = true, processes, managedFields = false } = options;
  const { routerArgs = [], e2b = false } = options;
  const manifests = renderManifests(hooksURL ?? ((hook) => `http://${hook}.${namespace}:8080`), crds);
  const hooks = processes && hooksURL === undefined;
  const isIncluded = { namespaces, rbac: true, hooks, processes, e2b, managedFields };
  const rendered = [manifests.trimEnd(), ...renderParts(({ purpose }) => isIncluded[purpose], namespace, routerArgs)]
    .join(
      "\n---\n",
    );
  return `${image === undefined ? rendered : rendered.replace(/^( +image:) hookbox:.*$/gm, `$1 ${image}`)}\n`;
}

/**
 * Renders the objects that stay when hookbox is uninstalled: namespaces and CRDs. If they were deleted, the Sandboxes
 * of users would be deleted, too.
 *
 * @param namespace as in {@link BundleOptions}
 */
export function renderRetained(namespace: string): string {
  return `${
    [...renderParts(({ purpose }) => purpose === "namespaces", namespace), ...readCRDs()].join("\n---\n").trimEnd()
  }\n`;
}

function renderParts(
  isIncluded: (part: Part) => boolean,
  namespace: string,
  routerArgs: readonly string[] = [],
): string[] {
  return PARTS.filter(isIncluded).flatMap(({ files, namespace: home }) =>
    files.map((file) => renderFile(file, home, routerArgs).replaceAll(SYSTEM_NAMESPACE, namespace))
  );
}

/** Parses the YAML into objects, in the order in which they must be applied. */
export function bundleObjects(text: string): KubeObject[] {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject | null);
  return objects.filter((object) => object !== null).sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ kind }: KubeObject): number {
  if (LAST_KINDS.includes(kind)) return FIRST_KINDS.length + 1;
  const rank = FIRST_KINDS.indexOf(kind);
  return rank < 0 ? FIRST_KINDS.length : rank;
}

const ROUTER_ARGS = ["spec", "template", "spec", "containers", 0, "args"];

/**
 * Renders a file, and sets the namespace of its namespaced objects, as the kustomization.yaml of its folder does. Appends
 * `routerArgs` to the arguments of the router.
 */
function renderFile(file: URL, namespace: string, routerArgs: readonly string[]): string {
  return parseAllDocuments(readFileSync(file, "utf8")).map((document: Document) => {
    const isRouter = document.get("kind") === "Deployment" && document.getIn(["metadata", "name"]) === "sandbox-router";
    if (isRouter) { for (const arg of routerArgs) document.addIn(ROUTER_ARGS, arg); }
    if (!CLUSTER_SCOPED.includes(String(document.get("kind")))) document.setIn(["metadata", "namespace"], namespace);
    return document.toString({ lineWidth: 0, flowCollectionPadding: false }).replace(/^---\n/, "").trimEnd();
  }).join("\n---\n");
}
