/** Which cluster the SDK takes where nobody says. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { InvalidArgumentError } from "../../../packages/sdk/errors.ts";
import { findCluster } from "../../../packages/sdk/setup/cluster.ts";
import { makeTempFolder } from "../../tempfolder.ts";

let home: string;

beforeEach(() => {
  home = makeTempFolder();
  vi.stubEnv("HOME", home);
  vi.stubEnv("KUBECONFIG", "");
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "");
});
afterEach(() => void vi.unstubAllEnvs());

test("the option, else KUBECONFIG, else the home folder", async () => {
  const [named, listed] = [config("named"), config("listed")];
  config("own", join(home, ".kube", "config"));
  expect(await serverOf({})).toBe("https://own.test");
  vi.stubEnv("KUBECONFIG", listed);
  expect(await serverOf({})).toBe("https://listed.test");
  expect(await serverOf({ kubeconfig: named })).toBe("https://named.test");
});

test("of several files in KUBECONFIG the one that has the context", async () => {
  vi.stubEnv("KUBECONFIG", ["/nowhere", config("one"), config("two")].join(":"));
  expect(await serverOf({})).toBe("https://one.test");
  expect(await serverOf({ context: "two" })).toBe("https://two.test");
});

test("where KUBECONFIG names files that do not exist, no other cluster is taken", async () => {
  config("own", join(home, ".kube", "config"));
  vi.stubEnv("KUBECONFIG", "/a:/b");
  await expect(serverOf({})).rejects.toThrow("Cannot find a cluster: there is no /a nor /b, and this is not a Pod");
  await expect(serverOf({})).rejects.toBeInstanceOf(InvalidArgumentError);
});

test("without any, and what cannot be read, say which file", async () => {
  await expect(serverOf({})).rejects.toThrow(`there is no ${join(home, ".kube", "config")}, and this is not a Pod`);
  const broken = join(home, "broken");
  writeFileSync(broken, "{");
  await expect(serverOf({ kubeconfig: broken })).rejects.toThrow(`Cannot read kubeconfig ${broken}: `);
  vi.stubEnv("KUBECONFIG", `${config("one")}:${broken}`);
  await expect(serverOf({})).rejects.toBeInstanceOf(InvalidArgumentError);
});

async function serverOf(options: Parameters<typeof findCluster>[0]): Promise<string | undefined> {
  return (await findCluster(options, "test")).credentials?.server;
}

function config(name: string, file = join(makeTempFolder(), "config")): string {
  const kubeconfig = {
    "current-context": name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { server: `https://${name}.test` } }],
    users: [{ name, user: { token: "t" } }],
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(kubeconfig));
  return file;
}
