/** Options of a runtime that takes free ports, so that several run side by side. @module */
export const FREE_PORTS = "--port 0 --rest-port 0 --grpc-port 0 --envd-port 0 --interpreter-port 0".split(" ");
