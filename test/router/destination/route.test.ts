import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { isPathPrefix, routeOf } from "../../../packages/router/destination.ts";

const HEADERS = { "x-sandbox-id": "by-header", "x-sandbox-pod-ip": "10.0.0.1", "x-sandbox-uid": "u" };

function route(url: string, host = "router", rawHeaders: string[] = []) {
  const request = { url, headers: { ...HEADERS, host }, rawHeaders } as unknown as IncomingMessage;
  return routeOf(request, { allowLoopbackPodIp: false, pathRoutingPrefix: "/p/q", domain: "preview.example" });
}

describe("routeOf() by path", () => {
  test.for([
    ["/p/q/team-a/demo/80/", "/"],
    ["/p/q/team-a/demo/80", "/"],
    ["/p/q/team-a/demo/80?x=1", "/?x=1"],
    ["/p/q/team-a/demo/80/a//b/../c%2F%00?x=/y#z", "/a//b/../c%2F%00?x=/y#z"],
    ["http://any.example/p/q/team-a/demo/80/a", "/a"],
  ])("finds the target in %s and asks for %s", ([url = "", path]) => {
    expect(route(url)).toEqual({
      target: { namespace: "team-a", name: "demo", port: 80 },
      path,
      base: "/p/q/team-a/demo/80",
      via: "path",
    });
  });

  test.for([
    "/p/q",
    "/p/q/",
    "/p/q?x",
    "/p/q/team-a/demo",
    "/p/q/team-a/demo/",
    "/p/q//demo/80/",
    "/p/q/team-a/../80/",
    "/p/q/team%2Da/demo/80/",
    "/p/q/team-a/demo/0/",
    "/p/q/team-a/demo/80a/",
  ])("refuses %s and does not fall back to headers", (url) => expect(route(url)).toMatchObject({ status: 400 }));

  test.for(["/p/qq/team-a/demo/80/", "/P/q/team-a/demo/80/", "/x/../p/q/team-a/demo/80/", "/p%2Fq/team-a/demo/80/"])(
    "leaves %s to the headers",
    (url) => expect(route(url)).toMatchObject({ via: "headers", target: { name: "by-header" }, path: url }),
  );

  test("has prefixes that are distinguished from a path", () => {
    expect(["/a", "/a/b.c"].filter(isPathPrefix)).toHaveLength(2);
    expect(["", "/", "a", "/a/", "/a b", "/a//b", "/a?b", "/a\n"].filter(isPathPrefix)).toEqual([]);
  });
});

describe("routeOf() by host", () => {
  test("finds the one way to read it", () => {
    const target = { namespace: "default", name: "demo", port: 80 };
    const want = { target, path: "/p/q/x", base: "", via: "host" };
    expect(route("/p/q/x", "80-demo-default.Preview.example.:8443")).toEqual(want);
  });

  test("finds all ways to read it, and leaves the choice to those who know more", () => {
    const candidates = [{ namespace: "team-a", name: "demo", port: 80 }, {
      namespace: "a",
      name: "demo-team",
      port: 80,
    }];
    expect(route("/", "80-demo-team-a.preview.example")).toMatchObject({ target: candidates[0], candidates });
  });

  test("takes one Host header, no more", () => {
    const twice = ["Host", "80-demo-default.preview.example", "host", "other"];
    expect(route("/", "80-demo-default.preview.example", twice)).toMatchObject({ status: 400 });
  });

  test.for([
    "demo-team.preview.example",
    "80-demo.preview.example",
    "0-a-b.preview.example",
    "80-a-b.c.preview.example",
  ])(
    "refuses %s and does not fall back to headers",
    (host) => expect(route("/", host)).toMatchObject({ status: 400 }),
  );

  test.for(["preview.example", "80-demo-team.notpreview.example", "80-a-b.preview.example.evil"])(
    "leaves %s to the headers",
    (host) => expect(route("/", host)).toMatchObject({ via: "headers" }),
  );
});
