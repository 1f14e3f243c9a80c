/** Lines and colours of logs. @module */
import { expect, test } from "vitest";
import { createLogLines } from "../../packages/dashboard/log.tsx";

const partsOf = (...texts: string[]) => {
  const log = createLogLines(100);
  for (const text of texts) log.add(text);
  return log.lines().map(({ parts }) => parts);
};
const textOf = (...texts: string[]) => partsOf(...texts).map((parts) => parts.map(({ text }) => text).join(""));

test("a colour holds until it is reset, over lines and pieces", () => {
  expect(partsOf("plain \x1b[31mred\nstill", " red\x1b[0m plain\n")).toEqual([
    [{ text: "plain " }, { text: "red", classes: "ansi-red" }],
    [{ text: "still red", classes: "ansi-red" }, { text: " plain" }],
  ]);
});

test("styles, backgrounds and colours by number", () => {
  expect(partsOf("\x1b[1;4;97;41ma\x1b[m\x1b[38;5;196mb\x1b[38;2;1;2;3mc\n")).toEqual([[
    { text: "a", classes: "ansi-brightWhite ansi-on-red ansi-bold ansi-underline" },
    { text: "b", color: "#ff0000" },
    { text: "c", color: "#010203" },
  ]]);
});

test("text that would be invisible has no colour", () => {
  expect(
    partsOf(
      "\x1b[31;41ma\x1b[0m\x1b[38;2;1;2;3;48;2;1;2;3mb\x1b[0m\x1b[8mc\x1b[0m\x1b[31;48;5;1md\x1b[0m\x1b[34;41me\n",
    ),
  )
    .toEqual([[{ text: "a" }, { text: "b" }, { text: "c" }, { text: "d" }, {
      text: "e",
      classes: "ansi-blue ansi-on-red",
    }]]);
});

test.for(
  [
    ["a sequence that is cut in two", ["a\x1b[3", "1mb\nc"], ["ab", "c"]],
    ["cursor movements and erasing", ["\x1b[2J\x1b[1;1Hmove\x1b[K\n"], ["move"]],
    ["what greps write", ["\x1b[01;31m\x1b[Kmatch\x1b[m\x1b[K rest\n"], ["match rest"]],
    ["titles and character sets", ["\x1b]0;title\x07a\x1b(Bb\n"], ["ab"]],
    ["progress that overwrites its line", ["10%\r50%\r100%\r\ndone\r\n"], ["100%", "done"]],
    ["progress that goes on", ["10%\r50%"], ["50%"]],
    ["progress of a name", ["\x1b[2Kget 1/9 \r\x1b[2Kget 2/9 ▏\rdone\n"], ["get 2/9 ▏", "done"]],
    ["what a carriage return would hide", ["rm -rf /\rall is well\n\rx\r\n"], ["rm -rf /", "all is well", "x"]],
    ["lines that end with carriage returns", ["a\rb\rc"], ["a", "b", "c"]],
    ["an empty line", ["a\n\r\n\nb\n"], ["a", "", "", "b"]],
    ["a lone escape at the end", ["a\x1b"], ["a"]],
    ["markup", ["<b onclick=x>&amp;</b>\n"], ["<b onclick=x>&amp;</b>"]],
  ] as const,
)("shows %s as text", ([, texts, want]) => {
  expect(textOf(...texts)).toEqual(want);
});

test("keeps the last lines, each with an id of its own", () => {
  const log = createLogLines(3);
  log.add("1\n2\n3\n4\n5\nrest");
  expect(log.lines().map(({ text }) => text)).toEqual(["3", "4", "5", "rest"]);
  expect(new Set(log.lines().map(({ id }) => id)).size).toBe(4);
});
