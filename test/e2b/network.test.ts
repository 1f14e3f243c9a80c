/** What E2B's clients may say about the network of a sandbox: hookbox enforces it, or refuses it by name. @module */
import { Sandbox } from "e2b";
import { describe, expect, test } from "vitest";
import type { TestCluster } from "../../packages/testing/mod.ts";
import { startE2B } from "./api.ts";

/** A template whose sandboxes reach only what the egress proxy lets them. */
const TEMPLATE = "stateless";
const ALL = "0.0.0.0/0";

/** Returns the list that the egress proxy reads in the claim of a sandbox. */
async function listOf({ api }: TestCluster, id: string): Promise<string | undefined> {
  const path = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxclaims/${id}`;
  const { body } = await api.send({ method: "GET", path });
  const { annotations } = (body as { metadata: { annotations: Record<string, string> } }).metadata;
  return annotations["agents.x-k8s.io/egress-allow"];
}

test("a sandbox reaches nothing, or only what allowOut lists; a change replaces what was set", async () => {
  const { cluster, options } = await startE2B();
  const closed = await Sandbox.create(TEMPLATE, { ...options, allowInternetAccess: false });
  expect(await listOf(cluster, closed.sandboxId)).toBe("");
  expect(await Sandbox.getFullInfo(closed.sandboxId, options)).toMatchObject({ allowInternetAccess: false });
  const network = { allowOut: ["pypi.org", "10.1.2.3"], denyOut: [ALL] };
  const narrowed = await Sandbox.create(TEMPLATE, { ...options, network });
  const { sandboxId: id } = narrowed;
  expect(await listOf(cluster, id)).toBe("pypi.org, 10.1.2.3");
  expect(await Sandbox.getFullInfo(id, options)).toMatchObject({ network });
  await narrowed.updateNetwork({ allowOut: ["a.example.com"], denyOut: [ALL, "::/0"] });
  expect(await listOf(cluster, id)).toBe("a.example.com");
  await narrowed.updateNetwork({ allowInternetAccess: false });
  expect(await listOf(cluster, id)).toBe("");
  await narrowed.updateNetwork({});
  expect(await listOf(cluster, id)).toBeUndefined();
  await narrowed.updateNetwork({ allowOut: [ALL], denyOut: [ALL] });
  expect(await listOf(cluster, id)).toBeUndefined();
});

const REFUSED: [body: object, message: RegExp][] = [
  [{ allowOut: ["pypi.org"] }, /: allowOut restricts nothing without denyOut: add 0.0.0.0\/0 to denyOut$/],
  [{ denyOut: ["8.8.8.8"] }, /: denyOut cannot contain "8.8.8.8": hookbox can only deny 0.0.0.0\/0/],
  [{ denyOut: ["::/0"] }, /: denyOut needs 0.0.0.0\/0$/],
  [{ allowOut: ["a b"], denyOut: [ALL] }, /: allowOut has "a b", which is not a host name/],
  [{ allowOut: ["a.org, b.org"], denyOut: [ALL] }, /: allowOut has "a.org, b.org"/],
  [
    { allowOut: ["other.org"], denyOut: [ALL] },
    /allowOut: "other.org" is not reached, because SandboxTemplate stateless/,
  ],
  [{ rules: { "a.org": [{}] } }, /: rules is not supported/],
  [{ egressProxy: { address: "a:1080" } }, /: egressProxy is not supported/],
  [{ dnsServers: ["1.1.1.1"] }, /: dnsServers is not supported/],
  [{ surprise: 1 }, /: surprise is not supported/],
];

describe("what hookbox cannot enforce is refused", () => {
  test("by the name of the field, at a change and at a creation, and nothing changes", async () => {
    const { cluster, apiUrl, options } = await startE2B();
    const { sandboxId: id } = await Sandbox.create(TEMPLATE, { ...options, allowInternetAccess: false });
    const send = async (method: string, path: string, sent: object) => {
      const headers = { "X-API-KEY": options.apiKey };
      const answer = await fetch(`${apiUrl}${path}`, { method, headers, body: JSON.stringify(sent) });
      return { status: answer.status, body: await answer.json() as { message: string } };
    };
    for (const [body, message] of REFUSED) {
      const refused = { status: 400, body: { code: 400, message: expect.stringMatching(message) } };
      expect(await send("PUT", `/sandboxes/${id}/network`, body)).toEqual(refused);
      expect(await listOf(cluster, id)).toBe("");
      // At a creation, the fields are in `network`.
      const created = await send("POST", "/v2/sandboxes", { templateID: TEMPLATE, network: body });
      expect([created.status, created.body.message]).toEqual([
        400,
        expect.stringContaining(Object.keys(body)[0] ?? ""),
      ]);
    }
  });

  test("a template without rules: nothing would restrict the sandbox", async () => {
    const { options } = await startE2B();
    const needed = /needs? a template with the annotation agents.x-k8s.io\/egress-allow, and "python" has none/;
    await expect(Sandbox.create("base", { ...options, allowInternetAccess: false })).rejects.toThrow(needed);
    const sandbox = await Sandbox.create("base", options);
    await expect(sandbox.updateNetwork({ allowInternetAccess: false })).rejects.toThrow(needed);
    await sandbox.updateNetwork({ allowOut: [], denyOut: [] });
  });

  test("a sandbox that does not exist", async () => {
    const { options } = await startE2B();
    await expect(Sandbox.updateNetwork("a".repeat(20), {}, options)).rejects.toThrow(/not found$/);
  });
});
