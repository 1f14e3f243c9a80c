/**
 * What a lamp offers: all shapes that an export can have.
 *
 * ```ts run
 * import { light } from "lamp";
 *
 * await using lamp = await light("desk");
 * ```
 *
 * @module
 */
import type { Buffer } from "node:buffer";

/** How a lamp is lit. */
export interface LightOptions<T extends string = "white"> {
  /** Milliseconds until it is bright; like `@default` in code. @default {200} */
  fadeMs?: number;
  /**
   * Its colour, `warm | cold` included.
   *
   * @default {"red"}
   */
  readonly colour: T | "red" | undefined;
  /** Is told the level, 0 to 1. @throws {LampError} if it is out */
  onChange?: (level: number, ...rest: string[]) => void | Promise<void>;
  /** Tells the level at a time, 0 to 1; see {@link Lamp.watch} and {@link https://example.org | the standard}. */
  level(at: Date, zone?: string): number;
  [key: `x-${string}`]: unknown;
}

/** All that the printer has to know of types. */
export interface Types<T> {
  record: Record<string, readonly number[]> & { a?: 1; b(): void; readonly [key: string]: unknown };
  choice: T extends (infer U)[] ? U : { readonly [K in keyof T]?: T[K] };
  pair: [string, number?, ...boolean[]];
  values: -1 | true | null | 10n | typeof LIMIT | import("node:fs").Stats | (string | Buffer)[];
  make: new (x: number) => Lamp;
  (x: number): asserts x is 1;
}

/** What is wrong with a lamp, in one word. */
export type Fault = "a bulb that has burnt out" | "a cable that is loose" | "a switch that sticks" | "nobody at home";

/** Lights without a bulb: {@link LED.blink}. */
export interface LED extends Iterable<Lamp> {
  /** Blinks once. */
  blink(): void;
  blink(times: 1): void;
  /** Blinks several times. @throws {BulbError} if it has none */
  blink(times: number): Promise<void>;
  /** @internal */
  test(): void;
}

/** The brightest there is. */
export const LIMIT = 10;

/**
 * Lights a lamp.
 *
 * @param name which one, as in `lamp.name`
 * @param options.fadeMs how long it takes
 * @param rest what {@link LightOptions} leaves open
 * @returns the lamp; undefined if there is none
 * @throws {RangeError | LampError} if `name` names none
 * @example Two at once
 * ```ts
 * import { light } from "lamp";
 *
 * const both = await Promise.all([light("desk"), light("floor")]);
 * ```
 */
export async function light(
  name: string,
  { fadeMs = 3 }: LightOptions = { colour: "red", level: () => 0 },
  ...rest: string[]
): Promise<Lamp> {
  return await Promise.resolve(new Lamp(name + rest.join(), fadeMs));
}

/** Reads a level. */
export function read(text: string): number;
export function read(bytes: Uint8Array): number;
export function read(from: unknown): number {
  return Number(from);
}

/** A lamp. It lasts until it is disposed of. */
export class Lamp implements AsyncDisposable {
  /** As it is written on it. */
  readonly name: string;
  /** How many there are. */
  static count = 0;
  protected half = 3;
  #fadeMs: number;

  constructor(name: string, fadeMs: number) {
    this.name = name;
    this.#fadeMs = fadeMs;
  }

  /** Whether it is on. */
  get on(): boolean {
    return this.half > this.#fadeMs;
  }

  /** Yields each level, 0 to 1, as it changes. @throws {TypeError} if nobody looks */
  async *watch<T extends number>(this: Lamp, from: T): AsyncGenerator<T> {
    yield await Promise.resolve(from);
  }

  /** Makes a lamp without light. */
  static of(options?: LightOptions): Lamp {
    return new Lamp(String(options?.colour), 0);
  }

  /** Puts it out. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** A lamp failed. */
export class LampError extends Error {
  /** What is wrong. */
  readonly fault: Fault = "nobody at home";
}

/** Its bulb did, `on | off`. */
export class BulbError extends LampError {}
