/** Checks the API server and the installed CRDs. @module */
import { parse } from "yaml";
import type { KubeObject } from "../../api/objects/objects.ts";
import { isOk, messageOf } from "../../kube/api.ts";
import { readCRDs } from "../../manifests/render.ts";
import { KEEP_V1ALPHA1, type VersionedCRD, withdrawnVersions } from "../install/apply.ts";
import { type Check, type CheckInput, type CheckResult, installAdvice, read } from "./check.ts";

/** First version with ValidatingAdmissionPolicies of v1, which limit the rights of keeper and router. */
const OLDEST_MINOR = 30;

/** Checks whether the API server answers and is new enough. */
export const checkServer: Check = async (input) => {
  const what = "API server";
  const { server, source } = input.cluster;
  const answer = await read(input, "/version");
  if (!isOk(answer)) {
    const remedy = "Check --kubeconfig, --context and whether the cluster runs.";
    return [{ mark: "fail", what, text: messageOf(answer), remedy }];
  }
  const { gitVersion, minor } = answer.body as { gitVersion: string; minor: string };
  const text = `${gitVersion} at ${server} (${source})`;
  if (parseInt(minor, 10) >= OLDEST_MINOR) return [{ mark: "ok", what, text }];
  return [{ mark: "fail", what, text, remedy: `Use Kubernetes 1.${OLDEST_MINOR} or later.` }];
};

/** Checks whether the CRDs exist and have the content of this version. */
export const checkCRDs: Check = async (input) => {
  const wanted = readCRDs().map((text) => parse(text) as CRD);
  return await Promise.all(wanted.map(async (crd): Promise<CheckResult> => {
    const what = `CRD ${crd.spec.names.plural}`;
    const answer = await read(input, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`);
    if (answer.status === 403) return await servedOnly(input, crd, what);
    if (!isOk(answer)) return { mark: "fail", what, text: messageOf(answer), remedy: await installRemedy(input) };
    const found = answer.body as CRD & VersionedCRD;
    const isCurrent = crd.spec.versions.every((version) =>
      found.spec.versions.some((other) => other.name === version.name && covers(other, version))
    );
    const versions = found.spec.versions.filter(({ served }) => served).map(({ name }) => name).join(", ");
    if (isCurrent) return { mark: "ok", what, text: versions };
    const how = withdrawnVersions(found, crd).length > 0
      ? `${KEEP_V1ALPHA1}, of this version`
      : await installAdvice(input);
    const text = `${versions}, but different from those of this version of hookbox`;
    return { mark: "warn", what, text, remedy: `Update it: ${how}` };
  }));
};

interface CRD extends KubeObject {
  spec: { group: string; names: { plural: string }; versions: { name: string; served: boolean }[] };
}

async function installRemedy(input: CheckInput): Promise<string> {
  return `Install them: ${await installAdvice(input)}`;
}

/** Checks only what is served, for users who may not read CRDs. */
async function servedOnly(input: CheckInput, crd: CRD, what: string): Promise<CheckResult> {
  const { group, names, versions: [newest] } = crd.spec;
  const answer = await read(input, `/apis/${group}/${newest?.name}`);
  const served = isOk(answer) ? (answer.body as { resources: { name: string }[] }).resources : [];
  if (!served.some(({ name }) => name === names.plural)) {
    return { mark: "fail", what, text: "not served", remedy: await installRemedy(input) };
  }
  return { mark: "ok", what, text: `${newest?.name} is served (you may not read the CRD itself)` };
}

/** Returns whether `found` contains all of `wanted`; the API server adds default values. */
export function covers(found: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(found) && found.length === wanted.length && wanted.every((one, i) => covers(found[i], one));
  }
  if (typeof wanted !== "object" || wanted === null) return found === wanted;
  if (typeof found !== "object" || found === null) return false;
  return Object.entries(wanted).every(([key, value]) => covers((found as Record<string, unknown>)[key], value));
}
