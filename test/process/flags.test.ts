/** The table of options: what is read by it, its errors, and the help. @module */
import { expect, expectTypeOf, test } from "vitest";
import { describe, helpOf } from "../../packages/process/flaghelp.ts";
import {
  choice,
  DURATION,
  flag,
  HTTP_URL,
  LIST,
  number,
  PORT,
  type Program,
  readCommandLine,
  section,
  SIZE,
  SWITCH,
  TEXT,
  wholeNumber,
} from "../../packages/process/flags.ts";

const since = "0.1.0";
const PROGRAM = {
  name: "example",
  about: "Shows options.",
  flags: {
    "root-folder": flag(TEXT, { help: "where files are", since, placeholder: "DIR", default: "/", aliases: ["root"] }),
    context: flag(TEXT, { help: "which context", since, otherwise: "the current one", needs: ["root-folder"] }),
    "exec-timeout": flag(DURATION, { help: "longest run", since, default: "5m", env: "EXEC_TIMEOUT" }),
    wake: flag(SWITCH, { help: "wake nothing", since, default: "true" }),
    quiet: flag(SWITCH, { help: "say nothing", since, default: "false" }),
    ...section("Limits", {
      workers: flag(wholeNumber(1, 8), { help: "how many work at once", since, default: "2" }),
      rate: flag(number(), { help: "work a second", since, default: "0.5" }),
      level: flag(choice(["low", "high"]), { help: "low or high", since, default: "low" }),
      hosts: flag(LIST, { help: "who may come", since, default: "" }),
      "max-upload": flag(SIZE, { help: "largest file", since, default: "4Ki" }),
      port: flag(PORT, { help: "port to listen on", since, default: "0" }),
      "otlp-endpoint": flag(HTTP_URL, { help: "where spans go", since, default: "" }),
    }),
  },
  gone: { colour: { since: "0.3.0", why: "as nothing is shown in colours" } },
} satisfies Program;

const read = (...args: string[]) => readCommandLine(PROGRAM, args)?.values;

test("without arguments every option has its default, under its name in camelCase", () => {
  expect(read()).toEqual({
    rootFolder: "/",
    context: undefined,
    execTimeout: 300_000,
    wake: true,
    quiet: false,
    workers: 2,
    rate: 0.5,
    level: "low",
    hosts: [],
    maxUpload: 4096,
    port: 0,
    otlpEndpoint: undefined,
  });
  expectTypeOf(read()!).toMatchObjectType<{
    context: string | undefined;
    execTimeout: number;
    level: "low" | "high";
    hosts: string[];
    wake: boolean;
  }>();
});

test.for<[string, object]>([
  ["--workers 8", { workers: 8 }],
  ["--workers=3 --workers=4", { workers: 4 }],
  ["--root /a", { rootFolder: "/a" }],
  ["--root-folder /a --context c", { rootFolder: "/a", context: "c" }],
  ["--no-wake --quiet", { wake: false, quiet: true }],
  ["--wake=false --quiet=true", { wake: false, quiet: true }],
  ["--wake --no-quiet", { wake: true, quiet: false }],
  ["--exec-timeout 1m30s", { execTimeout: 90_000 }],
  ["--exec-timeout 1.5", { execTimeout: 1500 }],
  ["--exec-timeout 1000h", { execTimeout: 2 ** 31 - 1 }],
  ["--hosts a,b,", { hosts: ["a", "b"] }],
  ["--max-upload 2Mi", { maxUpload: 2 * 1024 ** 2 }],
  ["--otlp-endpoint http://c:4318//", { otlpEndpoint: "http://c:4318" }],
])("reads %s", ([args, values]) => expect(read(...args.split(" "))).toMatchObject(values));

test.for<[string, string]>([
  ["--workers 9", 'Cannot use --workers "9": use a whole number from 1 to 8'],
  ["--workers 1.5", 'Cannot use --workers "1.5": use a whole number from 1 to 8'],
  ["--workers=", 'Cannot use --workers "": use a whole number from 1 to 8'],
  ["--workers", "Cannot use --workers without a value: use a whole number from 1 to 8"],
  ["--workers --quiet", "Cannot use --workers without a value: use a whole number from 1 to 8"],
  ["--rate -1", 'Cannot use --rate "-1": use a number of at least 0'],
  ["--level loud", 'Cannot use --level "loud": use low or high'],
  ["--exec-timeout soon", 'Cannot use --exec-timeout "soon": use a duration such as 200ms, 30s, 1m30s, or seconds'],
  ["--max-upload 1GB", 'Cannot use --max-upload "1GB": use a size such as 65536, 64Ki or 1Gi'],
  ["--port 70000", 'Cannot use --port "70000": use a whole number from 0 to 65535'],
  ["--otlp-endpoint ftp://c", 'Cannot use --otlp-endpoint "ftp://c": use an http or https URL'],
  ["--quiet=maybe", 'Cannot use --quiet "maybe": use true or false'],
  ["--no-quiet=true", 'Cannot use --no-quiet "true": it takes no value'],
  ["--context c", "Cannot use --context without --root-folder"],
  ["--colour red", "Cannot use --colour: it is gone since 0.3.0, as nothing is shown in colours"],
  ["--no-colour", "Cannot use --no-colour: it is gone since 0.3.0, as nothing is shown in colours"],
  ["--constructor", 'Unknown option "--constructor": see --help'],
  ["--nonsense", 'Unknown option "--nonsense": see --help'],
  ["--no-workers", 'Unknown option "--no-workers": see --help'],
  ["-x", 'Unknown option "-x": see --help'],
  ["stray", 'Unknown argument "stray": see --help'],
  ["-- --quiet", 'Unknown argument "--quiet": see --help'],
])("refuses %s", ([args, message]) => {
  expect(() => read(...args.split(" "))).toThrow(new RegExp(`^${RegExp.escape(message)}`));
});

test("a variable of the environment counts where the command line has no value, and an error names it", () => {
  const timeout = (env: Record<string, string>, ...args: string[]) =>
    readCommandLine(PROGRAM, args, (name) => env[name])?.values.execTimeout;
  expect(timeout({ EXEC_TIMEOUT: "20" })).toBe(20_000);
  expect(timeout({ EXEC_TIMEOUT: "20" }, "--exec-timeout", "1s")).toBe(1000);
  expect(() => timeout({ EXEC_TIMEOUT: "x" })).toThrow('Cannot use EXEC_TIMEOUT "x": use a duration');
});

test("arguments that are no options are taken where the program names them, and help is asked for anywhere", () => {
  expect(readCommandLine({ ...PROGRAM, operands: "[file…]" }, ["a", "--quiet", "b"])?.operands).toEqual(["a", "b"]);
  for (const help of ["--help", "-h"]) expect(read("--workers", "many", help)).toBeUndefined();
});

test("an error does not repeat a value that may contain a password", () => {
  const flags = { url: flag({ ...HTTP_URL, isSecret: true }, { help: "", since }) };
  expect(() => readCommandLine({ flags }, ["--url", "u:p@c"])).toThrow(/^Cannot use --url: use an http or https URL/);
});

test("helpOf() writes each option under its heading, with what happens without it", () => {
  expect(helpOf({ ...PROGRAM, operands: "[file…]", notes: "Sizes: bytes." })).toBe(`Usage: example [file…] [options]

Shows options.

Options:
  --root-folder DIR               where files are (default /); also --root
  --context TEXT                  which context (default: the current one); needs --root-folder
  --exec-timeout D                longest run (default: the variable EXEC_TIMEOUT, or 5m)
  --no-wake                       wake nothing
  --quiet                         say nothing
  --help                          this text

Limits:
  --workers N                     how many work at once (default 2)
  --rate N                        work a second (default 0.5)
  --level X                       low or high (default low)
  --hosts A,B                     who may come
  --max-upload N                  largest file (default 4Ki)
  --port P                        port to listen on (default 0)
  --otlp-endpoint URL             where spans go

Sizes: bytes.
`);
  const help = "word ".repeat(40).trim();
  const flags = { "an-option-with-a-name-that-is-long": flag(TEXT, { help, since }) };
  const lines = helpOf({ name: "x", about: "X.", flags }).split("\n").slice(5, 9);
  expect(lines.map((line) => line.trim().split(" ").length)).toEqual([2, 17, 17, 6]);
  expect(describe(flags["an-option-with-a-name-that-is-long"])).toBe(help);
});
