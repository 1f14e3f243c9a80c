import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSandboxToken, openToken } from "../../packages/router/access/scopedtoken.ts";
import { Buffer } from "node:buffer";
import { makeTempFolder } from "../tempfolder.ts";
import { run } from "./fakecontext.ts";

const SECRET = "0123456789abcdef0123456789abcdef";

test("hookbox token signs by a secret, or by a private key for one Sandbox alone", async () => {
  const folder = makeTempFolder();
  const [secretFile, keyFile] = [join(folder, "secret"), join(folder, "k1.key")];
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  writeFileSync(secretFile, SECRET);
  writeFileSync(keyFile, privateKey.export({ type: "pkcs8", format: "pem" }));
  const sign = async (...args: string[]) => (await run(["token", "demo", "-n", "team-a", ...args])).stdout.trim();
  expect(openToken([Buffer.from(SECRET)], await sign("--secret-file", secretFile, "--port", "80"), Date.now()))
    .toMatchObject({ ns: "team-a", name: "demo", port: 80 });
  const byKey = ["--private-key-file", keyFile, "--key-id", "k1", "--uid", "u-1"];
  const open = (token: string) => openSandboxToken(new Map([["k1", publicKey]]), token, Date.now());
  expect(open(await sign(...byKey))).toEqual({ ns: "team-a", name: "demo", uid: "u-1", exp: expect.any(Number) });
  expect(open(await sign(...byKey, "--method", "get", "--path", "/a"))).toMatchObject({ method: "GET", path: "/a" });
});

test.for([
  [],
  ["--secret-file", "a", "--private-key-file", "b"],
  ["--secret-file", "a", "--uid", "u"],
  ["--private-key-file", "a", "--uid", "u"],
  ["--private-key-file", "a", "--key-id", "k"],
])("hookbox token refuses %j", async (args) => {
  const { code, stderr } = await run(["token", "demo", ...args]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^Cannot /)]);
});
