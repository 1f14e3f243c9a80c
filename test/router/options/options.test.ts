import { describe, expect, test } from "vitest";
import { readOptions } from "../../../packages/router/options/options.ts";

const read = (...args: string[]) => readOptions(["--authz-mode", "allow-all", ...args])!;

describe("readOptions()", () => {
  test("asks the API server who may, unless it is told otherwise by name", () => {
    expect(readOptions([])?.authz).toEqual({
      mode: "tokenreview",
      ttlMs: 30_000,
      cacheSize: 2048,
      audiences: [],
      requiresToken: true,
    });
    expect(read().authz).toEqual({ mode: "allow-all" });
    expect(readOptions(["--help"])).toBeUndefined();
  });

  test("takes tokens from addresses only where they go on in a cookie", () => {
    const args = ["--authz-mode=tokenreview", "--domain=d.example", "--authz-cookie-query-param=t"];
    expect(() => read(...args)).toThrow("--authz-cookie-query-param needs --authz-cookie-name");
    expect(read(...args, "--authz-cookie-name=c")?.browser).toMatchObject({ queryParam: "t", cookieName: "c" });
  });

  test("sends cookies with tokens over HTTPS alone, unless it is told otherwise", () => {
    const isSecure = (...flags: string[]) => readOptions(flags)?.browser.isSecure;
    expect([isSecure(), isSecure("--authz-cookie-insecure")]).toEqual([true, false]);
  });

  test("has the contract's defaults in a cluster", () => {
    expect(read()).toMatchObject({
      http: { host: "0.0.0.0", port: 8080 },
      health: { host: "0.0.0.0", port: 8081 },
      silenceMs: 180_000,
      retries: 3,
      firstDelayMs: 200,
      longestDelayMs: 800,
      allowLoopback: false,
      maxBodyBytes: 0,
      rewrites: true,
    });
  });

  test("leaves addresses and cookies in answers as they are if it is told to, in our way or the contract's", () => {
    expect(read("--no-path-routing-rewrite-responses").rewrites).toBe(false);
    expect(read("--path-routing-rewrite-responses=false").rewrites).toBe(false);
  });

  test("listens on loopback outside of one", () => {
    const { http, health } = read("--kubeconfig", "f", "--port", "0");
    expect({ http, health }).toEqual({ http: { host: "127.0.0.1", port: 0 }, health: undefined });
  });

  test("understands Go's ways with booleans and addresses", () => {
    expect(read("--allow-loopback-pod-ip=true").allowLoopback).toBe(true);
    expect(read("--allow-loopback-pod-ip=false").allowLoopback).toBe(false);
    expect(read("--http-bind-address=[::1]:81").http).toEqual({ host: "::1", port: 81 });
  });

  test("takes more than 24 days as 24 days: a timer would fire at once", () => {
    const long = read("--dial-timeout=1000h", "--wake-timeout=10000h", "--proxy-timeout=596h");
    expect([long.dialMs, long.holdMs, long.silenceMs]).toEqual([2 ** 31 - 1, 2 ** 31 - 1, 596 * 3_600_000]);
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
  ])("refuses %s %s", (args) => expect(() => read(`${args[0]}=${args[1]}`)).toThrow(/^Cannot /));
});
