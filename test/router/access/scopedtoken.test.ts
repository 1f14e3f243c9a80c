import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { signToken } from "../../../packages/api/router/scopedtoken.ts";
import { readSecrets } from "../../../packages/process/secretfile.ts";
import { createScopedAccess, openToken } from "../../../packages/router/access/scopedtoken.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const SECRET = Buffer.from("0123456789abcdef0123456789abcdef");
const OTHER = Buffer.from("fedcba9876543210fedcba9876543210");
const CLAIMS = { ns: "team-a", name: "demo", exp: 2_000_000_000 };
const NOW = 1_900_000_000_000;

const forged = (payload: string, domain = "agent-sandbox/scoped-token/v1.") => {
  const text = Buffer.from(payload).toString("base64url");
  return `v1.${text}.${createHmac("sha256", SECRET).update(domain + text).digest("base64url")}`;
};

describe("openToken()", () => {
  test("opens what one of the secrets has signed", async () => {
    expect(openToken([SECRET], await signToken(SECRET, CLAIMS), NOW)).toEqual(CLAIMS);
    expect(openToken([OTHER, SECRET], await signToken(SECRET, { ...CLAIMS, port: 80 }), NOW)).toEqual({
      ...CLAIMS,
      port: 80,
    });
    expect(openToken([SECRET], forged(JSON.stringify(CLAIMS)), NOW), "the format of the contract").toEqual(CLAIMS);
  });

  test("opens nothing else", async () => {
    const token = await signToken(SECRET, CLAIMS);
    const [, payload, signature = ""] = token.split(".");
    const more = Buffer.from(JSON.stringify({ ...CLAIMS, name: "other" })).toString("base64url");
    const broken = [
      await signToken(OTHER, CLAIMS),
      `v1.${more}.${signature}`,
      `v1.${payload}.`,
      `v1.${payload}`,
      `v1.${payload}.${signature.slice(1)}`,
      `v2.${payload}.${signature}`,
      `${token}.`,
      ` ${token}`,
      "",
      forged(JSON.stringify(CLAIMS), ""),
      forged("{"),
      forged("null"),
      forged(JSON.stringify({ ...CLAIMS, exp: "2000000000" })),
      forged(JSON.stringify({ ns: "team-a", name: "demo" })),
    ];
    expect(broken.filter((each) => openToken([SECRET], each, NOW))).toEqual([]);
    expect(openToken([], token, NOW)).toBeUndefined();
  });

  test("opens nothing after its time", async () => {
    const token = await signToken(SECRET, CLAIMS);
    expect(openToken([SECRET], token, CLAIMS.exp * 1000 - 1)).toEqual(CLAIMS);
    expect(openToken([SECRET], token, CLAIMS.exp * 1000)).toBeUndefined();
  });
});

test("createScopedAccess() lets a token into its own sandbox and port, and nowhere by address", async () => {
  const access = createScopedAccess({ secrets: () => [SECRET], publicKeys: () => new Map() }, () => undefined);
  const target = { namespace: "team-a", name: "demo", port: 80 };
  const token = await signToken(SECRET, { ...CLAIMS, port: 80 });
  const ask = (over: object, given: string | undefined = token) =>
    access({ target: { ...target, ...over }, token: given, address: "1.2.3.4" });
  expect(ask({})).toEqual({ client: "token:team-a/demo", expires: CLAIMS.exp });
  expect(access({ target, token: undefined, address: "1.2.3.4" })).toMatchObject({ status: 401 });
  expect(ask({}, "v1.a.b")).toMatchObject({ status: 401, detail: "Invalid token." });
  const others = [{ namespace: "b" }, { name: "b" }, { port: 81 }, { podIP: "10.0.0.1" }, { uid: "u" }];
  expect(others.map((other) => ask(other))).toEqual(others.map(() => expect.objectContaining({ status: 403 })));
});

test("readSecrets() wants long ones", () => {
  const folder = makeTempFolder();
  const path = join(folder, "secrets");
  writeFileSync(path, `${SECRET}\n${OTHER}\n`);
  expect(readSecrets(path)).toEqual([SECRET, OTHER]);
  writeFileSync(path, `${SECRET}\nshort`);
  expect(() => readSecrets(path)).toThrow(/^Cannot use the secrets in .*32 bytes/);
  writeFileSync(path, "\n");
  expect(() => readSecrets(path)).toThrow(/^Cannot use the secrets in/);
});
