/**
 * Creates objects on a cluster, records them in a file, and removes exactly these objects. Each is identified by its
 * UID, so an object that existed before, or that replaces a recorded one, is never deleted. @module
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { createPaths, nameOf } from "../../packages/cli/install/apply.ts";
import { type Answer, type Api, isOk, messageOf, pathOf } from "../../packages/kube/api.ts";
import { ROOT } from "./stage.ts";

/** An object that the demo has created. */
export interface CreatedObject {
  /** Its URL path on the API server. */
  path: string;
  uid: string;
  kind: string;
  /** As kubectl shows it: `deployment.apps/sandbox`. */
  name: string;
}

/** What the file contains. */
interface Saved {
  /** Namespace of the chapters. */
  namespace: string;
  /** The process that uses the cluster; absent: it has ended. */
  owner?: number | undefined;
  entries: CreatedObject[];
}

/** The record of one demo on one cluster. */
export interface Ledger {
  readonly namespace: string;
  readonly file: string;
  entries(): readonly CreatedObject[];
  add(entry: CreatedObject): void;
  drop(entry: CreatedObject): void;
  /** Ends the use of the cluster. If nothing is recorded any more, deletes the file. */
  close(): void;
}

/** How long to wait until something that was deleted is gone, in milliseconds. */
const GONE_MS = 180_000;
const POLL_MS = 500;
/** How long the API server may take to serve the kind of a new CRD, in milliseconds. */
const SERVED_MS = 30_000;

const KINDS = ["sandboxes", "sandboxclaims", "sandboxwarmpools", "sandboxtemplates"] as const;
const METACONTROLLERS_CRD = /compositecontrollers\.metacontroller\.k8s\.io$/;
const CONTROLLERS = ["compositecontrollers", "decoratorcontrollers"];

/** Returns the file of the record for a cluster: context names may have characters that file names cannot have. */
export function ledgerFile(context: string, server: string, folder = join(ROOT, ".hookbox")): string {
  const hash = createHash("sha256").update(`${context}\n${server}`).digest("hex").slice(0, 12);
  return join(folder, `demo-${hash}.json`);
}

/**
 * Opens the record of a cluster for this process.
 *
 * @param namespace for a new record; one that exists keeps its own
 * @throws {Error} if another demo uses the cluster
 */
export function openLedger(file: string, namespace: string): Ledger {
  const saved: Saved = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { namespace, entries: [] };
  if (saved.entries.length === 0) saved.namespace = namespace;
  if (saved.owner !== undefined && saved.owner !== process.pid && isAlive(saved.owner)) {
    throw new Error(
      `Cannot start: another demo uses this cluster (process ${saved.owner}). Wait until it has ended. ` +
        `If that process is not a demo, delete ${file}`,
    );
  }
  const write = () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, JSON.stringify(saved, null, 2));
    renameSync(`${file}.new`, file);
  };
  saved.owner = process.pid;
  write();
  return {
    namespace: saved.namespace,
    file,
    entries: () => saved.entries,
    add: (entry) => {
      saved.entries.push(entry);
      write();
    },
    drop: (entry) => {
      saved.entries = saved.entries.filter((one) => one !== entry);
      write();
    },
    close: () => {
      delete saved.owner;
      if (saved.entries.length > 0) write();
      else rmSync(file, { force: true });
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

/** Creates the error for something that has to be read before anything is created. */
export function unreadable(what: string, answer: Answer): Error {
  const remedy = answer.status === 403
    ? ". The demo has to see what is installed: use a context with the rights of an administrator."
    : "";
  return new Error(`Cannot read ${what}: ${messageOf(answer)}${remedy}`);
}

/** Returns the objects of a list that the API server has already. */
export async function existingOf(api: Api, objects: readonly KubeObject[]): Promise<KubeObject[]> {
  const pathOfObject = createPaths(api);
  const found = await Promise.all(objects.map(async (object) => {
    const path = await pathOfObject(object);
    if (path === undefined) return false;
    const answer = await api.send({ method: "GET", path });
    if (!isOk(answer) && answer.status !== 404) throw unreadable(nameOf(object), answer);
    return isOk(answer);
  }));
  return objects.filter((_, index) => found[index]);
}

/**
 * Creates objects in this order, and records each. An object that exists stays as it is, and is not recorded.
 *
 * @throws {Error} if the API server refuses one; those before it are recorded
 */
export async function createAll(
  api: Api,
  ledger: Ledger,
  objects: readonly KubeObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const object of objects) {
    signal.throwIfAborted();
    const path = await servedPath(api, object, signal);
    // Without a signal: the UID in the answer is what allows to delete the object.
    const answer = await api.send({ method: "POST", path: path.slice(0, path.lastIndexOf("/")), body: object });
    if (answer.status === 409) continue;
    if (!isOk(answer)) throw new Error(`Cannot create ${nameOf(object)}: ${messageOf(answer)}`);
    const { uid = "" } = (answer.body as { metadata: { uid?: string } }).metadata;
    ledger.add({ path, uid, kind: object.kind, name: nameOf(object) });
  }
}

/** Waits until the API server serves the kind, whose CRD may be new. @throws {Error} if it does not */
async function servedPath(api: Api, object: KubeObject, signal: AbortSignal): Promise<string> {
  const deadline = performance.now() + SERVED_MS;
  for (;;) {
    const path = await createPaths(api)(object);
    if (path !== undefined) return path;
    if (performance.now() > deadline) {
      throw new Error(`Cannot create ${nameOf(object)}: the API server does not serve ${object.apiVersion}`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

/**
 * Returns the order of the removal. The namespace of the chapters is first: hookbox has to run while its Sandboxes are
 * deleted. Everything else follows in reverse order of its creation.
 */
export function removalOrder(entries: readonly CreatedObject[], namespace: string): CreatedObject[] {
  const isFirst = ({ kind, path }: CreatedObject) => kind === "Namespace" && path.endsWith(`/${namespace}`);
  return [...entries.filter(isFirst), ...entries.filter((entry) => !isFirst(entry)).reverse()];
}

/**
 * Removes everything that is recorded, and waits until it is gone. If somebody else has begun to use what the demo has
 * installed, only the namespace of the chapters is removed.
 *
 * @param say shows progress
 * @returns why something stays; undefined: nothing stays
 */
export async function removeAll(
  api: Api,
  ledger: Ledger,
  say: (line: string) => void,
  goneMs = GONE_MS,
): Promise<string | undefined> {
  const order = removalOrder(ledger.entries(), ledger.namespace);
  const [first] = order;
  if (first === undefined) return undefined;
  const isApart = first.kind === "Namespace" && first.path.endsWith(`/${ledger.namespace}`);
  if (isApart) {
    await startDeletion(api, first);
    if (!await isGone(api, first, goneMs)) return stays(first);
    ledger.drop(first);
    say(`removed namespace ${ledger.namespace}, with everything in it`);
  }
  const rest = isApart ? order.slice(1) : order;
  const users = await otherUsers(api, ledger);
  if (users.length > 0) {
    return `others use what the demo has installed (${users.join(", ")}), so ${rest.length} objects stay`;
  }
  for (const entry of rest) await startDeletion(api, entry);
  for (const entry of rest) {
    if (!await isGone(api, entry, goneMs)) return stays(entry);
    ledger.drop(entry);
  }
  if (rest.length > 0) say(`removed ${rest.length} objects of hookbox and Metacontroller`);
  return undefined;
}

function stays({ name }: CreatedObject): string {
  return `${name} was deleted, but is not gone yet: "kubectl get ${name} -o yaml" shows what it waits for`;
}

async function startDeletion(api: Api, { path, uid, name }: CreatedObject): Promise<void> {
  const body = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    propagationPolicy: "Background",
    preconditions: { uid },
  };
  const answer = await api.send({ method: "DELETE", path, body });
  // 409: it has another UID, so it is not the demo's, or it is a namespace that is being deleted already.
  if (!isOk(answer) && answer.status !== 404 && answer.status !== 409) {
    throw new Error(`Cannot delete ${name}: ${messageOf(answer)}`);
  }
}

async function isGone(api: Api, { path, uid }: CreatedObject, goneMs: number): Promise<boolean> {
  const deadline = performance.now() + goneMs;
  for (;;) {
    const answer = await api.send({ method: "GET", path });
    if (answer.status === 404) return true;
    if (isOk(answer) && (answer.body as KubeObject).metadata.uid !== uid) return true;
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
}

/** Lists objects of other people that need what the demo has installed: a few of them, as kubectl names them. */
async function otherUsers(api: Api, ledger: Ledger): Promise<string[]> {
  const entries = ledger.entries();
  const uids = new Set(entries.map(({ uid }) => uid));
  const hasHookbox = entries.some(({ path }) => CONTROLLERS.some((resource) => path.includes(`/${resource}/`)));
  const hasMetacontroller = entries.some(({ path }) => METACONTROLLERS_CRD.test(path));
  const paths = [
    ...hasHookbox ? KINDS.map((resource) => pathOf({ resource })) : [],
    ...hasMetacontroller ? CONTROLLERS.map((resource) => `/apis/metacontroller.k8s.io/v1alpha1/${resource}`) : [],
  ];
  const lists = await Promise.all(paths.map(async (path) => {
    const answer = await api.send({ method: "GET", path, query: { limit: "50" } });
    if (answer.status === 404) return [];
    if (!isOk(answer)) throw new Error(`Cannot list ${path}: ${messageOf(answer)}`);
    const resource = path.slice(path.lastIndexOf("/") + 1);
    return (answer.body as { items: KubeObject[] }).items.filter(({ metadata }) => !uids.has(metadata.uid ?? ""))
      .map(({ metadata: { namespace, name } }) =>
        `${resource} ${namespace === undefined ? "" : `${namespace}/`}${name}`
      );
  }));
  return lists.flat().slice(0, 5);
}
