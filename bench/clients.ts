/** The same for every subject: what src/wire.ts gives its own clients. */
export const CLIENT = {
  maxAttempts: 4,
  requestHandler: {
    connectionTimeout: 2_000,
    requestTimeout: 6_000,
    httpsAgent: { keepAlive: true, maxSockets: 50 },
  },
} as const;

export const IDEMPOTENCY_TABLE = "bench-idempotency";
