/** What several processes need alike: the chart writes it once, into the ConfigMap that they read. @module */
import { beforeAll, expect, test } from "vitest";
import { template, templateOn } from "./chart.ts";
import { run } from "./kubectl.ts";
import { type Loose, makeNamespace } from "./namespace.ts";
import { type BareCluster, shared } from "./shared.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

const NAME = "agent-sandbox-config";
const LABELS = ["--set", "claims.allowedLabelDomains={a.example,b.example}"];
const LOOSE = ["--set", "templateNetworkPolicy.required=false"];
const configOf = (objects: Loose[]) => objects.find(({ metadata }) => metadata.name === NAME);
/** What starts the processes anew when it changes, and what they take from the ConfigMap, by the name of the Deployment. */
const started = (objects: Loose[]): Record<string, { hash: string | undefined; args: string[] }> =>
  Object.fromEntries(
    objects.filter(({ kind }) => kind === "Deployment").map((
      { metadata, spec: { template: { metadata: { annotations }, spec } } },
    ) => [
      metadata.name,
      { hash: annotations?.["hookbox.agents.x-k8s.io/config"], args: spec.containers[0].args },
    ]),
  );

test("values become keys of the ConfigMap, and no flags", async () => {
  const objects = await template(...LABELS, ...LOOSE, "--set-json", "claims.allowedAnnotationDomains=[]");
  expect(configOf(objects)).toMatchObject({
    kind: "ConfigMap",
    metadata: { namespace: "hookbox-system" },
    data: {
      "allowed-label-domains": "a.example,b.example",
      // None: that is not the same as no value, which is any.
      "allowed-annotation-domains": "",
      "template-network-policy": "optional",
    },
  });
  expect(JSON.stringify(started(objects))).not.toMatch(/--allowed-|--template-network-policy/);
});

test("without values there is no ConfigMap, so that one that somebody else has made counts", async () => {
  const objects = await template();
  expect(configOf(objects)).toBeUndefined();
  expect(Object.values(started(objects)).filter(({ hash }) => hash !== undefined)).toEqual([]);
});

test("another value starts those processes anew that read it, and no others", async () => {
  const [labels, loose, both] = await Promise.all(
    [LABELS, LOOSE, [...LABELS, ...LOOSE]].map(async (values) => started(await template(...values))),
  );
  const changed = (before: typeof labels, after: typeof labels) =>
    Object.keys(after!).filter((name) => before![name]!.hash !== after![name]!.hash).sort();
  expect(changed(loose, both)).toEqual(["hookbox-binder", "hookbox-keeper", "sandboxclaim"]);
  expect(changed(labels, both)).toEqual(["hookbox-binder", "hookbox-keeper", "sandboxwarmpool"]);
  const annotated = await template(...LABELS, "--set", "keeper.podAnnotations.team=a");
  const keeper = annotated.find(({ metadata, kind }) => kind === "Deployment" && metadata.name === "hookbox-keeper");
  expect(keeper!["spec"].template.metadata.annotations).toMatchObject({ team: "a" });
  expect(started(annotated)["hookbox-keeper"]!.hash).toBe(labels!["hookbox-keeper"]!.hash);
});

test("a release that has the ConfigMap keeps it without values; one of somebody else is left alone", async () => {
  const { name: namespace } = await makeNamespace(cluster);
  const made = (...values: string[]) => templateOn(cluster, "--namespace", namespace, ...values);
  const live = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: NAME, namespace },
    data: { "allowed-label-domains": "c.example" },
  };
  await run(cluster, ["create", "-f", "-"], JSON.stringify(live));
  expect(configOf(await made())).toBeUndefined();
  await expect(made(...LABELS)).rejects.toThrow(
    `ConfigMap ${NAME} exists in namespace ${namespace} and is not part of this release: set allowed-label-domains in it`,
  );
  await run(cluster, ["annotate", "configmap", NAME, "-n", namespace, "meta.helm.sh/release-name=hookbox"]);
  expect(configOf(await made())?.["data"]).toEqual({});
  expect(configOf(await made(...LABELS))).toMatchObject({ data: { "allowed-label-domains": "a.example,b.example" } });
});
