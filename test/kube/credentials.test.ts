import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { kubeconfigCredentials, podCredentials } from "../../packages/kube/credentials.ts";

const folder = mkdtempSync(join(tmpdir(), "hookbox-credentials-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  vi.useRealTimers();
});

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Writes a kubeconfig with the contexts `one` (current) and `two`; the user of `one` and its cluster as given. */
function kubeconfig(user: object, cluster: object = {}): string {
  const path = join(folder, "kubeconfig");
  writeFileSync(
    path,
    stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: "https://one.example:6443/", ...cluster } }, {
        name: "d",
        cluster: { server: "https://two.example" },
      }],
      users: [{ name: "u", user }, { name: "v", user: { token: "two" } }],
      contexts: [
        { name: "one", context: { cluster: "c", user: "u", namespace: "team-a" } },
        { name: "two", context: { cluster: "d", user: "v" } },
        { name: "torn", context: { cluster: "gone", user: "v" } },
      ],
      "current-context": "one",
    }),
  );
  return path;
}

describe("kubeconfigCredentials()", () => {
  test("reads the current context: server, namespace, token, authority", async () => {
    const credentials = await kubeconfigCredentials(
      kubeconfig({ token: "secret" }, { "certificate-authority-data": base64("CA") }),
    );
    expect(credentials).toMatchObject({ server: "https://one.example:6443", namespace: "team-a" });
    expect(await credentials.current()).toEqual({
      headers: { Authorization: "Bearer secret" },
      tls: { ca: Buffer.from("CA"), rejectUnauthorized: true },
    });
  });

  test("reads the context that is named", async () => {
    const credentials = await kubeconfigCredentials(kubeconfig({}), "two");
    expect(credentials).toMatchObject({ server: "https://two.example", namespace: undefined });
    expect((await credentials.current()).headers).toEqual({ Authorization: "Bearer two" });
  });

  test("reads certificates from data, and from files next to the kubeconfig", async () => {
    for (const name of ["ca.crt", "me.key"]) writeFileSync(join(folder, name), name);
    const user = { "client-certificate-data": base64("CERT"), "client-key": "me.key" };
    const cluster = { "certificate-authority": "ca.crt", "tls-server-name": "kube", "insecure-skip-tls-verify": true };
    const { tls, headers } = await (await kubeconfigCredentials(kubeconfig(user, cluster))).current();
    expect(headers).toEqual({});
    expect(tls).toEqual({
      ca: Buffer.from("ca.crt"),
      cert: Buffer.from("CERT"),
      key: Buffer.from("me.key"),
      servername: "kube",
      rejectUnauthorized: false,
    });
  });

  test("reads a token file again, once a minute", async () => {
    vi.useFakeTimers();
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, "old\n");
    const credentials = await kubeconfigCredentials(kubeconfig({ tokenFile }));
    const first = await credentials.current();
    writeFileSync(tokenFile, "new\n");
    vi.advanceTimersByTime(59_000);
    expect(await credentials.current()).toBe(first);
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(2000);
    expect((await credentials.current()).headers, "the clock was set back").toEqual({ Authorization: "Bearer new" });
  });

  test("takes a context without a user, and lists that kubectl leaves as null", async () => {
    const path = join(folder, "kubeconfig");
    const contexts = [{ name: "x", context: { cluster: "c" } }, { name: "y", context: { cluster: "c", user: "" } }];
    const clusters = [{ name: "c", cluster: { server: "http://127.0.0.1:8001" } }];
    const config = { clusters, contexts, users: null, "current-context": "x" };
    writeFileSync(path, stringify(config));
    for (const context of [undefined, "y"]) {
      const credentials = await kubeconfigCredentials(path, context);
      expect([credentials.server, (await credentials.current()).headers]).toEqual(["http://127.0.0.1:8001", {}]);
    }
    writeFileSync(path, stringify({ clusters: null, contexts: null, users: null, "current-context": null }));
    await expect(kubeconfigCredentials(path)).rejects.toThrow(`Cannot find in ${path} the context "": there is none`);
  });

  test("leaves to client-node what is not plain", async () => {
    const args = [
      "-e",
      'process.stdout.write(JSON.stringify({apiVersion:"client.authentication.k8s.io/v1",' +
      'kind:"ExecCredential",status:{token:"from-a-plugin"}}))',
    ];
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args };
    const credentials = await kubeconfigCredentials(
      kubeconfig({ exec }, { "certificate-authority-data": base64("CA") }),
    );
    expect(credentials).toMatchObject({ server: "https://one.example:6443", namespace: "team-a" });
    const pass = await credentials.current();
    expect(pass.headers).toEqual({ Authorization: "Bearer from-a-plugin" });
    expect(pass.tls.ca).toEqual(Buffer.from("CA"));
  });

  test("says what is wrong", async () => {
    const path = kubeconfig({});
    await expect(kubeconfigCredentials(path, "three")).rejects.toThrow(
      `Cannot find in ${path} the context "three": there is "one", "two", "torn"`,
    );
    await expect(kubeconfigCredentials(path, "torn")).rejects.toThrow('the cluster "gone": there is "c", "d"');
    await expect(kubeconfigCredentials(join(folder, "none"))).rejects.toThrow(/^Cannot read kubeconfig .*: ENOENT/);
  });

  test.for([
    { content: "7", why: "it is not a map" },
    { content: "current-context: 7", why: "current-context is not a text" },
    { content: "contexts: 7", why: "contexts is not a list" },
    { content: "contexts: [7]", why: "contexts[0] is not a map" },
    { content: "contexts: [{ name: a, context: {} }, { name: 7 }]", why: "contexts[1].name is not a text" },
    { content: "contexts: [{ name: a, context: 7 }]", why: "contexts[0].context is not a map" },
    { content: "contexts: [{ name: a, context: { user: 7 } }]", why: 'the user of context "a" is not a text' },
    {
      content: "current-context: a\ncontexts: [{ name: a, context: { cluster: c } }]\nclusters: 7",
      why: "clusters is not a list",
    },
    { content: "users:\n- user: { token: secret\n", why: /: .* \(line 3\)$/ },
  ])("says what is wrong in a file: $content", async ({ content, why }) => {
    const path = join(folder, "kubeconfig");
    writeFileSync(path, content);
    const error: Error = await kubeconfigCredentials(path).then(() => new Error("accepted"), (refusal) => refusal);
    expect(error.message).toMatch(/^Cannot read kubeconfig /);
    expect(error.message).toMatch(why);
    expect(error.message, "it can be shown: the file's secrets are not in it").not.toContain("secret");
  });

  test("an empty file has no context", async () => {
    const path = join(folder, "kubeconfig");
    writeFileSync(path, "# nothing yet\n");
    await expect(kubeconfigCredentials(path)).rejects.toThrow(`Cannot find in ${path} the context "": there is none`);
  });
});

describe("podCredentials()", () => {
  test("reads what Kubernetes mounts", async () => {
    const files = { token: "t\n", "ca.crt": "CA", namespace: "system" };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    const environment = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
    const credentials = podCredentials(folder, environment);
    expect(credentials).toMatchObject({ server: "https://10.96.0.1:443", namespace: "system" });
    expect(await credentials.current()).toEqual({
      headers: { Authorization: "Bearer t" },
      tls: { ca: Buffer.from("CA") },
    });
    expect(podCredentials(folder, { ...environment, KUBERNETES_SERVICE_HOST: "fd00::1" }).server).toBe(
      "https://[fd00::1]:443",
    );
  });

  test("says so outside a Pod", () => {
    expect(() => podCredentials(folder, {})).toThrow("this is not a Pod, and no --kubeconfig is given");
  });
});
