/** What `hookbox doctor` reports about the API for E2B's SDKs: whether it runs, its domain, and its projects. @module */
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { fakeApi, listOf, run } from "./fakecontext.ts";
import { type Answers, fetch as sounds, sound } from "./soundcluster.ts";

const DEPLOYMENTS = "GET /apis/apps/v1/deployments";
const NAMESPACES = "GET /api/v1/namespaces";
const SECRETS = "GET /api/v1/secrets?metadata.name=hookbox-e2b-keys";
const BINDINGS = "GET /apis/rbac.authorization.k8s.io/v1/rolebindings";

const deployment = (readyReplicas: number, ...args: string[]) =>
  listOf("apps/v1", "Deployment", {
    metadata: {
      ...{ name: "hookbox-e2b", namespace: "agent-sandbox-system" },
      labels: { "app.kubernetes.io/name": "hookbox-e2b" },
    },
    spec: { replicas: 2, template: { spec: { containers: [{ args: ["e2b/main.js", ...args] }] } } },
    status: { readyReplicas },
  });
const keys = (namespace: string, rights: Record<string, string[]>) => ({
  metadata: { name: "hookbox-e2b-keys", namespace },
  data: Object.fromEntries(
    Object.entries(rights).map(([name, allowed]) => {
      const entry = { sha256: "0123456789abcdef".repeat(4), rights: allowed, createdAt: "2026-01-01T00:00:00Z" };
      return [name, Buffer.from(JSON.stringify(entry)).toString("base64")];
    }),
  ),
});
const binding = (namespace: string) => ({
  metadata: { name: "x", namespace },
  roleRef: { name: "hookbox-e2b-project" },
});
const namespace = (name: string) => ({ metadata: { name } });

/** An installation with two replicas and one project. */
const installed = (): Answers => ({
  ...sound(),
  [DEPLOYMENTS]: deployment(2),
  [NAMESPACES]: listOf("v1", "Namespace", namespace("demo")),
  [SECRETS]: listOf("v1", "Secret", keys("demo", { default: ["create", "connect", "read"], ci: ["read"] })),
  [BINDINGS]: listOf("rbac.authorization.k8s.io/v1", "RoleBinding", binding("demo")),
});

async function examined(answers: Answers, fetch: typeof globalThis.fetch = sounds) {
  const { code, stdout } = await run("doctor --router http://r", { api: fakeApi(answers), fetch });
  return { code, lines: stdout.slice(stdout.search(/^. E2B/m)), stdout };
}

test("an installation that works has ✓, and names who gets in, but no hash", async () => {
  const { code, lines } = await examined(installed());
  expect(lines).toMatchInlineSnapshot(`
    "✓ E2B API                  2 of 2 replicas of Deployment agent-sandbox-system/hookbox-e2b ready
    ✓ E2B domain               none: programs set E2B_API_URL and E2B_SANDBOX_URL, and use no hosts of ports
    ✓ E2B projects             demo (API keys ci: read, default: create+connect+read)
    "
  `);
  expect(code).toBe(0);
});

test("nothing is reported if there is neither the API nor a project, also to users who may not read Secrets", async () => {
  expect((await examined(sound())).stdout).not.toContain("E2B");
  const { stdout } = await examined({ ...sound(), [NAMESPACES]: listOf("v1", "Namespace") });
  expect(stdout).not.toContain("E2B");
});

test("each problem has its mark and its remedy", async () => {
  const problems: [change: Answers, line: RegExp, code: number][] = [
    [{ [DEPLOYMENTS]: deployment(1) }, /! E2B API +1 of 2 replicas .*\n +→ Find out why: kubectl/, 0],
    [{ [DEPLOYMENTS]: deployment(0) }, /✗ E2B API +0 of 2 replicas .*\n +→ Find out why: kubectl/, 1],
    [{ [DEPLOYMENTS]: listOf("apps/v1", "D") }, /! E2B API +there are projects, but the API .*\n +→ Install it/, 0],
    [{ [SECRETS]: undefined }, /! E2B projects +API keys cannot be listed: .*\n +→ Ask an administrator/, 0],
    [
      { [BINDINGS]: listOf("rbac.authorization.k8s.io/v1", "RoleBinding", binding("other")) },
      /✗ E2B projects +namespace demo has no RoleBinding .*\n +→ Create the project again/,
      1,
    ],
    [{ [SECRETS]: listOf("v1", "Secret") }, /✓ E2B projects +demo \(no API key\)/, 0],
  ];
  for (const [change, line, code] of problems) {
    const found = await examined({ ...installed(), ...change });
    expect(found.lines).toMatch(line);
    expect(found.code, String(line)).toBe(code);
  }
});

test("the domain is asked as a client asks: the API by its host, and the router by that of a sandbox", async () => {
  const answers = { ...installed(), [DEPLOYMENTS]: deployment(2, "--domain=sb.example", "--path-prefix", "/e2b") };
  const asked: string[] = [];
  const answering = (of: (host: string) => Response | Promise<Response>) => (input: RequestInfo | URL) => {
    const url = new URL(String(input));
    const isOfDomain = url.host.endsWith(".sb.example");
    if (isOfDomain) asked.push(url.href);
    return Promise.resolve(isOfDomain ? of(url.host) : new Response("ok"));
  };
  const json = (code: number) => Response.json({ code, message: "" }, { status: code });
  const right = await examined(answers, answering((host) => json(host.startsWith("api.") ? 401 : 502)));
  expect(right.lines).toMatch(/✓ E2B domain +api\.sb\.example leads to the API, and hosts of sandboxes to the router/);
  expect(asked.sort()).toEqual([
    "https://49983-aaaaaaaaaaaaaaaaaaaa.sb.example/health",
    "https://api.sb.example/e2b/sandboxes",
  ]);
  const other = await examined(answers, answering(() => new Response("welcome")));
  expect(other.lines).toMatch(
    /✗ E2B domain +something else answers at api\.sb\.example: HTTP 200\n +→ Let the host lead/,
  );
  expect(other.code).toBe(1);
  // A proxy without the router behind it also answers 502.
  const proxy = await examined(
    answers,
    answering((host) => host.startsWith("api.") ? json(401) : new Response("", { status: 502 })),
  );
  expect(proxy.lines).toMatch(/✗ E2B domain +something else answers at 49983-a+\.sb\.example: HTTP 502/);
  const none = await examined(answers, answering(() => Promise.reject(new Error("getaddrinfo ENOTFOUND"))));
  expect(none.lines).toMatch(
    /! E2B domain +api\.sb\.example cannot be reached from here: .*ENOTFOUND\n +→ If programs/,
  );
});
