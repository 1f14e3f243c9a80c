/** Checks the rights of the caller, and what the cluster offers to sandboxes. @module */
import { type Answer, isOk, messageOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { isAllowed, reviewAccess } from "./accessreview.ts";
import { type Check, type Diagnosis, itemsOf, read } from "./check.ts";

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
  { group: EXTENSIONS, resource: "sandboxclaims", verbs: ["patch"], use: "other times of expiry" },
  { group: AGENTS, resource: "sandboxes", verbs: ["patch"], use: "suspend and resume" },
  { group: AGENTS, resource: "sandboxes", verbs: ["create", "delete"], use: "create --image" },
  { group: EXTENSIONS, resource: "sandboxwarmpools", verbs: ["get", "list"], use: "get pools, create --template" },
  {
    ...{ group: EXTENSIONS, resource: "sandboxwarmpools", verbs: ["create"] },
    use: "create --template where the template has no pool",
  },
  { group: EXTENSIONS, resource: "sandboxtemplates", verbs: ["get", "list"], use: "get templates, why" },
  { group: "", resource: "pods", verbs: ["get"], use: "why" },
  { group: "", resource: "pods/log", verbs: ["get"], use: "logs" },
];

/** Rights for the two ways into a sandbox. */
const FORWARD: Right = {
  ...{ group: "", resource: "pods/portforward", verbs: ["create", "get"] },
  use: "exec, cp and url without a router",
};
const CONNECT: Right = { group: AGENTS, resource: "sandboxes", verbs: ["connect"] };

interface Reply extends Right {
  verb: string;
  answer: Answer;
}

/** Checks whether the caller has the rights that the SDK and the commands need. */
export const checkRights: Check = async ({ cluster, router }) => {
  const what = "Your rights";
  const { api, namespace } = cluster;
  const ask = async (rights: Right[]): Promise<Reply[]> => {
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
    const unasked = [...needed, ...optional, ...forward, ...connect].find(({ answer }) => !isOk(answer));
    if (unasked) return [{ mark: "warn", what, text: `cannot be asked for: ${messageOf(unasked.answer)}` }];
    // Users with this right have a router, whose URL was just not given.
    const isWayKnown = connect.every(({ answer }) => isAllowed(answer));
    const lacks = [...needed, ...isWayKnown ? [] : forward].filter(({ answer }) => !isAllowed(answer));
    const wants = [...optional, ...isWayKnown ? forward : []].filter(({ answer }) => !isAllowed(answer));
    return diagnosesOf(namespace, lacks, wants);
  } catch (error) {
    return [{ mark: "warn", what, text: (error as Error).message }];
  }
};

function diagnosesOf(namespace: string, lacks: Reply[], wants: Reply[]): Diagnosis[] {
  const what = "Your rights";
  if (lacks.length + wants.length === 0) {
    return [{ mark: "ok", what, text: `all that SDK and command need in namespace ${namespace}` }];
  }
  const found: Diagnosis[] = [];
  if (lacks.length > 0) {
    const text = `in namespace ${namespace} you may not ${lacks.map(wordsFor).join(", ")}`;
    const remedy = "Ask for a Role with these rules, or name another namespace with -n.";
    found.push({ mark: "fail", what, text, remedy });
  }
  if (wants.length > 0) {
    const uses = [...Map.groupBy(wants, ({ use = "" }) => use)];
    const parts = uses.map(([use, some]) => `${use} (${some.map(wordsFor).join(", ")})`);
    const enough = lacks.length > 0 ? "" : `enough for claims in namespace ${namespace}, `;
    const remedy = "Where you want that, ask for a Role with these rules.";
    found.push({ mark: "warn", what, text: `${enough}not enough for ${parts.join("; ")}`, remedy });
  }
  return found;
}

function wordsFor({ verb, resource }: Reply): string {
  return `${verb} ${resource}`;
}

/** Checks whether there is a RuntimeClass that isolates code from the node's kernel. */
export const checkRuntimeClasses: Check = async (patient) => {
  const what = "RuntimeClasses";
  const answer = await read(patient, "/apis/node.k8s.io/v1/runtimeclasses");
  const classes = itemsOf<KubeObject>(answer);
  if (!classes) return [{ mark: "warn", what, text: `cannot be seen: ${messageOf(answer)}` }];
  if (classes.length > 0) return [{ mark: "ok", what, text: classes.map(({ metadata }) => metadata.name).join(", ") }];
  const remedy = "For code that you do not trust install gVisor or Kata, and name its RuntimeClass in templates.";
  return [{ mark: "warn", what, text: "none: sandboxes share the kernel of their node", remedy }];
};

/** Checks whether there is a default StorageClass. */
export const checkStorage: Check = async (patient) => {
  const what = "StorageClass";
  const answer = await read(patient, "/apis/storage.k8s.io/v1/storageclasses");
  const classes = itemsOf<KubeObject>(answer);
  if (!classes) return [{ mark: "warn", what, text: `cannot be seen: ${messageOf(answer)}` }];
  const byDefault = classes.find(({ metadata }) => {
    return metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true";
  });
  if (byDefault) return [{ mark: "ok", what, text: `${byDefault.metadata.name} is the default` }];
  const remedy = "Name one in volumeClaimTemplates, or mark one with storageclass.kubernetes.io/is-default-class=true.";
  const names = classes.map(({ metadata }) => metadata.name).join(", ") || "none at all";
  return [{ mark: "warn", what, text: `no default (there is ${names}): volumes that name none stay pending`, remedy }];
};
