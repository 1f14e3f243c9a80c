/** changesOf() reports several changes at once. @module */
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { changesOf, type Kind, type Known } from "../../../packages/runtime/files/changes.ts";
import { makeRoot } from "../folders.ts";

async function aRoot() {
  const { root, at } = await makeRoot({
    old: "x",
    moved: "x",
    mode: "x",
    gone: "x",
    "sub/in": "x",
    "sub/deep/in": "x",
  });
  const names = ["old", "moved", "mode", "gone", "sub", "sub/in", "sub/deep", "sub/deep/in"];
  const known: Known = new Map(names.map((name) => [name, lstatSync(at(name))]));
  const told = async (kinds: [string, Kind][]) =>
    (await changesOf(root, known, new Map(kinds))).map((one) =>
      [one.type, one.path, one.type === "rename" ? one.oldPath : undefined].filter(Boolean).join(" ")
    );
  return { at, told };
}

test("each path is reported once, a move as a move", async () => {
  const { at, told } = await aRoot();
  writeFileSync(at("new"), "");
  writeFileSync(at("old"), "longer");
  renameSync(at("moved"), at("there"));
  chmodSync(at("mode"), 0o600);
  rmSync(at("gone"));
  // It may have the number that the one before had.
  writeFileSync(at("last"), "");
  const kinds: [string, Kind][] = [
    ["new", "created"],
    ["old", "modified"],
    ["moved", "removed"],
    ["there", "created"],
    ["mode", "modified"],
    ["gone", "removed"],
    ["last", "created"],
    ["fleeting", "removed"],
  ];
  const want = ["rename there moved", "create new", "write old", "chmod mode", "remove gone", "create last"];
  expect(await told(kinds)).toEqual(want);
});

test("a folder is moved with what is in it, and that is known by its new place", async () => {
  const { at, told } = await aRoot();
  renameSync(at("sub"), at("other"));
  const kinds: [string, Kind][] = [["sub", "removed"], ["other", "created"], ["other/in", "created"], [
    "other/deep",
    "created",
  ]];
  expect(await told(kinds)).toEqual(["rename other sub"]);
  writeFileSync(at("other/deep/in"), "longer");
  mkdirSync(at("other/new"));
  expect(await told([["other/deep/in", "modified"], ["other/new", "created"]])).toEqual([
    "write other/deep/in",
    "create other/new",
  ]);
});

test("what is put in the place of another file is written; what changed before it was looked at is reported too", async () => {
  const { at, told } = await aRoot();
  writeFileSync(at("beside"), "whole");
  renameSync(at("beside"), at("old"));
  expect(await told([["old", "created"]])).toEqual(["write old"]);
  expect(await told([["mode", "modified"]])).toEqual(["write mode"]);
});
