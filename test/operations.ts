/** Counts what a function does to lists, Maps and Sets, so that a test can say how work grows without a clock. @module */

/** Methods that call back for each item, and such as go through a list by themselves. */
const CALLING = [
  "every",
  "some",
  "find",
  "findIndex",
  "filter",
  "map",
  "forEach",
  "flatMap",
  "reduce",
  "sort",
  "toSorted",
];
const WALKING = ["includes", "indexOf", "lastIndexOf", "concat", "slice", "splice", "join", "flat", Symbol.iterator];

/** What goes through Maps and Sets, be it a loop, spreading, or a method of iterators. */
const ITERATORS = [new Map().values(), new Set().values()].map((iterator) => Object.getPrototypeOf(iterator));

type Method = (this: unknown[], ...args: unknown[]) => unknown;

/** Calls `work`, which must not wait for anything; returns how many items it has looked at, each time counted anew. */
export function operationsOf(work: () => unknown): number {
  const methods = Array.prototype as unknown as Record<string | symbol, Method>;
  const originals = [...CALLING, ...WALKING].map((name) => [name, methods[name] as Method] as const);
  let operations = 0;
  // No spreading in here: it would go through a list itself.
  const isCalling = new Set<string | symbol>(CALLING);
  for (let i = 0; i < originals.length; i++) {
    const [name, original] = originals[i] as (typeof originals)[number];
    methods[name] = isCalling.has(name)
      ? function (callback, ...rest) {
        if (typeof callback !== "function") return Reflect.apply(original, this, [callback]);
        const counting = (...args: unknown[]) => {
          operations++;
          return Reflect.apply(callback as Method, undefined, args);
        };
        rest.unshift(counting);
        return Reflect.apply(original, this, rest);
      }
      : function (...args) {
        operations += this.length;
        return Reflect.apply(original, this, args);
      };
  }
  const nexts = ITERATORS.map((iterator) => [iterator, iterator.next as Method] as const);
  for (let i = 0; i < nexts.length; i++) {
    const [iterator, next] = nexts[i] as (typeof nexts)[number];
    iterator.next = function () {
      operations++;
      return Reflect.apply(next, this, []);
    };
  }
  try {
    work();
  } finally {
    nexts.forEach(([iterator, next]) => iterator.next = next);
    originals.forEach((pair) => methods[pair[0]] = pair[1]);
  }
  return operations;
}
