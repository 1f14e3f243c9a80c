/** Tells whose program has opened a connection on this machine, as far as Linux says it. @module */
import { readFile } from "node:fs/promises";
import process from "node:process";

/** The two ends of a connection, as the side that listens sees them. */
export interface ConnectionPorts {
  localPort?: number | undefined;
  remotePort?: number | undefined;
}

/**
 * Returns whether a program of this process's user, or of root, has opened the connection. True if nobody can tell:
 * outside Linux, or if this process is root's.
 */
export async function isOwnConnection(ports: ConnectionPorts): Promise<boolean> {
  const uid = process.getuid?.() ?? 0;
  if (uid === 0) return true;
  // A socket of IPv6 can connect to an address of IPv4.
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFile(path, "latin1").catch(() => ""));
  return isOfUser((await Promise.all(tables)).join("\n"), ports, uid);
}

/** Columns of a row of /proc/net/tcp: ports are hexadecimal; a closed socket has inode 0, and no user. */
const ROW = /^ *\d+: [\dA-F]+:([\dA-F]{4}) [\dA-F]+:([\dA-F]{4}) (?:\S+ +){4}(\d+) +\d+ +(\d+)/gm;

/** Decides by the text of /proc/net/tcp and tcp6. Pure. */
export function isOfUser(table: string, { localPort, remotePort }: ConnectionPorts, uid: number): boolean {
  const rows = [...table.matchAll(ROW)].map(([, from = "", to = "", owner, inode]) => ({
    from: parseInt(from, 16),
    to: parseInt(to, 16),
    isOwn: inode !== "0" && (Number(owner) === uid || owner === "0"),
  }));
  if (!rows.some(({ from }) => from === localPort)) return true;
  const clients = rows.filter(({ from, to }) => from === remotePort && to === localPort);
  return clients.length > 0 && clients.every(({ isOwn }) => isOwn);
}
