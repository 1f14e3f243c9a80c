import { describe, expect, test } from "vitest";
import { type ClientView, cookieFor, locationFor, refreshFor } from "../../../packages/router/proxy/answerheaders.ts";

const POD = "10.0.0.7";
const BASE = "/s/team-a/demo/3000";
const byPath: ClientView = { via: "path", base: BASE, path: "/a/b?x=1", port: 3000, clientHost: "router.example" };
const byHost: ClientView = {
  ...byPath,
  via: "host",
  base: "",
  clientHost: "3000-demo-team-a.preview.example:8443",
};
const byHeaders: ClientView = { ...byPath, via: "headers", base: "", clientHost: "127.0.0.1:8080" };

describe("locationFor()", () => {
  test.for<[string, string, ClientView?]>([
    ["/login?next=%2F", `${BASE}/login?next=%2F`],
    ["/", `${BASE}/`],
    [`${BASE}/login`, `${BASE}/login`],
    [BASE, BASE],
    [`${BASE}0/x`, `${BASE}${BASE}0/x`],
    ["login", "login"],
    ["?page=2", "?page=2"],
    ["", ""],
    [`http://${POD}:3000/echo?x=1`, `${BASE}/echo?x=1`],
    [`http://${POD}:3000`, `${BASE}/`],
    [`http://${POD}:3000?x`, `${BASE}/?x`],
    [`HTTP://${POD}:3000/`, `${BASE}/`],
    [`//${POD}:3000/x`, `${BASE}/x`],
    [`http://localhost:3000/x`, `${BASE}/x`],
    [`http://0.0.0.0:3000/x`, `${BASE}/x`],
    [`http://${POD}:8000/x`, "/s/team-a/demo/8000/x"],
    [`http://${POD}/x`, "/s/team-a/demo/80/x"],
    ["http://router.example/x", `${BASE}/x`],
    ["https://router.example/x", `${BASE}/x`],
    [`https://router.example${BASE}/x`, `${BASE}/x`],
    ["http://localhost:9999/callback", "http://localhost:9999/callback"],
    ["https://elsewhere.example/x", "https://elsewhere.example/x"],
    ["//elsewhere.example/x", "//elsewhere.example/x"],
    [`http://${POD}:3000@elsewhere.example/`, `http://${POD}:3000@elsewhere.example/`],
    [`http://user@${POD}:3000/`, `http://user@${POD}:3000/`],
    ["mailto:a@b.example", "mailto:a@b.example"],
    [`http://${POD}:3000//elsewhere.example/`, `${BASE}//elsewhere.example/`],
    ["/login", "/login", byHost],
    [`http://${POD}:3000/x`, "/x", byHost],
    [`http://${POD}:3000//elsewhere.example/`, "/.//elsewhere.example/", byHost],
    [`http://${POD}:3000/\\elsewhere.example/`, "/./\\elsewhere.example/", byHost],
    [`http://${POD}:8000/x`, "//8000-demo-team-a.preview.example:8443/x", byHost],
    ["https://3000-demo-team-a.preview.example:8443/x", "/x", byHost],
    [`http://${POD}:3000/x`, "/x", byHeaders],
    [`http://${POD}:8000/x`, `http://${POD}:8000/x`, byHeaders],
    ["/x", "/x", byHeaders],
  ])("%s → %s", ([value, want, view = byPath]) => expect(locationFor(value, POD, view)).toBe(want));

  test("knows a Pod by an IPv6 address", () => {
    expect(locationFor("http://[fd00::7]:3000/x", "fd00::7", byPath)).toBe(`${BASE}/x`);
    expect(locationFor("http://[fd00::8]:3000/x", "fd00::7", byPath)).toBe("http://[fd00::8]:3000/x");
  });
});

describe("refreshFor()", () => {
  test.for([
    ["5", "5"],
    ["0; url=/x", `0; url=${BASE}/x`],
    ["0;URL='/x'", `0;URL='${BASE}/x'`],
    [`1.5, http://${POD}:3000/`, `1.5, ${BASE}/`],
    ["0; url=https://elsewhere.example/", "0; url=https://elsewhere.example/"],
  ])("%s → %s", ([value = "", want]) => expect(refreshFor(value, POD, byPath)).toBe(want));
});

describe("cookieFor()", () => {
  test.for<[string, string, ClientView?]>([
    ["a=1; Path=/; HttpOnly", `a=1; HttpOnly; Path=${BASE}/`],
    ["a=1; path=/x", `a=1; Path=${BASE}/x`],
    [`a=1; Path=${BASE}/x`, `a=1; Path=${BASE}/x`],
    ["a=1; Path=/y; Path=/x", `a=1; Path=${BASE}/x`],
    ["a=1", `a=1; Path=${BASE}/a`],
    ["a=1; Path=relative", `a=1; Path=${BASE}/a`],
    ["a=1; Path", `a=1; Path=${BASE}/a`],
    ["b=2; Domain=example; Secure", `b=2; Secure; Path=${BASE}/a`],
    ["b=2; DOMAIN =preview.example; Path=/", "b=2; Path=/", byHost],
    ["b=Path=/; HttpOnly", "b=Path=/; HttpOnly", byHost],
  ])("%s → %s", ([value, want, view = byPath]) => expect(cookieFor(value, view)).toBe(want));

  test("is of the sandbox's root where that was asked for", () => {
    expect(cookieFor("a=1", { ...byPath, path: "/?x=/y/z" })).toBe(`a=1; Path=${BASE}/`);
  });
});
