import { createMemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { jobStoreContract } from "./job-store.contract.ts";
import { type TransportUnderTest, transportContract } from "./transport.contract.ts";
import { transportLimitsContract } from "./transport-limits.contract.ts";

jobStoreContract("memory", async () => ({ store: createMemoryJobStore({ shards: 8 }) }));

const makeTransport = async (): Promise<TransportUnderTest> => {
  let nowMs = 1_796_169_600_000;
  const runtime = { now: () => nowMs, uuid: () => crypto.randomUUID() };
  const transport = createMemoryTransport({ queues: ["default"], runtime });
  return {
    transport,
    queue: "default",
    receive: async (lane) =>
      lane === "jobs" ? transport.receive("default", 10) : transport.peek({ queue: "default", lane }),
    elapse: (ms) => {
      nowMs += ms;
    },
  };
};

transportContract("memory", makeTransport);
transportLimitsContract("memory", makeTransport);
