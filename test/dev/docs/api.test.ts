/** The page about fields: what a reader needs of a CRD, and nothing of what Kubernetes explains itself. @module */
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { apiPage } from "../../../dev/docs/reference.ts";

const schema = {
  description: "Box holds things.",
  properties: {
    kind: { description: "The kind.", type: "string" },
    spec: {
      description: "What it should be.",
      required: ["mode"],
      properties: {
        mode: { description: "On | off.", type: "string", enum: ["On", "Off"], default: "On" },
        size: { description: "How much.", type: "integer", minimum: 0, maximum: 9 },
        until: { description: "Named <box>-<n>.", type: "string", format: "date-time" },
        own: { description: "As in core/v1.", type: "object", properties: { deep: { type: "string" } } },
        items: {
          description: "Things.",
          type: "array",
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { description: "Its name.", type: "string" } },
          },
        },
        labels: { description: "Labels.", type: "object", additionalProperties: { type: "string" } },
      },
      "x-kubernetes-validations": [{ message: "items are immutable", rule: "self.items == oldSelf.items" }],
    },
    status: {
      description: "What it is.",
      properties: { ips: { description: "Its.", type: "array", items: { type: "string" } } },
    },
  },
};
const crd = stringify({
  spec: {
    group: "example.dev",
    names: { kind: "Box", plural: "boxes", shortNames: ["box", "bx"] },
    versions: [{ name: "v1", schema: { openAPIV3Schema: schema } }],
  },
});

test("apiPage() lists the fields that have a description, with types, limits and rules", () => {
  const [, , places, ...sections] = apiPage([crd]).trim().split("\n\n");
  expect(places).toBe("[Box](#box)");
  expect(sections).toEqual([
    "## Box",
    "Box holds things.",
    "`apiVersion: example.dev/v1`. For kubectl: `boxes`, `bx`.",
    `| field | type | meaning |
| --- | --- | --- |
| \`spec.mode\`* | \`On\`, \`Off\` | On \\| off. (default \`On\`) |
| \`spec.size\` | integer | How much. (at least 0, at most 9) |
| \`spec.until\` | time | Named \\<box>-\\<n>. |
| \`spec.own\` | object | As in core/v1. |
| \`spec.items\` | list of objects | Things. |
| \`spec.items[].name\`* | string | Its name. |
| \`spec.labels\` | map of strings | Labels. |
| \`status.ips\` | list of strings | Its. |`,
    "The API server refuses what breaks a rule:",
    "- `spec`: items are immutable",
  ]);
});
