/** The keeper as a process, on a real API server: children that do not come into being, and ports that are lost. @module */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import {
  begin,
  cluster,
  container,
  down,
  end,
  listed,
  makeSandbox,
  namespace,
  ownedBy,
  proxy,
  publish,
  read,
  READY,
  send,
  startKeeper,
  untilWordOn,
  up,
  wordOn,
} from "./keeper-world.ts";
import { attempt, run, until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";

const NO_POD: [string, string, string] = ["False", "DependenciesNotReady", "Pod does not exist"];

beforeAll(up);
afterAll(down);
beforeEach(() => begin());
afterEach(end);

const makePod = (metadata: object = {}, spec: object = {}) =>
  send("POST", "pods", undefined, {
    metadata: { name: "s", ...metadata },
    spec: { containers: [container()], ...spec },
  });
const untilWord = (holds: (word: Loose) => boolean, name = "s") => untilWordOn("sandboxes", name, holds);

describe("children that do not come into being", () => {
  test("a healthy Sandbox costs no request", async () => {
    startKeeper();
    await listed();
    await makeSandbox(["False", "DependenciesNotReady", "Pod exists with phase: Pending"]);
    await publish(READY, { podIPs: ["10.1.0.7"], nodeName: "n", selector: "a=b" });
    // Another one, in trouble, shows when the keeper has had its time.
    await makeSandbox(NO_POD, { podTemplate: { spec: { containers: [container({ image: "" })] } } }, "t");
    await untilWord((word) => word !== undefined, "t");
    expect(proxy.requests.filter((line) => line.includes(namespace) && line.endsWith("/s"))).toEqual([]);
  });

  test("a foreign Pod is named, and the word goes when the Pod goes", async () => {
    await makePod();
    await makeSandbox(NO_POD);
    startKeeper();
    const word = await untilWord((found) => found !== undefined);
    expect(word).toEqual({
      generation: 1,
      problems: [{
        kind: "Pod",
        name: "s",
        state: "taken",
        message: 'cannot adopt unowned pod "s": missing required pool authorization label ' +
          '("agents.x-k8s.io/adoptable") or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")',
      }],
    });
    await send("DELETE", "pods", "s", { gracePeriodSeconds: 0 });
    expect(await untilWord((found) => found === undefined)).toBeUndefined();
  });

  test("adoptable children are labelled for Metacontroller; a Service with an address is not", async () => {
    const labels = { "agents.x-k8s.io/adoptable": "true" };
    const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
    await makePod({ labels });
    await send("POST", "persistentvolumeclaims", undefined, { metadata: { name: "home-s", labels }, spec: claim });
    await send("POST", "services", undefined, { metadata: { name: "s", labels }, spec: { ports: [{ port: 80 }] } });
    const volumeClaimTemplates = [{ metadata: { name: "home" }, spec: claim }];
    const { metadata: { uid } } = await makeSandbox(NO_POD, { service: true, volumeClaimTemplates });
    startKeeper();
    const word = await untilWord((found) => found !== undefined);
    const address = (await read("services", "s")).spec.clusterIP;
    const message = `cannot adopt service "s": ClusterIP is "${address}" (expected "None", field is immutable)`;
    expect(word.problems).toEqual([{ kind: "Service", name: "s", state: "taken", message }]);
    for (const [resource, name] of [["pods", "s"], ["persistentvolumeclaims", "home-s"]] as const) {
      expect((await read(resource, name)).metadata.labels).toEqual({ ...labels, "controller-uid": uid });
    }
    expect((await read("services", "s")).metadata.labels).toEqual(labels);
  });

  test("the API server's own words: an invalid spec, a quota; nothing is made by asking", async () => {
    const podTemplate = (image: string) => ({ spec: { containers: [container({ image })] } });
    await makeSandbox(NO_POD, { podTemplate: podTemplate("") });
    startKeeper();
    const invalid = await untilWord((found) => found !== undefined);
    expect(invalid.problems).toEqual([{
      kind: "Pod",
      name: "s",
      state: "invalid",
      message: 'Pod "s" is invalid: spec.containers[0].image: Required value',
    }]);
    await run(cluster, ["-n", namespace, "create", "quota", "none", "--hard=pods=0"]);
    const quota = () => run(cluster, ["-n", namespace, "get", "quota", "none", "-o", "jsonpath={.status.hard.pods}"]);
    await until(quota, (hard) => hard === "0");
    await send("PATCH", "sandboxes", "s", { spec: { podTemplate: podTemplate("busybox") } });
    await publish(NO_POD);
    const refused = await untilWord((found) => found?.generation === 2);
    expect(refused.problems).toEqual([{
      kind: "Pod",
      name: "s",
      state: "refused",
      message: 'pods "s" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0',
    }]);
    await run(cluster, ["-n", namespace, "delete", "quota", "none"]);
    await untilWord((found) => found === undefined);
    expect(await read("pods", "s")).toBeUndefined();
  });
});

test("ports that share a number: last-applied falls silent, for the Pod of this Sandbox only", async () => {
  const ports = [{ containerPort: 53, protocol: "TCP" }, { containerPort: 53, protocol: "UDP" }];
  const podTemplate = { spec: { containers: [container({ ports })] } };
  const sandbox = await makeSandbox(NO_POD, { podTemplate });
  const applied = { apiVersion: "v1", kind: "Pod", metadata: { name: "s" }, spec: podTemplate.spec };
  const annotations = { [LAST_APPLIED_ANNOTATION]: JSON.stringify(applied) };
  await makePod({ ...ownedBy(sandbox), annotations }, podTemplate.spec);
  startKeeper();
  await listed();
  await publish(READY, { selector: "a=b" });
  const text = ({ metadata }: Loose) => metadata.annotations[LAST_APPLIED_ANNOTATION];
  const silent = await until(() => read("pods", "s"), (pod) => !text(pod).includes("spec"));
  expect(text(silent)).toBe('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"s"}}');
  expect(silent.spec.containers[0].ports).toEqual(ports);
});

test("a Pod that a hook of another version has made: an update is reported only while the API server refuses it", async () => {
  const sandbox = await makeSandbox(READY);
  const labels = { "controller-uid": sandbox.metadata.uid, "example.com/team": "agents" };
  const applied = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "s", labels } });
  await makePod({ ...ownedBy(sandbox), labels, annotations: { [LAST_APPLIED_ANNOTATION]: applied } });
  const dryRuns = () => proxy.requests.filter((line) => line.startsWith("PATCH") && line.endsWith("/pods/s"));
  startKeeper();
  await listed();
  await refuseSync(sandbox, 'pods "s" is forbidden: exceeded quota: small, requested: pods=1');
  await until(() => Promise.resolve(dryRuns().length), (count) => count > 0);
  const allow = await freezePods();
  expect(wordOn(await read("sandboxes", "s"))).toBeUndefined();
  await refuseSync(sandbox, 'pods "s" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0');
  const { problems: [{ message, state }] } = await untilWord((found) => found !== undefined);
  expect([state, message]).toEqual(["stuck", expect.stringMatching(/^cannot update Pod "s": .*until Monday/)]);
  await allow();
  await untilWord((found) => found === undefined);
  expect((await read("pods", "s")).metadata.labels).toEqual(labels);
});

/** Reports a failed sync of a Sandbox, as Metacontroller does. */
async function refuseSync({ metadata: { name, uid } }: Loose, words: string): Promise<void> {
  await send("POST", "events", undefined, {
    metadata: { generateName: "refused-" },
    involvedObject: { kind: "Sandbox", namespace, name, uid },
    reason: "SyncError",
    message: `Sync error: can't reconcile children for Sandbox ${namespace}/${name}: ${words}`,
    lastTimestamp: new Date().toISOString(),
  });
}

/** Makes the API server refuse updates of Pods in the namespace. Returns a function that allows them again. */
async function freezePods(): Promise<() => Promise<void>> {
  const name = `freeze-${namespace}`;
  const apiVersion = "admissionregistration.k8s.io/v1";
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["UPDATE"] };
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  const items = [
    {
      ...{ apiVersion, kind: "ValidatingAdmissionPolicy", metadata: { name } },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "false", message: "change freeze until Monday" }],
      },
    },
    {
      ...{ apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata: { name } },
      spec: { policyName: name, validationActions: ["Deny"], matchResources: { namespaceSelector } },
    },
  ];
  await run(cluster, ["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const kinds = "validatingadmissionpolicy,validatingadmissionpolicybinding";
  const end = async () => void await run(cluster, ["delete", kinds, name, "--ignore-not-found"]);
  onTestFinished(end);
  const label = ["-n", namespace, "label", "pod", "s", "frozen=no", "--dry-run=server"];
  // Policies take a moment.
  await until(() => attempt(cluster, label), ({ code }) => code !== 0);
  return end;
}
