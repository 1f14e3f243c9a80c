/** Switches the runtime, and so all that it starts and writes, to the user of `--user`. @module */
import { readFileSync } from "node:fs";
import process from "node:process";

interface Switches {
  initgroups?(user: string, group: number): void;
}

/** A user of the container. */
interface User {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/**
 * Gives the process, and all later ones, the user's id, groups and home. Commands and requests for files then have the
 * same rights, and what they write has the same owner. The switch cannot be undone.
 *
 * @param name name or number of a user in `passwd`
 * @throws {RangeError} if there is no such user, or this process is another user and not root
 */
export function becomeUser(name: string, passwd = readFileSync("/etc/passwd", "utf8")): void {
  const user = findUser(name, passwd);
  if (!user) throw new RangeError(`Cannot use --user ${name}: /etc/passwd of the image has no such user`);
  // The types lack initgroups(). Deno has none of these functions.
  const { getuid, initgroups, setgid, setuid } = process as Partial<typeof process> & Switches;
  if (getuid?.() === user.uid) return;
  if (getuid?.() !== 0 || !initgroups || !setgid || !setuid) {
    const remedy = "Start the container as root: runAsUser: 0, and hostUsers: false if the cluster has user namespaces";
    throw new RangeError(`Cannot use --user ${name}: only root can switch to another user. ${remedy}.`);
  }
  initgroups(user.name, user.gid);
  setgid(user.gid);
  setuid(user.uid);
  Object.assign(process.env, { HOME: user.home, USER: user.name, LOGNAME: user.name });
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
