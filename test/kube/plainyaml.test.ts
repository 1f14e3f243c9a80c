/** What readPlainYAML() reads, it reads as js-yaml does. @module */
import { dump, load } from "js-yaml";
import { expect, test } from "vitest";
import { readPlainYAML } from "../../packages/kube/plainyaml.ts";
import fc, { runs } from "../properties.ts";

/** As kubectl writes it; the last user as gcloud does. */
const KUBECTL = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTi/+ABC==
    server: https://10.212.212.1:26950
  name: hookbox
- cluster:
    insecure-skip-tls-verify: true
    server: https://[fd00::1]:6443
  name: "true"
contexts:
- context:
    cluster: hookbox
    namespace: team-a
    user: arn:aws:eks:eu-west-1:123:cluster/x
  name: admin@hookbox
current-context: ""
kind: Config
preferences: {}
users:
- name: hookbox
  user:
    token: 57387232e3bb66a12b33591f967c0970
- name: plugin
  user:
    exec:
      args:
      - get-token
      - --cluster
      command: gke-gcloud-auth-plugin
      env: null
      provideClusterInfo: false
`;

test("reads what kubectl writes", () => {
  const text = KUBECTL.replace("https://[fd00::1]:6443", "https://two.example");
  expect(readPlainYAML(text)).toEqual(load(text));
  expect(readPlainYAML(text.replaceAll("\n", "\r\n"))).toEqual(load(text));
  const indented = dump(load(text), { lineWidth: -1 });
  expect(readPlainYAML(`# from js-yaml\n\n${indented}`)).toEqual(load(text));
});

test.for([
  ["a number", "a: 7"],
  ["a number in a text's place", "name: 1e3"],
  ["a comment behind a value", "a: b # c"],
  ["an anchor", "a: &x b"],
  ["a map in one line", "a: {b: c}"],
  ["a text of several lines", "a: b\n  c"],
  ["a text of several lines, as a block", "a: |\n  b"],
  ["an escape", 'a: "\\n"'],
  ["a tag", "a: !!str b"],
  ["a second document", "a: b\n---\nc: d"],
  ["a key twice", "a: b\na: c"],
  ["a key that is a boolean", "False: b"],
  ["a list less indented than its map", "a:\n    b: c\n  - d"],
  ["a tab", "a:\tb"],
  ["nothing", "# only a comment\n"],
])("leaves %s to a parser for all of YAML", ([, text]) => {
  expect(readPlainYAML(text ?? "")).toBeUndefined();
});

/** Texts that mean something in YAML, in places where anything may be. */
const PIECES = [
  ..." \n-:#'\"\\{}[],&*!|>%@`~?=\t\r",
  ...["  ", "- ", "- - ", ": ", ":\n", " #", "\n  ", "\n- ", "---\n", "...\n", "<<: ", "__proto__: ", "? ", "!!int "],
  ...[
    "null",
    "Null",
    "~",
    "true",
    "False",
    "yes",
    "07",
    "0x1f",
    "0o7",
    "1.5",
    "1e3",
    ".inf",
    "-1",
    "1_0",
    "2020-01-01",
  ],
  ...["a: b", "a:", "- a", "é", "\u2028", "\ufeff", "\0", "\x85"],
];

test("whatever it reads, js-yaml reads too, with the same result", () => {
  const edit = fc.record({ at: fc.nat(KUBECTL.length), cut: fc.nat(6), piece: fc.constantFrom("", ...PIECES) });
  let count = 0;
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), fc.nat(KUBECTL.length), (edits, length) => {
      const base = KUBECTL.slice(0, length);
      const text = edits.reduce((now, { at, cut, piece }) => {
        const place = at % (now.length + 1);
        return now.slice(0, place) + piece + now.slice(place + cut);
      }, base);
      const read = readPlainYAML(text);
      if (read === undefined) return;
      count++;
      expect(read, text).toEqual(load(text));
    }),
    { numRuns: runs(3000) },
  );
  expect(count, "texts that it has read").toBeGreaterThan(100);
});
