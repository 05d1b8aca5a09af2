import { runCommand, throwIfInterrupted } from "./command.ts";
import type { Engine } from "./engine.ts";
import { awsEnvironment, type Env } from "./environment.ts";
import { EngineUnavailable, WAY_OUT } from "./errors.ts";
import { productAt } from "./health.ts";
import type { Log } from "./install.ts";
import { until } from "./processes.ts";

/** Pinned. Since March 2026 every image wants a token, and its Lambdas run in containers of their own. */
export const LOCALSTACK_IMAGE = "localstack/localstack:2026.08.3";
const HEALTHY_WITHIN_MS = 120_000;

export interface LocalstackOptions {
  readonly port: number;
  readonly env: Env;
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
}

/** A token in the environment and a Docker engine that answers: without both it isn't even tried. */
export async function localstackPossible(env: Env, signal?: AbortSignal): Promise<boolean> {
  if (!env.LOCALSTACK_AUTH_TOKEN) return false;
  const { exitCode } = await runCommand("docker", ["version", "--format", "{{.Server.Version}}"], {
    env,
    signal,
  });
  return exitCode === 0;
}

export async function startLocalstack({
  port,
  env,
  log,
  signal,
}: LocalstackOptions): Promise<Engine & { container: string }> {
  const container = `antrean-localstack-${port}`;
  const endpoint = `http://127.0.0.1:${port}`;
  log(`starting ${LOCALSTACK_IMAGE} in Docker (the first time Docker downloads it, which takes minutes)`);
  const args = ["run", "--detach", "--rm", "--name", container, "--publish", `127.0.0.1:${port}:4566`];
  // The token goes by name, so that it shows up in no process list.
  const settings = ["--env", "LOCALSTACK_AUTH_TOKEN", "--volume", "/var/run/docker.sock:/var/run/docker.sock"];
  const onLine = (line: string) => log(`  ${line}`);
  const run = await runCommand("docker", [...args, ...settings, LOCALSTACK_IMAGE], { env, onLine, signal });
  if (run.exitCode !== 0) throw failed(`docker run failed:\n${run.lines.slice(-5).join("\n")}`);
  const healthy = await until(
    async () => signal?.aborted === true || (await productAt(endpoint)) === "localstack",
    HEALTHY_WITHIN_MS,
    500,
  );
  if (!healthy || signal?.aborted) {
    const { lines } = await runCommand("docker", ["logs", "--tail", "8", container], { env });
    await endLocalstack(container, env);
    throwIfInterrupted(signal);
    throw failed(`LocalStack did not become healthy. Its last lines were:\n${lines.join("\n")}`);
  }
  const stop = () => endLocalstack(container, env);
  const environment = awsEnvironment(endpoint);
  return { kind: "localstack", product: "localstack", endpoint, environment, owned: true, container, stop };
}

export async function endLocalstack(container: string, env: Env): Promise<void> {
  await runCommand("docker", ["rm", "--force", "--volumes", container], { env });
}

function failed(what: string): EngineUnavailable {
  const next = "Unset LOCALSTACK_AUTH_TOKEN to use the embedded engine, which needs neither Docker nor a token.";
  return new EngineUnavailable("docker-failed", `${what}\n${next}\n${WAY_OUT}`);
}
