import type { Product } from "./health.ts";

export type EngineKind = "ministack" | "localstack" | "external";

/** A running AWS endpoint. */
export interface Engine {
  /** `external`: found through AWS_ENDPOINT_URL. */
  readonly kind: EngineKind;
  readonly product: Product;
  /** Without a slash at the end. */
  readonly endpoint: string;
  /** For SDK clients and child processes: endpoint, region, keys. */
  readonly environment: Record<string, string>;
  /** The Node its Lambdas run on, where that is ours to choose. */
  readonly node?: string;
  /** Whether `stop` ends it. An engine that was found running is left alone. */
  readonly owned: boolean;
  stop(): Promise<void>;
}
