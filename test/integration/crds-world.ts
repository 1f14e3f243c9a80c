/** Requests about the kinds of our CRDs, in a namespace of their own, as the API server wants them. @module */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { request, type RequestOptions } from "node:https";
import { text } from "node:stream/consumers";
import { KubeConfig } from "@kubernetes/client-node";
import { expect, vi } from "vitest";
import { parse } from "yaml";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { CRD_FOLDER, crdFile, kinds } from "../../dev/crdgen/crd.ts";
import { claim, pool, sandbox, template } from "../api/samples.ts";
import { shared } from "./shared.ts";
import { PATIENCE_MS } from "../patience.ts";

// deno-lint-ignore no-explicit-any -- answers of the API server are compared, not computed with
type Json = any;

const JSON_TYPE = "application/json";
const MERGE_PATCH = "application/merge-patch+json";
const APPLY_PATCH = "application/apply-patch+yaml";
/** Asks for what kubectl prints, in place of the objects. */
export const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Without hooks and keeper, which would delete what has expired. */
export const cluster = await shared("bare");

const config = new KubeConfig();
config.loadFromFile(cluster.kubeconfig);
export const namespace = `crds-${randomBytes(4).toString("hex")}`;

/** Sends one request as the API server wants it: the typed client would rename `default` and `enum` in a CRD. */
export async function send(method: string, path: string, body?: unknown, type = JSON_TYPE, accept = JSON_TYPE) {
  const options: RequestOptions = { method, headers: { accept, "content-type": type } };
  await config.applyToHTTPSOptions(options);
  return await new Promise<{ code: number; body: Json }>((resolve, reject) => {
    const sent = request(new URL(path, config.getCurrentCluster()?.server), options, (answer) => {
      text(answer).then((body) => resolve({ code: answer.statusCode ?? 0, body: JSON.parse(body) })).catch(reject);
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Path of the collection that an object belongs to, in the namespace of this file. */
export function collection({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  const plural = kinds.find(({ resource }) => resource.kind === kind)?.resource.plural;
  return `/apis/${apiVersion}/namespaces/${namespace}/${plural}`;
}

function named(object: KubeObject, name: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, name } };
}

/** Would create an object, strictly. */
export const dryRun = (object: KubeObject) =>
  send("POST", `${collection(object)}?dryRun=All&fieldValidation=Strict`, named(object, "dry"));
export const create = (object: KubeObject, name: string) => send("POST", collection(object), named(object, name));
export const patch = (object: KubeObject, path: string, change: unknown) =>
  send("PATCH", `${collection(object)}/${path}`, change, MERGE_PATCH);

/** Would write the status of an object that exists. */
export function writeStatus(object: KubeObject, name: string, accept = JSON_TYPE) {
  const path = `${collection(object)}/${name}/status?dryRun=All&fieldValidation=Strict`;
  return send("PATCH", path, { status: object["status"] }, MERGE_PATCH, accept);
}

export function apply(object: KubeObject, name: string, manager: string) {
  const path = `${collection(object)}/${name}?fieldManager=${manager}&fieldValidation=Strict`;
  return send("PATCH", path, named(object, name), APPLY_PATCH);
}

/** Fields that the API server's refusal names. */
export function causes(body: Json): string {
  return [...(body.details?.causes ?? []).map(({ field }: { field: string }) => field), body.message].join("\n");
}

/** For beforeAll: writes the CRDs, waits for them, and makes the namespace. */
export async function begin(): Promise<void> {
  for (const { resource } of kinds) {
    const crd = parse(readFileSync(new URL(crdFile(resource), CRD_FOLDER), "utf8"));
    const path = `${CRD_PATH}/${crd.metadata.name}?fieldManager=crds-test&force=true&fieldValidation=Strict`;
    const { code, body } = await send("PATCH", path, crd, APPLY_PATCH);
    expect(code, body.message).toBeLessThan(300);
  }
  await vi.waitFor(async () => {
    expect(await established()).toHaveLength(kinds.length);
    for (const object of [sandbox({}), claim({})]) expect((await send("GET", collection(object))).code).toBe(200);
  }, { timeout: PATIENCE_MS, interval: 100 });
  await send("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
}

/** For afterAll: deletes what was made. */
export async function end(): Promise<void> {
  for (const object of [sandbox({}), template({}), pool({}), claim({})]) await send("DELETE", collection(object));
  await send("DELETE", `/api/v1/namespaces/${namespace}`);
}

/** Names of our CRDs that are Established and whose names were accepted. */
export async function established(): Promise<string[]> {
  const { body } = await send("GET", CRD_PATH);
  const holds = (crd: Json, type: string) =>
    crd.status?.conditions?.some((c: Json) => c.type === type && c.status === "True");
  const ours = new Set(kinds.map(({ resource }) => `${resource.plural}.${resource.group}`));
  return body.items
    .filter((crd: Json) => ours.has(crd.metadata.name) && holds(crd, "Established") && holds(crd, "NamesAccepted"))
    .map((crd: Json) => crd.metadata.name);
}
