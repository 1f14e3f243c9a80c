/**
 * Decides as which user a call runs. Without `--allow-users`, this process becomes one user. With it, this process stays
 * root, and each other user has a runtime of its own.
 * @module
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import type { Log } from "../../process/log.ts";
import { exit } from "../../process/runprocess.ts";
import { Refused } from "../files/refused.ts";
import type { RuntimeOptions } from "../options.ts";
import type { BoundVariables } from "../processes/command.ts";
import { startUserRuntime, type UserRuntime } from "./userruntime.ts";

/** A user of the container. */
export interface User {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/** The users as which calls run. */
export interface Users {
  /** Whether every call runs in this process. */
  isSingle: boolean;
  /** Returns quietly if callers may choose this user; empty or undefined: they choose none. @throws {Refused} */
  check(name: string | null | undefined): void;
  /**
   * Returns the runtime of the user that a caller chooses, and starts it if necessary. Undefined: this process.
   *
   * @param name empty or undefined: the default user
   * @throws {Refused} PERMISSION_DENIED: callers may not choose this user; UNAVAILABLE: the runtime does not start
   */
  runtimeOf(name: string | null | undefined): Promise<UserRuntime | undefined>;
  /** The runtimes of other users that run at present. */
  others(): UserRuntime[];
  /** The runtime of the default user, which keeps the variables of late binding. Undefined: this process is it. */
  home: UserRuntime | undefined;
  /** Says where relative paths start, and which variables are bound. Called once, before the first call. */
  share(workdir: string, env: BoundVariables): void;
  /** Makes all other runtimes stop as this one does. */
  stop(): void;
}

/** Every call runs in this process, and callers choose no user. */
export const ONE_USER: Users = {
  isSingle: true,
  check: (name) => refuseOthers(name, undefined),
  runtimeOf: () => Promise.resolve(undefined),
  others: () => [],
  home: undefined,
  share: () => {},
  stop: () => {},
};

/** The options that say who runs what. */
type UserOptions = Pick<RuntimeOptions, "user" | "allowUsers">;

/**
 * Becomes the user of the options, or stays root and starts the runtime of the default user.
 *
 * @param entry the main module, which a child process runs
 * @throws {RangeError} if the image lacks a user, or this process must be root and is not
 */
export async function createUsers(options: UserOptions, entry: string | undefined, log: Log): Promise<Users> {
  const { user, allowUsers } = options;
  if (allowUsers.length > 0) return await createChoice(options, entry, log);
  if (user !== undefined) becomeUser(user);
  return { ...ONE_USER, check: (name) => refuseOthers(name, user) };
}

function refuseOthers(name: string | null | undefined, own: string | undefined): void {
  if (!name || name === (own ?? accountOf(process.getuid?.())?.name)) return;
  const remedy = `Its template can allow it: start the container as root, with the argument --allow-users ${name}`;
  throw new Refused(
    "PERMISSION_DENIED",
    `Cannot run as ${quoted(name)}: callers may not choose a user here. ${remedy}`,
  );
}

async function createChoice({ user, allowUsers }: UserOptions, entry: string | undefined, log: Log): Promise<Users> {
  const passwd = readPasswd();
  // Read once: a later change of /etc/passwd must not give callers another user.
  const accounts = new Map<string, User>();
  for (const name of allowUsers) accounts.set(name, existing(name, "--allow-users", passwd));
  const defaultUser = user === undefined ? undefined : existing(user, "--user", passwd);
  for (const account of [...accounts.values(), ...defaultUser ? [defaultUser] : []]) {
    accounts.set(account.name, account);
  }
  if (!isRoot() || entry === undefined) throw notRoot("--allow-users", allowUsers.join());
  const runtimes = new Map<number, Promise<UserRuntime>>();
  const started = new Set<UserRuntime>();
  let isOver = false;
  let shared: { workdir: string; env: BoundVariables } | undefined;
  const launch = async (account: User): Promise<UserRuntime> => {
    const runtime = await startUserRuntime(entry, account, shared);
    started.add(runtime);
    void runtime.ended.then((how) => {
      started.delete(runtime);
      runtimes.delete(account.uid);
      if (isOver) return;
      log("error", "The runtime of a user ended", { user: account.name, how });
      // What was bound is lost with it, as at any other restart of the container.
      if (account === defaultUser) exit(1);
    });
    return runtime;
  };
  const get = (account: User): Promise<UserRuntime> => {
    const known = runtimes.get(account.uid);
    if (known) return known;
    const launching = launch(account);
    runtimes.set(account.uid, launching);
    launching.catch(() => runtimes.delete(account.uid));
    return launching;
  };
  const check = (name: string | null | undefined) => {
    if (!name || accounts.has(name) || (!defaultUser && name === accountOf(0, passwd)?.name)) return;
    const allowed = [...accounts.keys()].join(", ");
    throw new Refused("PERMISSION_DENIED", `Cannot run as ${quoted(name)}: this sandbox allows only ${allowed}`);
  };
  const home = defaultUser && defaultUser.uid !== 0 ? await get(defaultUser) : undefined;
  if (home) becomeAtHome(accountOf(0, passwd));
  return {
    isSingle: false,
    check,
    home,
    runtimeOf: async (name) => {
      check(name);
      const account = name ? accounts.get(name) : defaultUser;
      if (!account || account.uid === 0) return undefined;
      return await get(account).catch((error) => {
        const why = error instanceof Error ? error.message : String(error);
        throw new Refused("UNAVAILABLE", `Cannot run as ${quoted(account.name)}: ${why}`);
      });
    },
    others: () => [...started],
    share: (workdir, env) => shared = { workdir, env },
    stop: () => {
      isOver = true;
      for (const runtime of started) runtime.stop();
    },
  };
}

interface Switches {
  initgroups?(user: string, group: number): void;
}

/**
 * Gives the process, and all later ones, the user's id, groups and home. Commands and requests for files then have the
 * same rights, and what they write has the same owner. The switch cannot be undone.
 *
 * @param name name or number of a user in `passwd`
 * @throws {RangeError} if there is no such user, or this process is another user and not root
 */
export function becomeUser(name: string, passwd = readPasswd()): void {
  const user = existing(name, "--user", passwd);
  if (process.getuid?.() === user.uid) return;
  if (!isRoot()) throw notRoot("--user", name);
  switchTo(user);
}

/** As {@link becomeUser}, for a user who was looked up before. This process must be root. */
export function switchTo(user: User): void {
  // The types lack initgroups().
  const { initgroups, setgid, setuid } = process as Partial<typeof process> & Switches;
  initgroups?.(user.name, user.gid);
  setgid?.(user.gid);
  setuid?.(user.uid);
  becomeAtHome(user);
}

function becomeAtHome(user: User | undefined): void {
  if (user) Object.assign(process.env, { HOME: user.home, USER: user.name, LOGNAME: user.name });
}

/** Deno has none of the functions that switch the user. */
function isRoot(): boolean {
  const { getuid, initgroups } = process as Partial<typeof process> & Switches;
  return getuid?.() === 0 && initgroups !== undefined;
}

function existing(name: string, flag: string, passwd: string): User {
  const user = findUser(name, passwd);
  if (!user) throw new RangeError(`Cannot use ${flag} ${name}: /etc/passwd of the image has no such user`);
  return user;
}

function notRoot(flag: string, value: string): RangeError {
  const remedy = "Start the container as root: runAsUser: 0, and hostUsers: false if the cluster has user namespaces";
  return new RangeError(`Cannot use ${flag} ${value}: only root can switch to another user. ${remedy}.`);
}

function readPasswd(): string {
  return readFileSync("/etc/passwd", "utf8");
}

function accountOf(uid: number | undefined, passwd = readPasswd()): User | undefined {
  return uid === undefined ? undefined : findUser(String(uid), passwd);
}

/** Finds a user by name or number. Undefined: `passwd` has none. */
export function findUser(name: string, passwd: string): User | undefined {
  for (const line of passwd.split("\n")) {
    const [own = "", , uid = "", gid = "", , home = ""] = line.split(":");
    if (own !== "" && (own === name || uid === name)) {
      return { name: own, uid: Number(uid), gid: Number(gid), home: home || "/" };
    }
  }
  return undefined;
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
