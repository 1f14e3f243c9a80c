/** Which folder may import what: the rules of AGENTS.md, as a test. @module */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

interface Rule {
  files: string;
  /** Folders and packages that may be imported for their values; types may come from @kubernetes/client-node too. */
  values: RegExp[];
}

const HTTP = [/^hono(\/|$)/, /^prom-client$/];
const KUBE = [/^lib\//, /^kube\//, /^(zod|yaml)$/, /^node:/];
const BINDER = [...KUBE, /^(api|binder|claims|diagnosis)\//, /^prom-client$/];
const KEEPER = [...BINDER, /^keeper\//, ...HTTP];
/** What runs in every sandbox, and what everything passes through, stay small: no client-node, no kinds they need not know. */
const STREAMS = [/^(zod|hono|prom-client|ws|tar-stream)(\/|$)/, /^@hono\/node-server$/, /^lib\//, /^node:/];
const SDK = [
  ...[/^(sdk|api|kube|lib|diagnosis)\//, /^runtime\/gen\//],
  ...[/^(zod|tar-stream)$/, /^@(bufbuild|connectrpc)\/(?!connect-node)/],
];
const RULES: Rule[] = [
  { files: "lib/*.ts", values: [/^lib\//, /^zod$/] },
  { files: "lib/{app,health,intake,metrics}.ts", values: [/^lib\//, /^zod$/, ...HTTP] },
  // Loaded where somebody asks for a recording, and nowhere else.
  { files: "lib/recording.ts", values: [/^lib\//, /^node:(buffer|fs\/promises|path|zlib)$/] },
  { files: "lib/tarwriter.ts", values: [/^tar-stream$/] },
  { files: "lib/{hosts,ports,proctable}.ts", values: [/^node:(buffer|fs|net)$/] },
  { files: "lib/runprocess.ts", values: [/^lib\//, /^node:process$/] },
  { files: "lib/{serve,runhook}.ts", values: [/^lib\//, ...HTTP, /^@hono\/node-server$/, /^node:(http|util)$/] },
  { files: "api/*.ts", values: [/^lib\//, /^api\//, /^zod$/] },
  { files: "claims/*.ts", values: [/^lib\//, /^api\//, /^claims\//] },
  { files: "diagnosis/**/*.ts", values: [/^lib\//, /^api\//, /^claims\//, /^diagnosis\//, /^zod$/] },
  { files: "hooks/*/*.ts", values: [/^lib\//, /^api\//, /^claims\//, /^diagnosis\//, /^zod$/] },
  { files: "kube/*.ts", values: KUBE },
  // client-node costs 60 MiB: it is loaded where a kubeconfig needs it, and nowhere else.
  { files: "kube/credentials.ts", values: [...KUBE, /^@kubernetes\/client-node$/] },
  // It decides as the hooks of pools and claims do, by the same functions.
  { files: "binder/*.ts", values: [...BINDER, /^hooks\/(sandboxclaim|sandboxwarmpool)\//] },
  { files: "keeper/*.ts", values: KEEPER },
  // What a hook would create, the keeper tries out: one place names both.
  {
    files: "keeper/main.ts",
    values: [...KEEPER, /^hooks\/sandbox\/(pod|pvcs|service)\.ts$/, /^hooks\/sandboxtemplate\/networkpolicy\.ts$/],
  },
  {
    files: "runtime/**/*.ts",
    values: [...STREAMS, /^runtime\//, /^@(bufbuild|connectrpc|fastify|lydell)\//, /^es-module-lexer$/],
  },
  { files: "replay/*.ts", values: [/^lib\//, /^replay\//, /^tools\/serve\/hooks\.ts$/, /^node:/] },
  {
    files: "testing/**/*.ts",
    values: [
      ...[/^testing\//, /^(api|binder|claims|keeper|kube|lib|sdk)\//, /^hooks\/[^/]+\/[^/]+\.ts$/, /^(zod|yaml)$/],
      ...[/^dev\/metacontroller\/(engine|fake-clock|memory-\w+|selector|store|store-memory)\.ts$/],
      ...[/^tools\/(manifests\/render|serve\/hooks)\.ts$/, /^node:(fs|timers)\/promises$/],
    ],
  },
  {
    files: "testing/podruntimes.ts",
    values: [/^(lib|sdk)\//, /^runtime\/(assemble|options)\.ts$/, /^node:(fs|os|path)$/],
  },
  { files: "sdk/**/*.ts", values: SDK },
  // What needs Node's own modules is loaded when it is asked for: see the last test.
  {
    files: "sdk/{disk/*,setup/cluster,transport/{channels,exec,forward}}.ts",
    values: [...SDK, /^node:/, /^(ws|yaml)$/],
  },
  { files: "router/**/*.ts", values: [...STREAMS, /^router\//, /^kube\//, /^api\//] },
  {
    files: "mcp/**/*.ts",
    values: [...HTTP, ...KUBE, /^@hono\/node-server$/, /^@modelcontextprotocol\/sdk\//, /^mcp\//, /^sdk\//],
  },
];
const ROOT = new URL("../", import.meta.url).pathname;
const IMPORT = /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:[^"';]*?from\s+)?"([^"]+)"|import\("([^"]+)"\)/g;

const COVERED = RULES.map((rule) => ({ rule, covers: new Set(globSync(rule.files, { cwd: ROOT })) }));

/** The last rule that covers a file is its rule. */
function ruleOf(file: string): Rule | undefined {
  return COVERED.findLast(({ covers }) => covers.has(file))?.rule;
}

interface Import {
  specifier: string;
  typeOnly: boolean;
  isDynamic: boolean;
}

function imports(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(IMPORT)].map(([, type, from, dynamic]) => {
    const specifier = from ?? dynamic ?? "";
    const resolved = specifier.startsWith(".") ? normalize(join(dirname(file), specifier)) : specifier;
    return { specifier: resolved, typeOnly: type !== undefined, isDynamic: dynamic !== undefined };
  });
}

const files = globSync([
  "{lib,api,binder,claims,kube,keeper,replay}/*.ts",
  "hooks/*/*.ts",
  "{diagnosis,mcp,router,runtime,sdk,testing}/**/*.ts",
], {
  cwd: ROOT,
})
  .sort();

test("every folder imports only what it may", () => {
  const wrong = files.flatMap((file) => {
    const rule = ruleOf(file);
    const hook = /^hooks\/[^/]+\//.exec(file)?.[0];
    const allowed = ({ specifier, typeOnly }: Import) =>
      rule?.values.some((pattern) => pattern.test(specifier)) || (hook && specifier.startsWith(hook)) ||
      (typeOnly && specifier === "@kubernetes/client-node");
    return imports(file).filter((found) => !allowed(found)).map(({ specifier }) => `${file} imports ${specifier}`);
  });
  expect(files.length).toBeGreaterThan(300);
  expect(wrong).toEqual([]);
});

test("only the runtime's edge names Deno or process", () => {
  const naming = files.filter((file) =>
    /\b(Deno\.\w|globalThis\.process)/.test(readFileSync(join(ROOT, file), "utf8"))
  );
  expect(naming.filter((file) => !/^(keeper|kube|replay|router|runtime)\//.test(file)).toSorted()).toEqual([
    "lib/deadlines.ts",
    "lib/serve.ts",
  ]);
});

test("random tests begin with the seed of the run", () => {
  const tests = globSync("test/**/*.ts", { cwd: ROOT });
  const own = tests.filter((file) => imports(file).some(({ specifier }) => specifier === "fast-check"));
  expect(own).toEqual(["test/properties.ts"]);
});

test("no file of ours is over 250 lines", () => {
  const folders =
    "{api,bench,binder,claims,cli,diagnosis,lib,hooks,keeper,kube,mcp,replay,router,runtime,sdk,testing,tools,dev,test}";
  const all = globSync([`${folders}/**/*.ts`, "*.ts"], { cwd: ROOT, exclude: ["runtime/gen/**"] });
  const long = all.filter((file) => readFileSync(join(ROOT, file), "utf8").split("\n").length - 1 > 250);
  expect(long).toEqual([]);
});

/** Packages that a browser can load, too. */
const ANYWHERE = /^(zod|@bufbuild\/protobuf(\/\w+)?|@connectrpc\/connect(-web)?)$/;

/** What is loaded with a file: packages and built-in modules, each with the files that lead to it. */
function loadedWith(file: string, way: string[] = [], seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const loaded = imports(file).filter(({ typeOnly, isDynamic }) => !typeOnly && !isDynamic);
  return loaded.flatMap(({ specifier }) => {
    if (specifier.endsWith(".ts")) return loadedWith(specifier, [...way, file], seen);
    return ANYWHERE.test(specifier) ? [] : [[...way, file, specifier].join(" > ")];
  });
}

test("what a browser may load of the SDK loads nothing that only Node has", () => {
  const roots = globSync(
    ["sdk/mod.ts", "sdk/{files,code,runtime}/*.ts", "sdk/transport/{transport,direct,router}.ts"],
    {
      cwd: ROOT,
    },
  );
  expect(roots.length).toBeGreaterThan(20);
  expect(roots.flatMap((file) => loadedWith(file))).toEqual([]);
});
