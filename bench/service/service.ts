import type { Tally } from "../../test/cost/tally.ts";
import { bundle } from "../bundle.ts";
import { startChild } from "../child.ts";
import { JOB_TABLE, QUEUES, SHARDS } from "./names.ts";

/** What producer and consumer asked for since the last account. */
export interface Asked {
  readonly produced: Tally;
  readonly consumed: Tally;
}

export interface Service {
  readonly url: string;
  /** For every subject, ours and theirs. */
  readonly environment: Readonly<Record<string, string>>;
  account(): Promise<Asked>;
  stop(): Promise<void>;
}

export async function startService(into: string): Promise<Service> {
  // The table in memory knows commands by their class names.
  const { file } = await bundle("service/server.ts", into, { minify: false });
  const child = startChild(file, [], {});
  const url = `http://127.0.0.1:${await child.answer<number>()}`;
  return {
    url,
    environment: {
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "bench",
      AWS_SECRET_ACCESS_KEY: "bench",
      AWS_ENDPOINT_URL: url,
      AWS_LAMBDA_FUNCTION_NAME: "bench",
      AWS_LAMBDA_LOG_STREAM_NAME: "bench",
      // What it spells is one process's question to all of them.
      NODE_NO_WARNINGS: "1",
      ANTREAN_TABLE: JOB_TABLE,
      ANTREAN_SHARDS: String(SHARDS),
      ANTREAN_QUEUE: "default",
      ANTREAN_QUEUES: JSON.stringify(QUEUES),
    },
    account: async () => (await (await fetch(`${url}/account`, { method: "POST" })).json()) as Asked,
    stop: child.stop,
  };
}
