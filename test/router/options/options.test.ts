import { describe, expect, test } from "vitest";
import { readOptions } from "../../../packages/router/options.ts";

const read = (...args: string[]) => readOptions(["--authz-mode", "allow-all", ...args])!;

describe("readOptions()", () => {
  test("asks the API server who may, unless an option says otherwise by name", () => {
    expect(readOptions([])?.authz).toEqual({
      mode: "tokenreview",
      authzTokenreviewTtl: 30_000,
      authzTokenreviewCacheSize: 2048,
      authzTokenreviewAudiences: [],
      authzTokenreviewRequireToken: true,
    });
    expect(read().authz).toEqual({ mode: "allow-all" });
    expect(readOptions(["--help"])).toBeUndefined();
  });

  test("takes tokens from addresses only where they go on in a cookie", () => {
    const args = ["--authz-mode=tokenreview", "--domain=d.example", "--authz-cookie-query-param=t"];
    expect(() => read(...args)).toThrow("Cannot use --authz-cookie-query-param without --authz-cookie-name");
    expect(read(...args, "--authz-cookie-name=c")?.browser).toMatchObject({
      authzCookieQueryParam: "t",
      authzCookieName: "c",
    });
  });

  test("sends cookies with tokens over HTTPS alone, unless an option says otherwise", () => {
    const isInsecure = (...flags: string[]) => readOptions(flags)?.browser.authzCookieInsecure;
    expect([isInsecure(), isInsecure("--authz-cookie-insecure")]).toEqual([false, true]);
  });

  test("has the contract's defaults in a cluster", () => {
    expect(read()).toMatchObject({
      httpBindAddress: { host: "0.0.0.0", port: 8080 },
      healthProbeBindAddress: { host: "0.0.0.0", port: 8081 },
      metricsBindAddress: { host: "0.0.0.0", port: 9090 },
      https: undefined,
      shutdownDelay: 5000,
      proxyTimeout: 180_000,
      upstreamMaxRetries: 3,
      upstreamRetryInitialDelay: 200,
      upstreamRetryMaxDelay: 800,
      allowLoopbackPodIp: false,
      maxRequestBodyBytes: 0,
      pathRoutingRewriteResponses: true,
    });
  });

  test("does not rewrite addresses and cookies in answers if the flag turns that off, in both spellings", () => {
    expect(read("--no-path-routing-rewrite-responses").pathRoutingRewriteResponses).toBe(false);
    expect(read("--path-routing-rewrite-responses=false").pathRoutingRewriteResponses).toBe(false);
  });

  test("listens on loopback outside of one", () => {
    expect(read("--kubeconfig", "f", "--port", "0")).toMatchObject({
      httpBindAddress: { host: "127.0.0.1", port: 0 },
      healthProbeBindAddress: undefined,
      metricsBindAddress: undefined,
      shutdownDelay: 0,
    });
  });

  test("understands Go's ways with booleans and addresses", () => {
    expect(read("--allow-loopback-pod-ip=true").allowLoopbackPodIp).toBe(true);
    expect(read("--allow-loopback-pod-ip=false").allowLoopbackPodIp).toBe(false);
    expect(read("--http-bind-address=[::1]:81").httpBindAddress).toEqual({ host: "::1", port: 81 });
    const none = { healthProbeBindAddress: undefined, metricsBindAddress: undefined };
    expect(read("--health-probe-bind-address=0", "--metrics-bind-address=")).toMatchObject(none);
  });

  test("refuses to look for idle sandboxes more often than every 100 ms", () => {
    expect(read("--idle-check-interval=100ms")?.idleCheckInterval).toBe(100);
    expect(() => read("--idle-check-interval=99ms")).toThrow(/at least 100ms/);
  });

  test("takes more than 24 days as 24 days: a timer would fire at once", () => {
    const long = read("--dial-timeout=1000h", "--wake-timeout=10000h", "--proxy-timeout=596h");
    expect([long.dialTimeout, long.wakeTimeout, long.proxyTimeout]).toEqual([
      2 ** 31 - 1,
      2 ** 31 - 1,
      596 * 3_600_000,
    ]);
  });

  test.for([
    ["--context", "c"],
    ["--port", "65536"],
    ["--http-bind-address", "8080"],
    ["--proxy-timeout", "3 minutes"],
    ["--upstream-max-retries", "-1"],
    ["--log-level", "loud"],
    ["--authz-mode", "none"],
    ["--authz-mode", "scoped-token"],
    ["--path-routing-prefix", "a"],
    ["--path-routing-prefix", "/a/"],
    ["--authz-cookie-name", "c"],
    ["--authz-cookie-samesite", "loose"],
    ["--upstream-host", "other"],
    ["--http-bind-address", "0"],
    ["--https-bind-address", ":8443"],
    ["--trusted-proxies", "10.0.0.0/x"],
  ])("refuses %s %s", (args) => expect(() => read(`${args[0]}=${args[1]}`)).toThrow(/^Cannot /));
});
