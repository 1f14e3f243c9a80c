/** Checks the rights of the caller, and what the cluster offers to sandboxes. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Answer, isOk, messageOf } from "../../kube/api.ts";
import { type Check, type CheckResult, isAllowed, itemsOf, read, reviewAccess } from "./check.ts";

interface Right {
  group: string;
  resource: string;
  verbs: string[];
  /** What the right is for, if it is optional. */
  use?: string;
}

const AGENTS = "agents.x-k8s.io";
const EXTENSIONS = "extensions.agents.x-k8s.io";

/** Rights of a user of claims; see docs/howto/teams.md. */
const NEEDED: Right[] = [
  { group: EXTENSIONS, resource: "sandboxclaims", verbs: ["create", "get", "list", "watch", "delete"] },
  { group: AGENTS, resource: "sandboxes", verbs: ["get", "list", "watch"] },
];

const OPTIONAL: Right[] = [
  { group: EXTENSIONS, resource: "sandboxclaims", verbs: ["patch"], use: "change the expiry" },
  { group: AGENTS, resource: "sandboxes", verbs: ["patch"], use: "suspend and resume" },
  { group: AGENTS, resource: "sandboxes", verbs: ["create", "delete"], use: "create --image" },
  { group: EXTENSIONS, resource: "sandboxwarmpools", verbs: ["get", "list"], use: "get pools, create --template" },
  {
    group: EXTENSIONS,
    resource: "sandboxwarmpools",
    verbs: ["create"],
    use: "create --template if the template has no pool",
  },
  { group: EXTENSIONS, resource: "sandboxtemplates", verbs: ["get", "list"], use: "get templates, why" },
  { group: "", resource: "pods", verbs: ["get"], use: "why" },
  { group: "", resource: "pods/log", verbs: ["get"], use: "logs" },
];

/** Rights for the two ways into a sandbox. */
const FORWARD: Right = {
  group: "",
  resource: "pods/portforward",
  verbs: ["create", "get"],
  use: "exec, cp and url without a router",
};
const CONNECT: Right = { group: AGENTS, resource: "sandboxes", verbs: ["connect"] };

interface ReviewedRight extends Right {
  verb: string;
  answer: Answer;
}

/** Checks whether the caller has the rights that the SDK and the commands need. */
export const checkRights: Check = async ({ cluster, router }) => {
  const what = "Your rights";
  const { api, namespace } = cluster;
  const ask = async (rights: Right[]): Promise<ReviewedRight[]> => {
    const questions = rights.flatMap((right) => right.verbs.map((verb) => ({ ...right, verb, namespace })));
    return await Promise.all(questions.map(async (one) => ({ ...one, answer: await reviewAccess(api, one) })));
  };
  try {
    const [needed, optional, forward, connect] = await Promise.all([
      ask(NEEDED),
      ask(OPTIONAL),
      ask(router === undefined ? [FORWARD] : []),
      ask([CONNECT]),
    ]);
    const unchecked = [...needed, ...optional, ...forward, ...connect].find(({ answer }) => !isOk(answer));
    if (unchecked) return [{ mark: "warn", what, text: `cannot be checked: ${messageOf(unchecked.answer)}` }];
    // Users with this right have a router, whose URL was just not given.
    const isWayKnown = connect.every(({ answer }) => isAllowed(answer));
    const missing = [...needed, ...isWayKnown ? [] : forward].filter(({ answer }) => !isAllowed(answer));
    const unusable = [...optional, ...isWayKnown ? forward : []].filter(({ answer }) => !isAllowed(answer));
    return diagnosesOf(namespace, missing, unusable);
  } catch (error) {
    return [{ mark: "warn", what, text: (error as Error).message }];
  }
};

function diagnosesOf(namespace: string, missing: ReviewedRight[], unusable: ReviewedRight[]): CheckResult[] {
  const what = "Your rights";
  if (missing.length + unusable.length === 0) {
    return [{ mark: "ok", what, text: `complete for SDK and command line in namespace ${namespace}` }];
  }
  const found: CheckResult[] = [];
  if (missing.length > 0) {
    const text = `in namespace ${namespace} you may not ${missing.map(wordsFor).join(", ")}`;
    const remedy = "Ask for a Role with these rules, or use another namespace with -n.";
    found.push({ mark: "fail", what, text, remedy });
  }
  if (unusable.length > 0) {
    const uses = [...Map.groupBy(unusable, ({ use = "" }) => use)];
    const parts = uses.map(([use, some]) => `${use} (${some.map(wordsFor).join(", ")})`);
    const enough = missing.length > 0 ? "" : `enough for claims in namespace ${namespace}, `;
    const remedy = "If you need that, ask for a Role with these rules.";
    found.push({ mark: "warn", what, text: `${enough}not enough for ${parts.join("; ")}`, remedy });
  }
  return found;
}

function wordsFor({ verb, resource }: ReviewedRight): string {
  return `${verb} ${resource}`;
}

/** Checks whether there is a RuntimeClass that isolates code from the node's kernel. */
export const checkRuntimeClasses: Check = async (input) => {
  const what = "RuntimeClasses";
  const answer = await read(input, "/apis/node.k8s.io/v1/runtimeclasses");
  const classes = itemsOf<KubeObject>(answer);
  if (!classes) return [{ mark: "warn", what, text: `cannot be read: ${messageOf(answer)}` }];
  if (classes.length > 0) return [{ mark: "ok", what, text: classes.map(({ metadata }) => metadata.name).join(", ") }];
  const remedy = "For untrusted code, install gVisor or Kata, and set its RuntimeClass in templates.";
  return [{ mark: "warn", what, text: "none: sandboxes share the kernel of their node", remedy }];
};

/** Checks whether there is a default StorageClass. */
export const checkStorage: Check = async (input) => {
  const what = "StorageClass";
  const answer = await read(input, "/apis/storage.k8s.io/v1/storageclasses");
  const classes = itemsOf<KubeObject>(answer);
  if (!classes) return [{ mark: "warn", what, text: `cannot be read: ${messageOf(answer)}` }];
  const standard = classes.find(({ metadata }) => {
    return metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true";
  });
  if (standard) return [{ mark: "ok", what, text: `${standard.metadata.name} is the default` }];
  const remedy =
    "Set one in volumeClaimTemplates, or annotate one with storageclass.kubernetes.io/is-default-class=true.";
  const names = classes.map(({ metadata }) => metadata.name).join(", ") || "none";
  return [{
    mark: "warn",
    what,
    text: `no default (existing: ${names}): volumes without a class stay pending`,
    remedy,
  }];
};
