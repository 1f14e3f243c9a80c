// For `node --import`: all hosts below `.example` are on loopback.
import dns from "node:dns";

const { lookup } = dns;
dns.lookup = (host, ...rest) => lookup(host.endsWith(".example") ? "127.0.0.1" : host, ...rest);
