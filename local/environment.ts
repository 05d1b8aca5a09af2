import { devNull } from "node:os";
import { delimiter, dirname } from "node:path";

/** The only readers of `process.env` in this folder take it through here, so tests can hand in their own. */
export type Env = Record<string, string | undefined>;

export function hostEnvironment(): Env {
  return process.env;
}

/** What the SDK and the CDK CLI need to talk to `endpoint`, and to nothing else. */
export function awsEnvironment(endpoint: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: "us-east-1",
    AWS_DEFAULT_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_EC2_METADATA_DISABLED: "true",
    CDK_DISABLE_CLI_TELEMETRY: "true",
  };
}

/** An endpoint the user brought along keeps the region and the keys the user set for it. */
export function externalEnvironment(endpoint: string, host: Env): Record<string, string> {
  const own = awsEnvironment(endpoint);
  const region = host.AWS_REGION ?? host.AWS_DEFAULT_REGION;
  if (region) Object.assign(own, { AWS_REGION: region, AWS_DEFAULT_REGION: region });
  if (host.AWS_ACCESS_KEY_ID && host.AWS_SECRET_ACCESS_KEY) {
    own.AWS_ACCESS_KEY_ID = host.AWS_ACCESS_KEY_ID;
    own.AWS_SECRET_ACCESS_KEY = host.AWS_SECRET_ACCESS_KEY;
    if (host.AWS_SESSION_TOKEN) own.AWS_SESSION_TOKEN = host.AWS_SESSION_TOKEN;
  }
  return own;
}

/**
 * For the engine: a short list and not the whole environment, because Lambdas inherit it. A NODE_OPTIONS of
 * vitest or tsx would be loaded into every handler, and a stray AWS_ENDPOINT_URL would send them elsewhere.
 * PATH starts with the folder of this very `node`: the engine runs whichever `node` comes first.
 */
export function engineEnvironment(host: Env, folder: string): Env {
  const kept = ["HOME", "USER", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ"];
  return {
    ...Object.fromEntries(kept.flatMap((name) => (host[name] === undefined ? [] : [[name, host[name]]]))),
    PATH: [dirname(process.execPath), host.PATH ?? ""].join(delimiter),
    TMPDIR: folder,
    STATE_DIR: `${folder}/state`,
    S3_DATA_DIR: `${folder}/s3`,
    LOG_LEVEL: "WARNING",
    LAMBDA_EXECUTOR: "local",
    // Both listen on every interface when their optional packages are installed.
    SFTP_ENABLED: "0",
    IOT_MTLS_ENABLED: "0",
    PYTHONUNBUFFERED: "1",
    PYTHONDONTWRITEBYTECODE: "1",
  };
}

/** For Python and pip: the user's own settings (proxy, package index), less what misdirects a virtual environment. */
export function pythonEnvironment(host: Env): Env {
  const misleading = ["PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIREMENT"];
  return without(host, (name) => misleading.includes(name));
}

/** For the CDK CLI: the user's environment, without another AWS account, Node flags or a proxy in the way. */
export function cdkEnvironment(host: Env, aws: Record<string, string>): Env {
  // `npx -p node@24` leaves npm_config_package behind, and the CDK's own `npx esbuild` would ask for that instead.
  const names = ["NODE_OPTIONS", "npm_config_package"];
  const foreign = (name: string) => names.includes(name) || name.startsWith("AWS_") || name.startsWith("VITEST");
  const noProxy = [host.NO_PROXY ?? host.no_proxy, "127.0.0.1", "localhost"].filter(Boolean).join(",");
  return {
    ...without(host, foreign),
    ...aws,
    // A profile may name its own endpoint for a service, and would win over AWS_ENDPOINT_URL.
    AWS_CONFIG_FILE: devNull,
    AWS_SHARED_CREDENTIALS_FILE: devNull,
    CDK_DISABLE_VERSION_CHECK: "1",
    NO_PROXY: noProxy,
    no_proxy: noProxy,
  };
}

function without(host: Env, drop: (name: string) => boolean): Env {
  return Object.fromEntries(Object.entries(host).filter(([name]) => !drop(name)));
}
