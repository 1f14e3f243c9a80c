/** Which kubeconfig a command line means. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectCluster, findKubeconfig } from "../../packages/cli/cluster.ts";
import { Failure } from "../../packages/cli/failure.ts";
import { readContexts } from "../../packages/kube/kubeconfig.ts";
import { makeTempFolder } from "../tempfolder.ts";

function config(current: string, ...names: string[]): string {
  const file = join(makeTempFolder(), "config");
  const contexts = names.map((name) => ({ name, context: { cluster: "c", user: "u", namespace: `of-${name}` } }));
  const clusters = [{ name: "c", cluster: { server: `https://${current || "none"}.test` } }];
  writeFileSync(
    file,
    JSON.stringify({ "current-context": current, contexts, clusters, users: [{ name: "u", user: { token: "t" } }] }),
  );
  return file;
}

test("--kubeconfig comes before KUBECONFIG, and that before the home folder", async () => {
  const [a, b] = [config("one", "one"), config("two", "two")];
  expect(await findKubeconfig({ kubeconfig: a, context: "x" }, { KUBECONFIG: b })).toEqual({ path: a, context: "x" });
  expect(await findKubeconfig({}, { KUBECONFIG: b, HOME: "/nowhere" })).toEqual({ path: b, context: undefined });
});

test("of several files the first that has the context counts; which is current says the first that says so", async () => {
  const files = ["/nowhere", config("", "none"), config("two", "two"), config("three", "three", "one")];
  const env = { KUBECONFIG: files.join(":") };
  expect(await findKubeconfig({}, env)).toEqual({ path: files[2], context: "two" });
  expect(await findKubeconfig({ context: "one" }, env)).toEqual({ path: files[3], context: "one" });
  expect(await findKubeconfig({ context: "missing" }, env)).toEqual({ path: files[1], context: "missing" });
});

test("in a Pod its own account is meant; elsewhere there has to be a file", async () => {
  const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", HOME: "/nowhere" };
  expect(await findKubeconfig({}, pod)).toBeUndefined();
  await expect(findKubeconfig({ context: "x" }, pod)).rejects.toThrow(Failure);
  await expect(findKubeconfig({}, { HOME: "/nowhere" })).rejects.toThrow("there is no /nowhere/.kube/config");
  await expect(findKubeconfig({}, { KUBECONFIG: "/a:/b" })).rejects.toThrow("there is no /a nor /b");
});

test("the namespace is that of -n, HOOKBOX_NAMESPACE, the context, in this order", async () => {
  const kubeconfig = config("one", "one");
  expect(await connectCluster({ kubeconfig, namespace: "n" }, { HOOKBOX_NAMESPACE: "e" })).toMatchObject({
    namespace: "n",
    server: "https://one.test",
    source: kubeconfig,
  });
  expect(await connectCluster({ kubeconfig }, { HOOKBOX_NAMESPACE: "e" })).toMatchObject({ namespace: "e" });
  expect(await connectCluster({ kubeconfig }, {})).toMatchObject({ namespace: "of-one" });
});

test("what cannot be read says which file", async () => {
  const file = join(makeTempFolder(), "broken");
  writeFileSync(file, "{");
  await expect(readContexts(file)).rejects.toThrow(`Cannot read kubeconfig ${file}: `);
  await expect(connectCluster({ kubeconfig: "/nowhere/x" }, {})).rejects.toThrow("Cannot read kubeconfig /nowhere/x");
});
