import { describe, expect, test } from "vitest";
import { targetFromHeaders } from "../../../packages/router/destination.ts";

const read = (headers: Record<string, string>, allowLoopbackPodIp = false) =>
  targetFromHeaders({ "x-sandbox-id": "demo", ...headers }, allowLoopbackPodIp);

describe("targetFromHeaders()", () => {
  test("has defaults for all but the name", () => {
    expect(read({})).toEqual({ namespace: "default", name: "demo", port: 8888 });
    expect(read({ "x-sandbox-namespace": "", "x-sandbox-port": "", "x-sandbox-uid": "", "x-sandbox-pod-ip": "" }))
      .toEqual({ namespace: "default", name: "demo", port: 8888 });
  });

  test("reads all of them", () => {
    const headers = { "x-sandbox-namespace": "team-a", "x-sandbox-port": "80", "x-sandbox-uid": "a-1" };
    expect(read({ ...headers, "x-sandbox-pod-ip": "FD00:0::1" }))
      .toEqual({ namespace: "team-a", name: "demo", port: 80, uid: "a-1", podIP: "fd00::1" });
  });

  test.for<[string, Record<string, string>]>([
    ["X-Sandbox-ID header is required.", { "x-sandbox-id": "" }],
    ["Invalid sandbox ID format.", { "x-sandbox-id": "Demo" }],
    ["Invalid sandbox ID format.", { "x-sandbox-id": "a.b" }],
    ["Invalid sandbox ID format.", { "x-sandbox-id": "a, b" }],
    ["Invalid sandbox ID format.", { "x-sandbox-id": "../a" }],
    ["Invalid sandbox ID format.", { "x-sandbox-id": "a".repeat(64) }],
    ["Invalid namespace format.", { "x-sandbox-namespace": "team/a" }],
    ["Invalid namespace format.", { "x-sandbox-namespace": "-a" }],
    ["Invalid port format.", { "x-sandbox-port": "0" }],
    ["Invalid port format.", { "x-sandbox-port": "65536" }],
    ["Invalid port format.", { "x-sandbox-port": "0x50" }],
    ["Invalid port format.", { "x-sandbox-port": "+80" }],
    ["Invalid port format.", { "x-sandbox-port": "80, 81" }],
    ["Invalid sandbox UID format.", { "x-sandbox-uid": "a/b" }],
    ["Invalid target IP address.", { "x-sandbox-pod-ip": "127.0.0.1" }],
    ["Invalid target IP address.", { "x-sandbox-pod-ip": "example.com" }],
  ])("answers 400 %s to %j", ([detail, headers]) => expect(read(headers)).toEqual({ status: 400, detail }));

  test("takes a loopback address where that is allowed", () => {
    expect(read({ "x-sandbox-pod-ip": "127.0.0.1" }, true)).toMatchObject({ podIP: "127.0.0.1" });
  });
});
