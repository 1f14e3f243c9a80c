/** What `create({ network })` sends, and what it refuses before it creates anything. @module */
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { EGRESS_ALLOW_ANNOTATION, EGRESS_HEADERS_ANNOTATION } from "../../../packages/api/objects/keys.ts";
import type { ApiRequest } from "../../../packages/kube/api.ts";
import { SandboxClient } from "../../../packages/sdk/client.ts";
import { AuthorizationError, InvalidArgumentError, TemplateError } from "../../../packages/sdk/errors.ts";
import type { CreateOptions } from "../../../packages/sdk/options.ts";
import { POOL } from "../pool.ts";
import { aClient } from "../testclient.ts";

const RULES = {
  [EGRESS_ALLOW_ANNOTATION]: "pypi.org, *.example.com, 10.1.0.0/16",
  [EGRESS_HEADERS_ANNOTATION]: "api.internal Authorization=Bearer example/key",
};

/** A cluster with the template `python`, with or without rules, and a client whose requests are kept. */
async function aPlace(annotations: object = RULES, forbidden?: string) {
  const { cluster } = await aClient();
  const template = parse(POOL.split("---")[0] ?? "");
  await cluster.apply(stringify({ ...template, metadata: { ...template.metadata, annotations } }));
  await cluster.settle();
  const requests: ApiRequest[] = [];
  const send: typeof cluster.api.send = async (request) => {
    requests.push(request);
    const isForbidden = forbidden !== undefined && request.path.includes(`/${forbidden}/`);
    return isForbidden
      ? { status: 403, body: { message: "no", reason: "Forbidden" } }
      : await cluster.api.send(request);
  };
  const client = new SandboxClient({ api: { ...cluster.api, send }, namespace: "default" });
  const posts = () => requests.filter(({ method }) => method === "POST").map(({ path }) => path.split("/").at(-1));
  return { cluster, client, requests, posts };
}

test("the list becomes the annotation of the claim, in addition to other metadata", async () => {
  const { client, cluster } = await aPlace();
  const allow = ["pypi.org", "files.example.com:443", "10.1.2.0/24", "api.internal"];
  const { name } = await client.create({ template: "python", network: { allow }, metadata: { note: "mine" } });
  expect(cluster.get("SandboxClaim", name)?.metadata.annotations).toMatchObject({
    [EGRESS_ALLOW_ANNOTATION]: "pypi.org, files.example.com:443, 10.1.2.0/24, api.internal",
    note: "mine",
  });
});

test("an empty list allows nothing; without the option, there is no annotation and no request more", async () => {
  const { client, cluster, requests } = await aPlace();
  const none = await client.create({ template: "python", network: { allow: [] } });
  expect(cluster.get("SandboxClaim", none.name)?.metadata.annotations?.[EGRESS_ALLOW_ANNOTATION]).toBe("");
  requests.length = 0;
  const all = await client.create({ template: "python" });
  expect(cluster.get("SandboxClaim", all.name)?.metadata.annotations).not.toHaveProperty(EGRESS_ALLOW_ANNOTATION);
  expect(requests.filter(({ method, path }) => method === "GET" && path.includes("templates/"))).toEqual([]);
});

test.each<[string, CreateOptions, string | RegExp]>([
  [
    "a URL",
    { template: "python", network: { allow: ["https://pypi.org"] } },
    /"https:\/\/pypi.org" is not a host name/,
  ],
  [
    "two entries in one",
    { template: "python", network: { allow: ["a.org,b.org"] } },
    /"a.org,b.org" is not one host name/,
  ],
  ["an empty entry", { template: "python", network: { allow: [""] } }, /"" is not one host name/],
  ["no text", { template: "python", network: { allow: [7 as unknown as string] } }, /7 is not one host name/],
  ["no list", { template: "python", network: { allow: "pypi.org" as unknown as string[] } }, /`allow` is not a list/],
  ["an image", { image: "node:24", network: { allow: ["pypi.org"] } }, /from an image: nothing would restrict/],
  [
    "the annotation, too",
    { template: "python", network: { allow: [] }, metadata: { [EGRESS_ALLOW_ANNOTATION]: "*" } },
    /`metadata` sets agents.x-k8s.io\/egress-allow, too/,
  ],
])("%s is refused, and nothing is requested", async (_, options, words) => {
  const { client, requests } = await aPlace();
  const creating = client.create(options);
  await expect(creating).rejects.toThrow(InvalidArgumentError);
  await expect(creating).rejects.toThrow(words);
  expect(requests).toEqual([]);
});

test("more than the template allows is refused, and nothing is left", async () => {
  const { client, posts, cluster } = await aPlace();
  const creating = client.create({ template: "python", network: { allow: ["pypi.org", "evil.org"] } });
  await expect(creating).rejects.toThrow(TemplateError);
  await expect(creating).rejects.toThrow('"evil.org" is not reached, because SandboxTemplate python does not allow it');
  expect(posts()).toEqual(["sandboxwarmpools"]);
  expect(cluster.objects("SandboxWarmPool")).toEqual([]);
});

test("a template without rules restricts nothing, so a claim cannot narrow it", async () => {
  const { client, posts } = await aPlace({});
  const creating = client.create({ template: "python", network: { allow: ["pypi.org"] } });
  await expect(creating).rejects.toThrow("SandboxTemplate python has neither annotation");
  expect(posts()).not.toContain("sandboxclaims");
});

test("who may not read the template gets no sandbox that may be open", async () => {
  const { client, posts } = await aPlace(RULES, "sandboxtemplates");
  await expect(client.create({ template: "python", network: { allow: ["pypi.org"] } })).rejects.toThrow(
    AuthorizationError,
  );
  expect(posts()).not.toContain("sandboxclaims");
});
