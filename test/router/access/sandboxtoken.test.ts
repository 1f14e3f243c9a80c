/** Scoped tokens of version 2: signed with Ed25519, for one Sandbox. */
import { Buffer } from "node:buffer";
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { normalPath, type SandboxTokenClaims, signSandboxToken } from "../../../packages/api/router/scopedtoken.ts";
import { openSandboxToken, readPublicKeys } from "../../../packages/router/access/scopedtoken.ts";
import { until } from "../../eventually.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { dial, fetchFrom, readUntil } from "../client.ts";
import { headOf } from "../rawbackend.ts";
import { putReady, putSandbox, startBackend, startRouter } from "../stage.ts";

const pair = generateKeyPairSync("ed25519");
const other = generateKeyPairSync("ed25519");
const keys = new Map([["k1", pair.publicKey], ["k-2_", other.publicKey]]);
const CLAIMS = { ns: "team-a", name: "demo", uid: "uid-demo", exp: 2_000_000_000 };
const NOW = 1_900_000_000_000;

const b64 = (text: string) => Buffer.from(text).toString("base64url");
/** Signs whatever it is given, byte by byte as the contract says. */
const forged = (payload: string, kid = "k1", by = pair, domain = "agent-sandbox/scoped-token/v2.") =>
  `v2.${kid}.${b64(payload)}.${
    sign(null, Buffer.from(`${domain}${kid}.${b64(payload)}`), by.privateKey).toString("base64url")
  }`;
const open = (token: string, now = NOW) => openSandboxToken(keys, token, now);

async function tokenFor(claims: Partial<SandboxTokenClaims> = {}): Promise<string> {
  const der = pair.privateKey.export({ type: "pkcs8", format: "der" });
  const key = await crypto.subtle.importKey("pkcs8", new Uint8Array(der), "Ed25519", false, ["sign"]);
  return await signSandboxToken(key, "k1", { ...CLAIMS, ...claims });
}

describe("openSandboxToken()", () => {
  test("opens what one of the keys has signed, by its name", async () => {
    const full = { ...CLAIMS, port: 80, method: "POST", path: "/a%2F" };
    expect(open(await tokenFor({ port: 80, method: "post", path: "/a%2f?x" }))).toEqual(full);
    expect(open(forged(JSON.stringify(full))), "the format of the contract").toEqual(full);
    expect(open(forged(JSON.stringify(CLAIMS), "k-2_", other))).toEqual(CLAIMS);
    const zero = { ns: "team-a", name: "demo", uid: "uid-demo", port: 0, method: "", path: "", exp: CLAIMS.exp };
    expect(open(forged(JSON.stringify(zero)))).toEqual(CLAIMS);
  });

  test("opens nothing else", async () => {
    const token = await tokenFor();
    const [, , payload = "", signature = ""] = token.split(".");
    const text = JSON.stringify(CLAIMS);
    const broken = [
      forged(text, "k1", other),
      forged(text, "unknown"),
      forged(text, "k1", pair, "agent-sandbox/scoped-token/v1."),
      forged(text, "k1", pair, ""),
      `v2.k-2_.${payload}.${signature}`,
      `v2.k1.${b64(JSON.stringify({ ...CLAIMS, name: "b" }))}.${signature}`,
      `v2.k1.${payload}.`,
      `v2.k1.${payload}`,
      `v1.k1.${payload}.${signature}`,
      `${token}.`,
      ` ${token}`,
      "",
      ...["{", "null", "[]"].map((each) => forged(each)),
      ...[{ uid: "" }, { uid: undefined }, { exp: "2000000000" }, { exp: undefined }, { ns: 1 }, { aud: "somebody" }]
        .map((each) => forged(JSON.stringify({ ...CLAIMS, ...each }))),
    ];
    expect(broken.filter((each) => open(each))).toEqual([]);
    expect([open(token, CLAIMS.exp * 1000 - 1), open(token, CLAIMS.exp * 1000)]).toEqual([CLAIMS, undefined]);
  });
});

test("normalPath() is of one form", () => {
  expect(["", "/", "/a%2fb%zz?x=%2f", "/%e2%98%95"].map(normalPath)).toEqual(["/", "/", "/a%2Fb%zz", "/%E2%98%95"]);
});

describe("readPublicKeys()", () => {
  const pem = (key: typeof pair.publicKey) => key.export({ type: "spki", format: "pem" });

  test("reads a folder, and a JSON Web Key Set", () => {
    const folder = makeTempFolder();
    writeFileSync(join(folder, "k1.pem"), pem(pair.publicKey));
    writeFileSync(join(folder, "k-2_.pem"), pem(other.publicKey));
    writeFileSync(join(folder, "README"), "");
    expect([...readPublicKeys(folder).keys()].sort()).toEqual(["k-2_", "k1"]);
    const set = join(folder, "set.json");
    writeFileSync(
      set,
      JSON.stringify({ keys: [{ ...pair.publicKey.export({ format: "jwk" }), kid: "k1", use: "sig" }] }),
    );
    expect(readPublicKeys(set).get("k1")?.equals(createPublicKey(pem(pair.publicKey)))).toBe(true);
  });

  test("refuses private keys, others, and names twice", () => {
    const folder = makeTempFolder();
    const write = (content: unknown) => {
      const path = join(folder, "set.json");
      writeFileSync(path, JSON.stringify(content));
      return () => readPublicKeys(path);
    };
    const jwk = { ...pair.publicKey.export({ format: "jwk" }), kid: "k1" };
    expect(write({ keys: [] })).toThrow("there is none");
    expect(write({ keys: [jwk, jwk] })).toThrow('two are named "k1"');
    expect(write({ keys: [{ ...jwk, kid: "a.b" }] })).toThrow(/^Cannot use key "a.b"/);
    expect(write({ keys: [{ ...pair.privateKey.export({ format: "jwk" }), kid: "k1" }] })).toThrow(/^Cannot use/);
    expect(write("x")).toThrow(/^Cannot use the keys/);
    const pems = (name: string, content: string | Buffer) => {
      const own = join(folder, name);
      mkdirSync(own);
      writeFileSync(join(own, "k1.pem"), content);
      return () => readPublicKeys(own);
    };
    expect(pems("private", pair.privateKey.export({ type: "pkcs8", format: "pem" }))).toThrow("a private key is not");
    const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
    expect(pems("ec", ec.export({ type: "spki", format: "pem" }))).toThrow("not Ed25519");
    expect(pems("none", "x")).toThrow("one is no public key");
  });
});

describe("a router with public keys", () => {
  async function start() {
    const api = createFakeApi();
    putReady(api);
    const folder = makeTempFolder();
    writeFileSync(join(folder, "k1.pem"), pair.publicKey.export({ type: "spki", format: "pem" }));
    const authz = { mode: "scoped-token", publicKeysFile: folder } as const;
    const { port, router } = await startRouter(api, { authz, authzRecheckInterval: 20, pathRoutingPrefix: "/s" });
    const backend = await startBackend((_, answer) => answer.end("in"));
    backend.server.on("upgrade", (_, socket) => {
      socket.on("error", () => {}).write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nup",
      );
    });
    const ask = async (
      claims: Partial<SandboxTokenClaims>,
      over: { method?: string; path?: string; name?: string } = {},
    ) => {
      const { name = "demo", path = "/x", method = "GET" } = over;
      const headers = { Authorization: `Bearer ${await tokenFor(claims)}` };
      const reply = await fetchFrom(port, { method, path: `/s/team-a/${name}/${backend.port}${path}`, headers });
      return reply.status;
    };
    return { api, port, router, backend: backend.port, ask };
  }

  test("lets a token into its own Sandbox, at any port and path or those that it names", async () => {
    const { ask, backend } = await start();
    expect(await ask({})).toBe(200);
    expect(await ask({ port: backend, method: "GET", path: "/x" }, { path: "/x?y=1" })).toBe(200);
    expect(await ask({ path: "/A%2F" }, { path: "/A%2f" })).toBe(200);
    expect([
      await ask({ uid: "uid-former" }),
      await ask({ name: "other" }),
      await ask({ ns: "team-b" }),
      await ask({ port: 1 }),
      await ask({ method: "POST" }),
      await ask({ path: "/y" }),
      await ask({ path: "/X" }),
      await ask({ path: "/" }),
      await ask({ uid: "uid-other", name: "other" }, { name: "demo" }),
    ]).toEqual(Array(9).fill(403));
    expect(await ask({ exp: 1 })).toBe(401);
  });

  test("leads it to no other Sandbox that gets its name, and ends what is open to the first", async () => {
    const { api, ask, port, backend, router } = await start();
    const socket = await dial(port);
    const head = `${headOf(backend)}Authorization: Bearer ${await tokenFor({})}\r\n`;
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${head}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`);
    expect(await readUntil(socket, "up")).toContain("101");
    const closed = new Promise((resolve) => socket.resume().once("close", resolve));
    putSandbox(api, "demo", { metadata: { uid: "uid-later" } });
    await closed;
    expect(await ask({})).toBe(403);
    await until(() => router.metrics.now.inflight === 0);
    // Where the router does not know yet who has the name, it looks before it lets anybody in.
    expect(await ask({ name: "unseen", uid: "u" }, { name: "unseen" })).toBe(404);
  });
});
