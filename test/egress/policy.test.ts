/** What a policy allows: which names, addresses and ports, and which headers. @module */
import { describe, expect, test } from "vitest";
import {
  checkAddress,
  decide,
  type Policy,
  policyFrom,
  readAllowed,
  readHeaders,
} from "../../packages/api/egress/policy.ts";
import fc, { runs } from "../properties.ts";

function policy(allow: string, headers?: string, narrowed?: string): Policy {
  const read = policyFrom({ owner: "T", allow, headers }, { owner: "C", allow: narrowed, headers: undefined });
  if (typeof read === "string") throw new Error(read);
  return read;
}

const reaches = (allow: string, host: string, port = 443) => typeof decide(policy(allow), { host, port }) !== "string";

describe("decide()", () => {
  test.each([
    ["pypi.org", "pypi.org"],
    ["pypi.org", "PyPI.org."],
    ["PYPI.org", "pypi.org"],
    ["*.example.com", "a.example.com"],
    ["*.example.com", "a.b.example.com"],
    ["*", "example.com"],
    ["pypi.org, example.com", "example.com"],
    ["10.1.0.0/16", "10.1.2.3"],
    ["10.1.2.3", "10.1.2.3"],
    ["10.1.2.3", "::ffff:10.1.2.3"],
    ["[2001:db8::]/32", "2001:db8::7"],
    ["2001:db8::7", "2001:DB8:0::7"],
    ["_service.example.com", "_service.example.com"],
  ])("%s allows %s", (allow, host) => {
    expect(reaches(allow, host)).toBe(true);
  });

  test.each([
    ["pypi.org", "files.pypi.org"],
    ["pypi.org", "xpypi.org"],
    ["pypi.org", "pypi.org.evil.example"],
    ["*.example.com", "example.com"],
    ["*.example.com", "xexample.com"],
    ["*.example.com", ".example.com"],
    ["*", "10.1.2.3"],
    ["*", "127.1"],
    ["*", "2130706433"],
    ["*", "0x7f000001"],
    ["*", "0x7f.1"],
    ["*", "1.2.3.4.5"],
    ["*", "017700000001"],
    ["*", "::1"],
    ["*", "fe80::1%eth0"],
    ["*", ""],
    ["*", "a b"],
    ["*", "a\r\nb"],
    ["*", "a..b"],
    ["*", "a_\u0000b"],
    ["*", "a/b"],
    ["*", "user@example.com"],
    ["*", "x".repeat(64)],
    ["*", `${"x.".repeat(127)}x`],
    ["10.1.0.0/16", "10.2.0.1"],
    ["10.1.0.0/16", "example.com"],
    ["", "example.com"],
  ])("%s does not allow %s", (allow, host) => {
    expect(reaches(allow, host)).toBe(false);
  });

  test("without a port, an entry is for the ports of the web", () => {
    expect([80, 443, 22, 8443, 0].map((port) => reaches("example.com", "example.com", port)))
      .toEqual([true, true, false, false, false]);
    expect([22, 443].map((port) => reaches("example.com:22", "example.com", port))).toEqual([true, false]);
    expect([5432, 443].map((port) => reaches("10.0.0.0/8:5432", "10.1.1.1", port))).toEqual([true, false]);
  });

  test("a port of another protocol carries anything, the ports of the web only theirs", () => {
    expect(decide(policy("a.example:22"), { host: "a.example", port: 22 })).toMatchObject({ isRaw: true });
    expect(decide(policy("a.example:443"), { host: "a.example", port: 443 })).toMatchObject({ isRaw: false });
  });

  test("a claim narrows what its template allows, and adds nothing", () => {
    const narrow = policy("*.example.com, pypi.org", undefined, "a.example.com, other.org");
    const hosts = ["a.example.com", "b.example.com", "pypi.org", "other.org"];
    expect(hosts.filter((host) => typeof decide(narrow, { host, port: 443 }) !== "string")).toEqual(["a.example.com"]);
    expect(decide(narrow, { host: "pypi.org", port: 443 })).toBe("pypi.org:443 is not allowed by the claim");
    expect(decide(policy("*", undefined, ""), { host: "pypi.org", port: 443 })).toMatch(/by the claim$/);
  });

  test("a claim's headers are for hosts that are allowed without them, and replace none of the template", () => {
    const of = (headers: string, allow?: string) =>
      policyFrom({
        ...{ owner: "T", allow: "api.example, *.example.com, db.example:5432", claimHeaders: "Allowed" },
        headers: "own.example x-key=theirs/key",
      }, { owner: "C", allow, headers }) as Policy;
    const headersOf = (policy: Policy, host: string, port = 443) => {
      const verdict = decide(policy, { host, port });
      return typeof verdict === "string" ? verdict : verdict.headers.map(({ header, secret }) => `${header}=${secret}`);
    };
    const one = of("api.example a=mine/k,*.example.com b=mine/k,evil.example c=mine/k,own.example X-Key=mine/k");
    expect(headersOf(one, "api.example")).toEqual(["a=mine"]);
    expect(headersOf(one, "x.example.com")).toEqual(["b=mine"]);
    expect(headersOf(one, "evil.example")).toBe("evil.example:443 is not allowed");
    expect(headersOf(one, "own.example")).toEqual(["x-key=theirs"]);
    expect(headersOf(one, "api.example", 80)).toMatch("only reached over HTTPS");
    expect(headersOf(of("api.example a=mine/k", "x.example.com"), "api.example")).toMatch("not allowed by the claim");
    expect(decide(of("db.example:5432 a=mine/k"), { host: "db.example", port: 5432 })).toMatchObject({ isRaw: false });
    expect(decide(of("db.example a=mine/k"), { host: "db.example", port: 5432 })).toMatchObject({ isRaw: true });
  });

  test.for([
    "",
    "api.example a=mine/k,",
    "api.example  a=mine/k",
    "api.example a=mine/k\n",
    "a/b x=mine/k",
    "h x=y=mine/k",
  ])(
    "what the admission policy does not read is invalid in a claim: %j",
    (headers) => {
      const source = { owner: "T", allow: "*", headers: undefined, claimHeaders: "Allowed" };
      expect(policyFrom(source, { owner: "C", allow: undefined, headers })).toMatch(/of C: ".*" is not HOST/s);
    },
  );

  test("a claim has at most eight headers, as many as the admission policy can check", () => {
    const source = { owner: "T", allow: "*", headers: undefined, claimHeaders: "Allowed" };
    const many = (count: number) => Array.from({ length: count }, () => "api.example a=mine/k").join();
    expect(policyFrom(source, { owner: "C", allow: undefined, headers: many(8) })).toMatchObject({ allow: [{}] });
    expect(policyFrom(source, { owner: "C", allow: undefined, headers: many(9) })).toMatch("it has 9 entries");
  });

  test("a host that gets a header is allowed over TLS", () => {
    const one = policy("", "api.example.com Authorization=Bearer example/key, *.example.org:8443 x-key=other/k.1");
    expect(decide(one, { host: "API.example.com", port: 443 })).toEqual({
      host: "api.example.com",
      isRaw: false,
      headers: [{ hosts: "api.example.com", header: "Authorization", scheme: "Bearer", secret: "example", key: "key" }],
    });
    expect(decide(one, { host: "a.example.org", port: 8443 })).toMatchObject({
      isRaw: false,
      headers: [{ key: "k.1" }],
    });
    expect(decide(one, { host: "api.example.com", port: 80 })).toMatch("is not allowed");
    expect(decide(one, { host: "a.example.org", port: 443 })).toMatch("is not allowed");
  });

  test("whatever a name is, it is a name of the list, and in its usual form", () => {
    const hosts = fc.oneof(
      fc.string(),
      fc.domain(),
      fc.domain().map((domain) => `${domain}.example.com`),
      fc.constantFrom(".", "A.example.COM."),
    );
    const check = fc.property(hosts, (host) => {
      const verdict = decide(policy("*.example.com"), { host, port: 443 });
      if (typeof verdict !== "string") expect(verdict.host).toMatch(/^[-a-z0-9_.]*[^.]\.example\.com$/);
    });
    fc.assert(check, { numRuns: runs(2000) });
  });
});

describe("checkAddress()", () => {
  const to = (allow: string, address: string, port = 443) => checkAddress(policy(allow), { host: "a", port }, address);

  test.each(["93.184.216.34", "2606:2800:220:1::1"])("a name may have the public address %s", (address) => {
    expect(to("*", address)).toBeUndefined();
  });

  test.each([
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fd00::1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "ff02::1",
    "168.63.129.16",
    "::7f00:1",
  ])("a name may not have the address %s", (address) => {
    expect(to("*", address)).toBe(`${address} is not a public address`);
  });

  test("a network of the list allows its addresses, on its ports", () => {
    expect(to("10.1.0.0/16", "10.1.2.3")).toBeUndefined();
    expect(to("10.1.0.0/16", "10.2.2.3")).toMatch("not a public address");
    expect(to("10.1.0.0/16:5432", "10.1.2.3")).toMatch("not a public address");
    expect(to("10.1.0.0/16", "::ffff:10.1.2.3")).toBeUndefined();
  });
});

describe("what people write", () => {
  test.each([
    "a b",
    "https://pypi.org",
    "pypi.org/simple",
    "*.",
    "*.*.com",
    "a.*",
    "10.1/16",
    "10.1.0.0/33",
    "pypi.org:0",
    "pypi.org:99999",
    "pypi.org:x",
    "127.1",
    "[::1",
    "*:443x",
    "é.example",
  ])("the destination %j is refused", (text) => {
    expect(readAllowed(`pypi.org, ${text}`)).toMatch(JSON.stringify(text).slice(1, -1));
  });

  test.each([
    "api.example.com",
    "api.example.com Authorization",
    "api.example.com Authorization=key",
    "api.example.com Authorization=Bearer example",
    "api.example.com Authorization=Bearer  example/key",
    "api.example.com A:B=example/key",
    "api.example.com Host=example/key",
    "api.example.com:80 Authorization=example/key",
    "api.example.com Content-Length=example/key",
    "api.example.com Proxy-Authorization=example/key",
    "* Authorization=example/key",
    "10.0.0.1 Authorization=example/key",
    "10.0.0.0/8 Authorization=example/key",
    "api.example.com Authorization=../key/x",
    "api.example.com Authorization=Example/key",
  ])("the header %j is refused", (text) => {
    expect(readHeaders(text)).toMatch(text);
  });

  test("a template without the annotations allows nothing, and neither does one that is wrong", () => {
    const none = { allow: undefined, headers: undefined };
    expect(policyFrom({ owner: "SandboxTemplate web", ...none })).toBe(
      "SandboxTemplate web has neither annotation agents.x-k8s.io/egress-allow nor agents.x-k8s.io/egress-headers",
    );
    expect(policyFrom({ owner: "SandboxTemplate web", ...none, allow: "a b" })).toMatch(
      /^annotation agents.x-k8s.io\/egress-allow of SandboxTemplate web: "a b" is not a host name/,
    );
    const claim = { owner: "SandboxClaim c", allow: "a b", headers: undefined };
    expect(policyFrom({ owner: "T", ...none, allow: "*" }, claim)).toMatch(/^annotation .* of SandboxClaim c: "a b"/);
    expect(policyFrom({ owner: "T", ...none, allow: "*" }, { ...claim, allow: "", headers: "" })).toBe(
      "SandboxClaim c has annotation agents.x-k8s.io/egress-headers, but T does not allow it: its annotation " +
        'agents.x-k8s.io/egress-claim-headers is not "Allowed"',
    );
  });
});
