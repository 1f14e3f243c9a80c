/** Signed addresses, with a secret, or with a private key for one Sandbox; the router's code checks their tokens. @module */
import { generateKeyPairSync } from "node:crypto";
import { Buffer } from "node:buffer";
import { expect, onTestFinished, test, vi } from "vitest";
import { openSandboxToken, openToken } from "../../../packages/router/access/scopedtoken.ts";
import { SandboxClient } from "../../../packages/sdk/client.ts";
import { InvalidArgumentError } from "../../../packages/sdk/errors.ts";
import type { ClientOptions } from "../../../packages/sdk/setup/clientoptions.ts";
import { POOL } from "../pool.ts";
import { aClient } from "../testclient.ts";

const SECRET = "s".repeat(32);
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const PEM = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const opened = (token: string) => openSandboxToken(new Map([["k1", publicKey]]), token, Date.now());

/** Signs the address of port 3000 of a pool's sandbox; returns its token, and the Sandbox's name and UID. */
async function sign(options: Pick<ClientOptions, "signingKey" | "signingSecret">) {
  const { client, cluster } = await aClient();
  await cluster.apply(POOL);
  const { sandboxName } = await client.create({ pool: "python", name: "mine" });
  const router = { routerUrl: "https://r.example", routerPathPrefix: "/s" };
  const signing = new SandboxClient({ api: cluster.api, namespace: "default", ...router, ...options });
  const url = await (await signing.connect("mine")).getUrl(3000, { signedForMs: 60_000 });
  const uid = cluster.objects("Sandbox").find(({ metadata }) => metadata.name === sandboxName)?.metadata.uid;
  return { token: new URL(url).searchParams.get("token") ?? "", name: sandboxName, uid };
}

test("a key signs for the very Sandbox that the claim has", async () => {
  const { token, name, uid } = await sign({ signingKey: { id: "k1", privateKey: PEM } });
  expect(opened(token)).toEqual({ ns: "default", name, uid, port: 3000, exp: expect.any(Number) });
});

test("the environment may have the key; a secret that was given comes first", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("HOOKBOX_SIGNING_KEY", PEM);
  vi.stubEnv("HOOKBOX_SIGNING_KEY_ID", "k1");
  expect(opened((await sign({})).token)).toMatchObject({ port: 3000 });
  const { token, name } = await sign({ signingSecret: SECRET });
  expect(openToken([Buffer.from(SECRET)], token, Date.now())).toMatchObject({ name });
  vi.stubEnv("HOOKBOX_SIGNING_KEY_ID", undefined);
  await expect(sign({})).rejects.toThrow("HOOKBOX_SIGNING_KEY_ID is not set");
});

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" });

test.for([
  { signingKey: { id: "k1", privateKey: rsa as string } },
  { signingKey: { id: "k1", privateKey: "secret" } },
  { signingKey: { id: "k 1", privateKey: PEM } },
  {},
])("what cannot sign is an error of the caller, %#", async (options) => {
  await expect(sign(options)).rejects.toBeInstanceOf(InvalidArgumentError);
});
