/** The rights that deploy/ grants to the account of a process, and an API in memory that refuses everything else. @module */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Answer, Api, ApiRequest } from "../packages/kube/api.ts";

/** A process with an account of its own. */
export type Process = "binder" | "e2b" | "keeper" | "router";

export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

/** What RBAC asks about a request. */
export interface Right {
  verb: string;
  group: string;
  /** Such as `sandboxclaims/status`. */
  resource: string;
  /** Absent for requests that name no object. */
  name?: string;
}

const DEPLOY = fileURLToPath(new URL("../deploy/", import.meta.url));
const VERBS: Record<string, string> = { POST: "create", PUT: "update", PATCH: "patch", WATCH: "watch" };
/** Roles that no process of ours has: `hookbox-sandbox-user` is for users. */
const FOR_USERS = ["hookbox-sandbox-user"];

/** Rules of all roles that deploy/ gives an account of this process. */
export function rulesOf(process: Process): Rule[] {
  const files = globSync(`${DEPLOY}${process}/rbac.yaml`);
  const roles = files.flatMap((file) => parseAllDocuments(readFileSync(file, "utf8"))).map((one) => one.toJS());
  return roles.filter(({ metadata }) => !FOR_USERS.includes(metadata.name)).flatMap(({ rules }) => rules as Rule[]);
}

/** Reads a request as an API server does before it asks RBAC; undefined: it is about no object, such as discovery. */
export function rightOf(
  { method, path, query }: Pick<ApiRequest, "path" | "query"> & { method: string },
): Right | undefined {
  const found =
    /^\/(?:api|apis\/(?<group>[^/]+))\/v[^/]+(?:\/namespaces\/[^/]+(?=\/))?\/(?<resource>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<sub>[^/]+))?)?$/
      .exec(path)?.groups;
  if (!found) return undefined;
  const { group = "", resource = "", sub } = found;
  // A list of one object by its name is a right on this name.
  const name = found["name"] ?? /^metadata\.name=(.*)$/.exec(query?.["fieldSelector"] ?? "")?.[1];
  const read = found["name"] === undefined ? "list" : "get";
  const removed = found["name"] === undefined ? "deletecollection" : "delete";
  const verb = method === "GET" ? read : method === "DELETE" ? removed : VERBS[method] ?? method;
  return { verb, group, resource: sub ? `${resource}/${sub}` : resource, ...(name === undefined ? {} : { name }) };
}

/** Rules of a role for people. */
export function rulesOfUserRole(name: string): Rule[] {
  const roles = parseAllDocuments(readFileSync(`${DEPLOY}users/roles.yaml`, "utf8")).map((one) => one.toJS());
  const role = roles.find(({ metadata }) => metadata.name === name);
  if (!role) throw new RangeError(`Cannot find the role ${name} in deploy/users`);
  return role.rules;
}

/** Tells whether rules grant a right. */
export function isGranted(rules: readonly Rule[], { verb, group, resource, name }: Right): boolean {
  return rules.some(({ apiGroups, resources, verbs, resourceNames }) =>
    apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb) &&
    (resourceNames === undefined || (name !== undefined && resourceNames.includes(name)))
  );
}

/** Names a right as `kubectl auth can-i` takes it. */
export function wordsFor({ verb, group, resource }: Right): string {
  return `${verb} ${group === "" ? resource : resource.replace(/(?=\/|$)/, `.${group}`)}`;
}

/** Answers as RBAC does. */
export function forbidden({ verb, group, resource, name = "" }: Right, process: Process): Answer {
  const message = `${resource}${group === "" ? "" : `.${group}`} "${name}" is forbidden: User ` +
    `"system:serviceaccount:hookbox-system:hookbox-${process}" cannot ${verb} resource "${resource}" in API group ` +
    `"${group}" in the namespace "team-a"`;
  return { status: 403, body: { kind: "Status", reason: "Forbidden", code: 403, message } };
}

/**
 * Holds an API to what the deployed roles of a process grant; a keeper may run the binder in its process, and then has the
 * roles of both. A request that they do not grant is answered 403, and fails the test that makes it, whatever the code
 * under test does with the answer.
 */
export function underRole<A extends Api>(api: A, process: Process, ...more: Process[]): A {
  const rules = [process, ...more].flatMap(rulesOf);
  const lacking = new Set<string>();
  onTestFinished(() => {
    if (lacking.size === 0) return;
    throw new Error(`deploy/${process}/rbac.yaml lacks what its process asks for: ${[...lacking].join(", ")}`);
  });
  const refusalOf = (request: Pick<ApiRequest, "path" | "query"> & { method: string }): Answer | undefined => {
    const right = rightOf(request);
    if (!right || isGranted(rules, right)) return undefined;
    lacking.add(wordsFor(right));
    return forbidden(right, process);
  };
  return {
    ...api,
    send: async (request) => refusalOf(request) ?? await api.send(request),
    async watch(path, query, signal) {
      const refusal = refusalOf({ method: "WATCH", path, query });
      return refusal ? { ...refusal, events: (async function* () {})() } : await api.watch(path, query, signal);
    },
  };
}
