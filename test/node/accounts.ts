/** Users for the image of the runtime, which has none but root: a ConfigMap, and how a container mounts it. @module */

const NAME = "accounts";
const PASSWD = "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/workspace:/bin/sh\nother:x:1001:1001::/tmp:/bin/sh\n";
const GROUP = "root:x:0:\nuser:x:1000:\nextra:x:2000:user\n";

export const ACCOUNTS = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: NAME },
  data: { passwd: PASSWD, group: GROUP },
};

export const ACCOUNT_VOLUME = { name: NAME, configMap: { name: NAME } };

export const ACCOUNT_MOUNTS = ["passwd", "group"].map((file) => ({
  name: NAME,
  mountPath: `/etc/${file}`,
  subPath: file,
}));
